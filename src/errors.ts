// Errors that several folders throw, each made by one named constructor; errors of a single folder are in its errors.ts.
// Status, code, reason and message of an ApiError are part of the interface; response/error-body.ts turns it into bytes.
// Nothing internal belongs in a message.

import { ApiError, type Detail, hint, listNames, shorten } from './api-error.ts';
import type { ReasonFor } from './error-codes.ts';

export * from './api-error.ts';
export * from './error-codes.ts';

const list = (names: Iterable<string>): string => [...names].join(', ') || 'none';

/* ---- requests in general ---- */

export const badRequest = (reason: ReasonFor<'BAD_REQUEST'>, message: string): ApiError =>
  new ApiError(reason, message);

export const unknownParameter = (name: string, suggestion: string | null, names: Iterable<string>): ApiError =>
  badRequest('UNKNOWN_PARAMETER', `Unknown query parameter ${shorten(name)}.${hint(suggestion)} Known: ${list(names)}`);

export const repeatedParameter = (name: string): ApiError =>
  badRequest('REPEATED_PARAMETER', `Query parameter ${shorten(name)} may be given only once`);

export const malformedId = (text: string): ApiError =>
  badRequest('MALFORMED_ID', `Id ${shorten(text)} is malformed: an integer is needed`);

/** A name in a request that the schema does not have. */
export const unknownName = (
  role: 'field' | 'relation',
  name: string,
  entity: string,
  suggestion: string | null,
  names: Iterable<string>,
): ApiError =>
  badRequest(
    role === 'field' ? 'UNKNOWN_FIELD' : 'UNKNOWN_RELATION',
    `Unknown ${role} ${shorten(name)} on entity ${entity}.${hint(suggestion)} Known: ${list(names)}`,
  );

/** `limit`: in bytes, or undefined if it is not known. */
export const reportTooLarge = (limit: number): ApiError =>
  new ApiError('RESPONSE_TOO_LARGE', `The report would be larger than ${limit} bytes. Ask for one entity, by entity=`);

export const responseTooLarge = (limit?: number, cause?: unknown): ApiError =>
  new ApiError(
    'RESPONSE_TOO_LARGE',
    `The response would be larger than ${limit === undefined ? 'an answer may be' : `${limit} bytes`}. Narrow it: a smaller size, fewer fields (leave large ones out by fields=), or a limit on an expanded list such as <relation>.size=10`,
    cause === undefined ? {} : { cause },
  );

/** Another record has the value. `field`: the fields that must be unique, or undefined if they are not known. */
export const notUnique = (field: string | undefined, cause: unknown): ApiError =>
  conflict(
    'NOT_UNIQUE',
    `A record with this ${field ?? 'value'} exists already`,
    [{ field: field ?? null, code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' }],
    cause,
  );

/** A delete of a record that others refer to. `by`: the referring entity and relation, or undefined if not known. */
export function stillReferenced(
  by: { readonly entity: string; readonly relation: string } | undefined,
  cause: unknown,
): ApiError {
  const message =
    by === undefined
      ? 'other records refer to this one'
      : `records of ${by.entity} refer to this one by ${by.relation}`;
  const field = by === undefined ? null : `${by.entity}.${by.relation}`;
  return conflict(
    'STILL_REFERENCED',
    `The record cannot be deleted: ${message}`,
    [{ field, code: 'STILL_REFERENCED', message }],
    cause,
  );
}

export const methodNotAllowed = (method: string, allowed: readonly string[]): ApiError =>
  new ApiError('METHOD_NOT_ALLOWED', `Method ${method} is not allowed here. Allowed: ${allowed.join(', ')}`, {
    headers: { Allow: allowed.join(', ') },
  });

export const payloadTooLarge = (limit: number): ApiError =>
  new ApiError('BODY_TOO_LARGE', `The request body is larger than ${limit} bytes`);

export const unsupportedMediaType = (needed: string): ApiError =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', `The request body must be sent with Content-Type: ${needed}`);

export const rateLimited = (seconds: number): ApiError =>
  new ApiError('RATE_LIMITED', `Too many requests; retry after ${seconds} seconds`, {
    members: { retryAfterSeconds: seconds },
    headers: { 'Retry-After': String(seconds) },
  });

/** Refuses a request of a workspace that may have `perMinute` requests each minute. */
export const workspaceRateLimited = (seconds: number, perMinute: number): ApiError =>
  new ApiError(
    'WORKSPACE_RATE_LIMITED',
    `The workspace may have ${perMinute} requests a minute (maxRequestsPerMinute); retry after ${seconds} seconds`,
    { members: { retryAfterSeconds: seconds }, headers: { 'Retry-After': String(seconds) } },
  );

/** Refuses what adds records. `used`: how much of the limit there is. */
export const quotaExceeded = (name: 'maxRecords' | 'maxBytes', limit: number, used: number): ApiError =>
  name === 'maxRecords'
    ? new ApiError(
        'MAX_RECORDS',
        `The workspace may have ${limit} records (maxRecords) and has ${used}: nothing was added. Delete some, or ask the operator of the server for more`,
      )
    : new ApiError(
        'MAX_BYTES',
        `The workspace may take ${limit} bytes (maxBytes) and takes ${used}: nothing was added. Ask the operator of the server for more; what is deleted counts until the database has removed it`,
      );

/* ---- credentials and permissions ---- */

/** 401 with the challenge of RFC 6750 section 3; `error` only when a credential was presented. */
export const unauthorized = (reason: ReasonFor<'UNAUTHORIZED'>, message: string, presented: boolean): ApiError =>
  new ApiError(reason, message, {
    headers: {
      'WWW-Authenticate': presented
        ? 'Bearer realm="workspace-data-api", error="invalid_token"'
        : 'Bearer realm="workspace-data-api"',
    },
  });

export const missingCredential = (): ApiError =>
  unauthorized('MISSING_CREDENTIAL', 'A credential is needed: send Authorization: Bearer <credential>', false);

/** Refuses requests of the console; its cookie is no credential of the API. */
export const sessionEnded = (): ApiError =>
  new ApiError('SESSION_ENDED', 'No session: sign in again', {
    headers: { 'WWW-Authenticate': 'Cookie realm="console"' },
  });

export const invalidCredential = (): ApiError =>
  unauthorized('INVALID_CREDENTIAL', 'The credential is not valid here', true);

export const readOnly = (): ApiError =>
  new ApiError('READ_ONLY', 'READ_ONLY permissions - data modifications are not allowed', {
    headers: { 'WWW-Authenticate': 'Bearer realm="workspace-data-api", error="insufficient_scope"' },
  });

/**
 * Redirects a request to the present slug of its workspace (RFC 9110 section 15.4.9). `name`: such as `acme/shop`; `url`: path
 * and query of the request, `at`: index of the slug among the parts of the path.
 */
export function workspaceRenamed(name: string, url: string, at: number): ApiError {
  const query = url.indexOf('?');
  const parts = (query < 0 ? url : url.slice(0, query)).split('/');
  parts[at] = name.slice(name.indexOf('/') + 1);
  const location = parts.join('/') + (query < 0 ? '' : url.slice(query));
  return new ApiError('WORKSPACE_RENAMED', `The workspace is ${name} now`, { headers: { Location: location } });
}

export const workspaceSuspended = (): ApiError =>
  new ApiError(
    'WORKSPACE_SUSPENDED',
    'The workspace is suspended: nothing is read or written in it until the operator of the server activates it',
  );

export const workspaceReadOnly = (): ApiError =>
  new ApiError(
    'WORKSPACE_READ_ONLY',
    'The workspace is read-only: nothing is written in it until the operator of the server activates it',
  );

export const forbidden = (reason: ReasonFor<'FORBIDDEN'>, message: string): ApiError => new ApiError(reason, message);

/* ---- records ---- */

export const unknownEntity = (name: string, suggestion: string | null, names: Iterable<string>): ApiError =>
  new ApiError(
    'UNKNOWN_ENTITY',
    `Entity ${shorten(name)} does not exist.${hint(suggestion)} Known: ${list([...names].slice(0, 50))}`,
  );

export const recordNotFound = (): ApiError => new ApiError('RECORD_NOT_FOUND', 'Record not found');

/** For the operator alone, as others must not learn which workspaces exist. `name`: such as `acme/shop`. */
export const noSuchWorkspace = (name: string, suggestion: string | null): ApiError =>
  notFound(
    'WORKSPACE_NOT_FOUND',
    `Workspace ${shorten(name)} does not exist${suggestion === null ? '' : `.${hint(suggestion)}`}`,
  );

export const notFound = (reason: ReasonFor<'NOT_FOUND'>, message: string): ApiError => new ApiError(reason, message);

export const validationFailed = (details: readonly Detail[], message?: string): ApiError =>
  new ApiError('VALIDATION_FAILED', message ?? summary(details), { details });

export const conflict = (
  reason: ReasonFor<'CONFLICT'>,
  message: string,
  details?: readonly Detail[],
  cause?: unknown,
): ApiError =>
  new ApiError(reason, message, {
    ...(details === undefined ? {} : { details }),
    ...(cause === undefined ? {} : { cause }),
  });

export const preconditionFailed = (): ApiError =>
  new ApiError('RECORD_CHANGED', 'The record has changed since it was read: read it again and repeat the change');

/** `what`: the thing that was changed, such as `schema document`. */
export const changedMeanwhile = (what: string): ApiError =>
  new ApiError(
    'DOCUMENT_CHANGED',
    `Another request has changed the ${what} meanwhile, so nothing was done: read again, and repeat the change`,
  );

function summary(details: readonly Detail[]): string {
  const first = details[0];
  if (first === undefined) return 'Validation failed';
  const where = first.row === undefined ? formatIndex(first) : `row ${first.row}, `;
  const rest = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return `Validation failed: ${where}${first.field === null ? '' : `${first.field}: `}${first.message}${rest}`;
}

const formatIndex = ({ index, id }: Detail): string =>
  index === undefined ? (id === undefined ? '' : `record with the id ${id}, `) : `record ${index}, `;

/* ---- idempotency keys ---- */

export const keyReused = (): ApiError =>
  new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'The Idempotency-Key was used for another request: its body or its query was different. Send a new key',
  );

/* ---- the service itself ---- */

export const migrationInProgress = (
  entity: string,
  gate: { readonly blocksReads: boolean; readonly blocksWrites: boolean; readonly retryAfterSeconds: number },
): ApiError =>
  new ApiError('TABLE_MIGRATING', `Table ${entity} is being migrated; retry after the migration completes`, {
    members: {
      retryAfterSeconds: gate.retryAfterSeconds,
      blocksReads: gate.blocksReads,
      blocksWrites: gate.blocksWrites,
    },
    headers: { 'Retry-After': String(gate.retryAfterSeconds) },
  });

/** A second rollout of a shared schema. */
export const rolloutInProgress = (cause?: unknown): ApiError =>
  new ApiError(
    'ROLLOUT_IN_PROGRESS',
    'A rollout of this schema has not ended: wait for its end, or cancel it',
    cause === undefined ? {} : { cause },
  );

/** A second schema change while one runs. */
export const anotherMigrationRuns = (): ApiError =>
  new ApiError('MIGRATION_RUNNING', 'Another migration of this workspace is running; retry after it has ended');

export const serviceUnavailable = (
  reason: ReasonFor<'SERVICE_UNAVAILABLE'>,
  message: string,
  seconds = 1,
  cause?: unknown,
): ApiError =>
  new ApiError(reason, message, {
    members: { retryAfterSeconds: seconds },
    headers: { 'Retry-After': String(seconds) },
    ...(cause === undefined ? {} : { cause }),
  });

export const databaseUnavailable = (cause?: unknown): ApiError =>
  serviceUnavailable('DATABASE_UNAVAILABLE', 'The database is not reachable at the moment; retry', 1, cause);

export const queryTimeout = (cause?: unknown): ApiError =>
  new ApiError(
    'QUERY_TIMEOUT',
    'The request took too long and was stopped. Narrow it: filter on an indexed field, a smaller size, count=none',
    {
      members: { retryAfterSeconds: 1 },
      headers: { 'Retry-After': '1' },
      ...(cause === undefined ? {} : { cause }),
    },
  );

export const internalError = (cause?: unknown): ApiError =>
  new ApiError('INTERNAL_ERROR', 'Something went wrong on our side; the request id helps to find it', {
    ...(cause === undefined ? {} : { cause }),
  });

/* ---- nodes that a database coordinates ---- */

export const noCluster = (): ApiError =>
  new ApiError(
    'NO_CLUSTER',
    'The database is not a Citus cluster: all workspaces lie in one PostgreSQL, and there are no nodes to move them between',
  );

export const nodesUnavailable = (names: Iterable<string>, _cause?: unknown): ApiError =>
  new ApiError(
    'NODE_UNAVAILABLE',
    `A node of the cluster does not answer: ${listNames(names)}; retry when it is back`,
    {
      members: { retryAfterSeconds: 5 },
      headers: { 'Retry-After': '5' },
    },
  );

/** The node with the records of a request does not answer. The message names no node: that concerns the operator alone. */
export const workspaceUnavailable = (cause?: unknown): ApiError =>
  new ApiError('WORKSPACE_UNAVAILABLE', 'The part of the database that has this workspace is not reachable; retry', {
    members: { retryAfterSeconds: 2 },
    headers: { 'Retry-After': '2' },
    ...(cause === undefined ? {} : { cause }),
  });

/** A schema change, or another move, while the workspace is moved. */
export const workspaceMoves = (): ApiError =>
  new ApiError(
    'WORKSPACE_MOVING',
    'The workspace is being moved to another node of the cluster; retry after that has ended',
  );

/* ---- the admin API ---- */

/** `parameter`: its name in the query. */
export const notAnAddress = (parameter: string, text: string): ApiError =>
  badRequest(
    'INVALID_WORKSPACE_PATH',
    `${parameter} must be <organization>/<workspace>, such as acme/shop, not ${shorten(text)}`,
  );

/* ---- feeds of changes ---- */

/** Members of a 410: the time of the oldest change that is kept, or null, and the path of a request that begins again. */
export interface FeedRestart {
  readonly oldest: string | null;
  readonly restart: string;
}

export const cursorExpired = ({ oldest, restart }: FeedRestart): ApiError =>
  new ApiError('CURSOR_EXPIRED', 'Changes after this place are not all kept any more: read the records again', {
    members: { oldest, restart },
  });

export const viewChanged = ({ oldest, restart }: FeedRestart): ApiError =>
  new ApiError('VIEW_CHANGED', 'You see other records than when this cursor was given: read the records again', {
    members: { oldest, restart },
  });

/** 409 for an entity that is to keep changes where none can be kept. */
export const changesNotKept = (entity: string): ApiError =>
  new ApiError(
    'CHANGES_UNAVAILABLE',
    `On a cluster of Citus no changes of records are kept: leave "changes" of ${entity} off`,
  );
