// Error responses of the API as one class.

/** One validation error. `index` counts the records of a request from 0, `row` those of a file from 1. */
export interface ErrorDetail {
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
  readonly index?: number;
  readonly id?: number;
  readonly row?: number;
  readonly line?: number;
  readonly value?: string;
}

export interface ApiErrorFields {
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** Code of the API, or UNREACHABLE if there was no response. */
  readonly code: string;
  readonly details?: readonly ErrorDetail[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly blocksReads?: boolean | undefined;
  readonly blocksWrites?: boolean | undefined;
  /** Index of the failed operation in a batch. */
  readonly operation?: number | undefined;
}

/** Error response of the API; `message` is the server's. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly blocksReads: boolean | undefined;
  readonly blocksWrites: boolean | undefined;
  readonly operation: number | undefined;

  constructor(message: string, parts: ApiErrorFields) {
    super(message);
    this.name = 'Refusal';
    this.status = parts.status;
    this.code = parts.code;
    this.details = parts.details ?? [];
    this.requestId = parts.requestId;
    this.retryAfterSeconds = parts.retryAfterSeconds;
    this.blocksReads = parts.blocksReads;
    this.blocksWrites = parts.blocksWrites;
    this.operation = parts.operation;
  }
}

export const isApiError = (thrown: unknown, code?: string): thrown is ApiError =>
  thrown instanceof ApiError && (code === undefined || thrown.code === code);

/** Returns the server's messages about a member of the body, or about something inside it. */
export function fieldError(error: unknown, field: string): string | undefined {
  const details = isApiError(error) ? error.details.filter((detail) => isWithin(detail, field)) : [];
  return details.length === 0 ? undefined : details.map(({ message }) => message).join('; ');
}

/** Returns whether an error is only about these members of the body, next to which a form shows its messages. */
export const isShownAtFields = (error: unknown, fields: readonly string[]): boolean =>
  isApiError(error) &&
  error.details.length > 0 &&
  error.details.every((detail) => fields.some((field) => isWithin(detail, field)));

const isWithin = (detail: ErrorDetail, field: string): boolean =>
  detail.field === field || detail.field?.startsWith(`${field}.`) === true;

export const hasStatus = (thrown: unknown, status: number): boolean => isApiError(thrown) && thrown.status === status;
