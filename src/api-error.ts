// The class of all errors: reason, code, status, details and headers; and the helpers that put texts of clients into their
// messages. errors.ts makes the errors.

import { CODE_BY_REASON, ERROR_CODES, type ErrorCode, type Reason, STATUS_BY_REASON } from './error-codes.ts';

/** Codes of one entry of `error.details`. */
export const DETAIL_CODES = [
  'STALE_VERSION',
  'REQUIRED',
  'TYPE_MISMATCH',
  'TOO_LONG',
  'OUT_OF_RANGE',
  'NOT_IN_ENUM',
  'READ_ONLY',
  'UNKNOWN_FIELD',
  'REFERENCE_NOT_FOUND',
  'INVALID',
  'NOT_UNIQUE',
  'STILL_REFERENCED',
  'DESTRUCTIVE',
  'UNSUPPORTED_CHANGE',
] as const;

export type DetailCode = (typeof DETAIL_CODES)[number];

/**
 * One mistake. `field` is a field of the record, or the path into an admin document; `row` counts from 1 in imports,
 * `index` from 0 among the records of one request.
 */
export interface Detail {
  readonly index?: number;
  /** Id of the record, where the request has none of its own. */
  readonly id?: number;
  readonly row?: number;
  /** Line of a file where the row begins, from 1. */
  readonly line?: number;
  readonly field: string | null;
  readonly code: DetailCode;
  readonly message: string;
  /** Value of a file that is wrong, cut to 100 characters. */
  readonly value?: string;
}

export interface ErrorExtra {
  readonly details?: readonly Detail[];
  /** Index of the operation of a batch that failed, from 0. */
  readonly operation?: number | undefined;
  /** Top-level members next to `error`, such as `retryAfterSeconds`. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  /** The cause as a stable word, which decides the code. */
  readonly reason: Reason;
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly Detail[] | undefined;
  readonly operation: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(reason: Reason, message: string, extra: ErrorExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'ApiError';
    this.reason = reason;
    this.code = CODE_BY_REASON[reason];
    this.status = STATUS_BY_REASON[reason] ?? ERROR_CODES[this.code];
    this.details = extra.details;
    this.operation = extra.operation;
    this.members = extra.members ?? {};
    this.headers = extra.headers ?? {};
  }

  /** Copies the error for an operation of a batch. */
  of(operation: number): ApiError {
    return this.#with({ operation });
  }

  /** Copies the error of a record among many: its details name the record by its index. */
  forRecord(index: number): ApiError {
    const own: Detail = { index, field: null, code: 'INVALID', message: this.message };
    return this.#with({ details: this.details?.map((detail) => ({ ...detail, index })) ?? [own] });
  }

  /** Copies the error with other details. */
  withDetails(details: readonly Detail[]): ApiError {
    return this.#with({ details });
  }

  /** Copies a 401 and adds where clients find the authorization servers (RFC 9728 section 5.1). */
  challengedBy(metadata: string): ApiError {
    const challenge = `${this.headers['WWW-Authenticate'] ?? 'Bearer'}, resource_metadata="${metadata}"`;
    return this.#with({ headers: { ...this.headers, 'WWW-Authenticate': challenge } });
  }

  /** Copies a redirect for clients that see the server below a prefix of the path. */
  below(prefix: string): ApiError {
    return this.#with({ headers: { ...this.headers, Location: prefix + (this.headers.Location ?? '') } });
  }

  #with(change: ErrorExtra): ApiError {
    const { reason, message, operation, details, members, headers, cause } = this;
    return new ApiError(reason, message, {
      operation,
      members,
      headers,
      ...(details === undefined ? {} : { details }),
      ...(cause === undefined ? {} : { cause }),
      ...change,
    });
  }
}

/* ---- parts of messages ---- */

// A client's text may be as long as its body, and people read the message that repeats it.
const SHOWN_CHARACTERS = 100;
const LISTED_NAMES = 20;
const LISTED_CHARACTERS = 500;

/** Shortens a client's text for a message, to 100 characters by default. */
export function shorten(text: string, characters = SHOWN_CHARACTERS): string {
  // Half of a surrogate pair would not be valid text.
  return text.length <= characters ? text : `${text.slice(0, characters).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Lists the names that exist, for a message: at most 20, or some 500 characters. */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  let text = '';
  let count = 0;
  for (const name of all) {
    if (count === LISTED_NAMES || (count > 0 && text.length + name.length > LISTED_CHARACTERS)) break;
    text += `${count === 0 ? '' : ', '}${shorten(name)}`;
    count++;
  }
  return count < all.length ? `${text} and ${all.length - count} more` : text || 'none';
}

/** Suggests another name, at the end of a message. */
export const hint = (suggestion: string | null): string => (suggestion === null ? '' : ` Did you mean ${suggestion}?`);
