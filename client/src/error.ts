// Refusals of the API as one class of error, whose `code` says which it is.

/** Codes of the API: docs/reference/errors.md says what each means. */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'VALIDATION_FAILED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'DESTRUCTIVE_CHANGE'
  | 'PRECONDITION_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'SCHEMA_MIGRATION_IN_PROGRESS'
  | 'SERVICE_UNAVAILABLE'
  | 'QUERY_TIMEOUT'
  | 'OUTCOME_UNKNOWN';

/** `UNREACHABLE`: no answer came, or it was cut. `NO_API`: the answer is none of this API, as one of a proxy. */
export type ClientCode = ErrorCode | 'UNREACHABLE' | 'NO_API';

export type DetailCode =
  | 'STALE_VERSION'
  | 'REQUIRED'
  | 'TYPE_MISMATCH'
  | 'TOO_LONG'
  | 'OUT_OF_RANGE'
  | 'NOT_IN_ENUM'
  | 'READ_ONLY'
  | 'UNKNOWN_FIELD'
  | 'REFERENCE_NOT_FOUND'
  | 'INVALID'
  | 'NOT_UNIQUE'
  | 'STILL_REFERENCED'
  | 'DESTRUCTIVE'
  | 'UNSUPPORTED_CHANGE';

/** One mistake. `index` counts the records of a request from 0, `row` those of a file from 1. */
export interface Detail {
  readonly field: string | null;
  readonly code: DetailCode;
  readonly message: string;
  readonly index?: number;
  readonly row?: number;
}

/** What came with a refusal. `status` is 0 when nothing came. */
export interface Refusal {
  readonly status: number;
  readonly code: ClientCode;
  /** The cause as a stable word, finer than `code`: docs/reference/errors.md lists them. */
  readonly reason?: string | undefined;
  readonly details?: readonly Detail[] | undefined;
  /** Index of the operation of a batch that failed. */
  readonly operation?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly blocksReads?: boolean | undefined;
  readonly blocksWrites?: boolean | undefined;
}

export class WdaError extends Error implements Refusal {
  declare readonly status: number;
  declare readonly code: ClientCode;
  declare readonly reason: string | undefined;
  declare readonly details: readonly Detail[];
  declare readonly operation: number | undefined;
  declare readonly requestId: string | undefined;
  declare readonly retryAfterSeconds: number | undefined;
  /** Of `SCHEMA_MIGRATION_IN_PROGRESS`: whether the migration holds up reads, and writes. */
  declare readonly blocksReads: boolean | undefined;
  declare readonly blocksWrites: boolean | undefined;

  constructor(message: string, refusal: Refusal, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, { details: [], ...refusal, name: 'WdaError' });
  }
}

/** Whether something that was thrown is a refusal, with this code if one is named. */
export function isWdaError<C extends ClientCode = ClientCode>(
  thrown: unknown,
  code?: C,
): thrown is WdaError & { readonly code: C } {
  return thrown instanceof WdaError && (code === undefined || thrown.code === code);
}
