// Class of all errors of the API, with the error code as `code`.
import type { Job } from './job.ts';

/** Error codes of the API; docs/reference/errors.md describes each. */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'VALIDATION_FAILED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'WORKSPACE_SUSPENDED'
  | 'WORKSPACE_READ_ONLY'
  | 'QUOTA_EXCEEDED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'DESTRUCTIVE_CHANGE'
  | 'DATA_CONFLICT'
  | 'FOLLOWS_SHARED_SCHEMA'
  | 'ROLLOUT_IN_PROGRESS'
  | 'CHANGES_OFF'
  | 'CHANGES_UNAVAILABLE'
  | 'CURSOR_EXPIRED'
  | 'VIEW_CHANGED'
  | 'PRECONDITION_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'SCHEMA_MIGRATION_IN_PROGRESS'
  | 'SERVICE_UNAVAILABLE'
  | 'QUERY_TIMEOUT'
  | 'OUTCOME_UNKNOWN';

/**
 * `UNREACHABLE`: no response, or a truncated one. `NO_API`: a response that is not of this API, such as a proxy's.
 * `JOB_CANCELLED`: the job that the call waited for was cancelled.
 */
export type ClientCode = ErrorCode | 'UNREACHABLE' | 'NO_API' | 'JOB_CANCELLED';

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

/** Mistake of a request. `index` counts the records of a request from 0, `row` those of a file from 1. */
export interface Detail {
  readonly field: string | null;
  readonly code: DetailCode;
  readonly message: string;
  readonly index?: number;
  /** Id of the record, of a write by filter. */
  readonly id?: number;
  readonly row?: number;
  readonly line?: number;
  readonly value?: string;
}

/** Members of an error response. `status` is 0 without a response. */
export interface Refusal {
  readonly status: number;
  readonly code: ClientCode;
  /** Stable identifier of the cause, finer than `code`: docs/reference/errors.md lists them. */
  readonly reason?: string | undefined;
  readonly details?: readonly Detail[] | undefined;
  /** Index of the operation of a batch that failed. */
  readonly operation?: number | undefined;
  readonly requestId?: string | undefined;
  /** Job that has failed, or was cancelled. */
  readonly job?: Job | undefined;
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
  /** Job that has failed, or was cancelled: `status` is 200 then. */
  declare readonly job: Job | undefined;
  declare readonly retryAfterSeconds: number | undefined;
  /** Whether the migration of a `SCHEMA_MIGRATION_IN_PROGRESS` blocks reads, and writes. */
  declare readonly blocksReads: boolean | undefined;
  declare readonly blocksWrites: boolean | undefined;

  constructor(message: string, refusal: Refusal, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, { details: [], ...refusal, name: 'WdaError' });
  }
}

/** Returns true for an error of the API, with this code if one is named. */
export function isWdaError<C extends ClientCode = ClientCode>(
  thrown: unknown,
  code?: C,
): thrown is WdaError & { readonly code: C } {
  return thrown instanceof WdaError && (code === undefined || thrown.code === code);
}
