// Errors of reads and writes of records.
import { ApiError, badRequest, conflict, type Detail, forbidden, listNames } from '../errors.ts';

/** Records of a replayed response that have grown too large. */
export const replayTooLarge = (limit: number): ApiError =>
  new ApiError(
    'REPLAY_TOO_LARGE',
    `The request was done before, with its Idempotency-Key, and with its records of today the answer would be larger than ${limit} bytes. Read them by their ids`,
  );

/** Error of a write whose record is too large for any response; it was rolled back. */
export const recordTooLarge = (cause: unknown): ApiError =>
  new ApiError(
    'RECORD_TOO_LARGE',
    'The record would be larger than an answer may be, with all its fields. Nothing was written: make a field of it smaller',
    { cause },
  );

/** Error of a write whose records are too large for one response; it was rolled back. */
export const recordsTooLarge = (cause: unknown): ApiError =>
  new ApiError(
    'RECORD_TOO_LARGE',
    'The records together would be larger than an answer may be. Nothing was written: ask for their ids alone (return=minimal), or send fewer records at once',
    { cause },
  );

/** Error of a bulk delete: `by` as `orders.customer`, `details` one for each record. */
export const recordsStillReferenced = (ids: readonly string[], by: string, details: readonly Detail[]): ApiError =>
  conflict(
    'STILL_REFERENCED',
    `Records cannot be deleted, as others refer to them by ${by}: ${listNames(ids)}`,
    details,
  );

/** Error of an `entity` that has used the largest possible id. */
export const idsUsedUp = (entity: string, cause: unknown): ApiError =>
  new ApiError(
    'IDS_USED_UP',
    `The ids of ${entity} are used up: the last one given is ${Number.MAX_SAFE_INTEGER}, as after an import of such an id. The operator of the database can let them start again below it (documented with imports)`,
    { cause },
  );

/**
 * True for an error that another schema, other settings or an open gate might not give; false for errors caused by
 * records.
 */
export const isBySchema = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status === 400 ||
    error.status === 403 ||
    error.status === 404 ||
    error.code === 'SCHEMA_MIGRATION_IN_PROGRESS') &&
  error.reason !== 'RECORD_NOT_FOUND';

/** Error of a write by filter. `max`: most records by the request. */
export const tooManyMatches = (total: number, max: number): ApiError =>
  conflict('TOO_MANY_MATCHES', `${total} records match, and max is ${max}. Nothing was written`);

/** Error of a write by filter that would be a job, where the workspace has as many as it may have. */
export const tooManyJobs = (most: number): ApiError =>
  conflict('TOO_MANY_JOBS', `A workspace has at most ${most} jobs that have not ended: wait for one, or cancel one`);

/** Error of a write with more links than one request makes or compares. */
export const tooManyLinks = (total: number, most: number): ApiError =>
  badRequest(
    'LIMIT_EXCEEDED',
    `The write is about ${total} links of many-to-many relations, and one request makes or compares ${most} at most`,
  );

/** Error of an upsert of many records that leaves some as they are, which does not say which of them. */
export const linksNotSkipped = (): ApiError =>
  badRequest(
    'PARAMETER_CONFLICT',
    'conflict=skip takes no relations in a request of many records: write them in another one',
  );

/** Error of a write by filter with If-Match, which is for one record. */
export const matchWithVersion = (): ApiError =>
  badRequest('PARAMETER_CONFLICT', 'If-Match is for one record, and a filter finds many');

/** Error of an upsert with If-Match: it may create, so it cannot require a version. */
export const upsertWithVersion = (): ApiError =>
  badRequest(
    'PARAMETER_CONFLICT',
    'If-Match does not go together with onConflict: update the record by its id to ask for a version of it',
  );

/** Same message for hidden and absent records, so that they cannot be told apart. */
export const recordsNotFound = (ids: readonly string[]): ApiError =>
  new ApiError('RECORDS_NOT_FOUND', `Records not found: ${listNames(ids)}`);

export const recordsChanged = (details: readonly Detail[]): ApiError =>
  new ApiError(
    'RECORDS_CHANGED',
    `Records have changed since they were read (${details
      .map(({ index }) => index)
      .slice(0, 20)
      .join(', ')}, counted from 0): read them again and repeat the change`,
    { details },
  );

export const keyInUse = (cause: unknown): ApiError =>
  new ApiError('IDEMPOTENCY_KEY_IN_USE', 'The request with this Idempotency-Key is still being answered; retry', {
    members: { retryAfterSeconds: 1 },
    headers: { 'Retry-After': '1' },
    cause,
  });

export const tooManyKeys = (): ApiError =>
  new ApiError(
    'TOO_MANY_KEYS',
    'The workspace has as many idempotency keys as it may have (WDA_IDEMPOTENCY_MAX_KEYS); they are removed when they expire. Send the write later, or without a key',
    { members: { retryAfterSeconds: 60 }, headers: { 'Retry-After': '60' } },
  );

/** Error of a write or a COMMIT that was sent without a response. No Retry-After: a retry might write twice. */
export const writeUnknown = (cause: unknown): ApiError =>
  new ApiError(
    'OUTCOME_UNKNOWN',
    'The connection to the database was lost: the write may have been done, whole. Look before you send it again',
    { cause },
  );

/** Error of a request for the OpenAPI document of other users. */
export const usersDocumentRefused = (): ApiError =>
  forbidden('ADMIN_RIGHT_REQUIRED', 'Only owners may ask for the OpenAPI document of other users');

export const notCursor = (): ApiError =>
  new ApiError(
    'INVALID_CURSOR',
    'after is not a cursor of this feed: take meta.cursor of a response with the same entities, types, fields and filter, or now, or oldest',
  );
