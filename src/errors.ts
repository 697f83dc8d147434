// Every refusal of the service, each made by one named constructor. Takes facts, gives an ApiError whose status, code,
// reason and message are part of the interface; response/error-body.ts turns it into bytes. Nothing internal belongs in a
// message.

import { ApiError, type Detail, listed, shown } from './api-error.ts';
import type { ReasonFor } from './error-codes.ts';

export * from './api-error.ts';
export * from './backup-errors.ts';
export * from './error-codes.ts';

const list = (names: Iterable<string>): string => [...names].join(', ') || 'none';
const hint = (suggestion: string | null): string => (suggestion === null ? '' : ` Did you mean ${suggestion}?`);

/* ---- requests in general ---- */

export const badRequest = (reason: ReasonFor<'BAD_REQUEST'>, message: string): ApiError =>
  new ApiError(reason, message);

export const unknownParameter = (name: string, suggestion: string | null, known: Iterable<string>): ApiError =>
  badRequest('UNKNOWN_PARAMETER', `Unknown query parameter ${shown(name)}.${hint(suggestion)} Known: ${list(known)}`);

export const repeatedParameter = (name: string): ApiError =>
  badRequest('REPEATED_PARAMETER', `Query parameter ${shown(name)} may be given only once`);

export const malformedId = (text: string): ApiError =>
  badRequest('MALFORMED_ID', `Id ${shown(text)} is malformed: an integer is needed`);

/** A name of a request that the schema does not have. */
export const unknownName = (
  role: 'field' | 'relation',
  name: string,
  entity: string,
  suggestion: string | null,
  known: Iterable<string>,
): ApiError =>
  badRequest(
    role === 'field' ? 'UNKNOWN_FIELD' : 'UNKNOWN_RELATION',
    `Unknown ${role} ${shown(name)} on entity ${entity}.${hint(suggestion)} Known: ${list(known)}`,
  );

export const notExpandable = (relation: string, allowed: Iterable<string>): ApiError =>
  badRequest('NOT_EXPANDABLE', `Relationship ${relation} is not expandable. Allowed: ${[...allowed].join(', ')}`);

export const expandTooDeep = (maximum: number, path: string): ApiError =>
  badRequest('EXPAND_TOO_DEEP', `Expand depth exceeds maximum of ${maximum}: ${shown(path, 1000)}`);

/** `limit` in bytes, where it is known. */
export const responseTooLarge = (limit?: number, cause?: unknown): ApiError =>
  new ApiError(
    'RESPONSE_TOO_LARGE',
    `The response would be larger than ${limit === undefined ? 'an answer may be' : `${limit} bytes`}. Narrow it: a smaller size, fewer fields (leave large ones out by fields=), or a limit on an expanded list such as <relation>.size=10`,
    cause === undefined ? {} : { cause },
  );

/** The records of a request that was done before have grown. */
export const replayTooLarge = (limit: number): ApiError =>
  new ApiError(
    'REPLAY_TOO_LARGE',
    `The request was done before, with its Idempotency-Key, and with its records of today the answer would be larger than ${limit} bytes. Read them by their ids`,
  );

/** A write whose record is too large for any answer; it was undone. */
export const recordTooLarge = (cause: unknown): ApiError =>
  new ApiError(
    'RECORD_TOO_LARGE',
    'The record would be larger than an answer may be, with all its fields. Nothing was written: make a field of it smaller',
    { cause },
  );

/** Another record has the value. `field`: the fields that must be unique; undefined when they are not known. */
export const notUnique = (field: string | undefined, cause: unknown): ApiError =>
  conflict(
    'NOT_UNIQUE',
    `A record with this ${field ?? 'value'} exists already`,
    [{ field: field ?? null, code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' }],
    cause,
  );

/**
 * A delete of a record that others refer to. `by`: the entity and relation that refer to it; undefined when not known.
 */
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

/** The same of many records: `by` as `orders.customer`, `details` one for each. */
export const recordsStillReferenced = (ids: readonly string[], by: string, details: readonly Detail[]): ApiError =>
  conflict('STILL_REFERENCED', `Records cannot be deleted, as others refer to them by ${by}: ${listed(ids)}`, details);

/** `entity` has had the largest id there is. */
export const idsUsedUp = (entity: string, cause: unknown): ApiError =>
  new ApiError(
    'IDS_USED_UP',
    `The ids of ${entity} are used up: the last one given is ${Number.MAX_SAFE_INTEGER}, as after an import of such an id. The operator of the database can let them start again below it (documented with imports)`,
    { cause },
  );

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
    beside: { retryAfterSeconds: seconds },
    headers: { 'Retry-After': String(seconds) },
  });

/* ---- who may ---- */

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

/** Of the console, whose cookie is no credential of the API. */
export const sessionEnded = (): ApiError =>
  new ApiError('SESSION_ENDED', 'No session: sign in again', {
    headers: { 'WWW-Authenticate': 'Cookie realm="console"' },
  });

/** `Authorization` at the console's door. */
export const sessionOnly = (): ApiError =>
  new ApiError(
    'SESSION_REQUIRED',
    'Below /console/api a session is needed; Authorization is for the same paths below /api',
    {
      headers: { 'WWW-Authenticate': 'Cookie realm="console"' },
    },
  );

/** A session in force where its key is not valid. 401 would say that one must sign in again. */
export const sessionNotHere = (): ApiError =>
  new ApiError('SESSION_NOT_VALID_HERE', 'The key that you have signed in with is not valid here');

/** At the console's door: the request of a page that is not the console's. */
export const foreignPage = (): ApiError =>
  new ApiError(
    'FOREIGN_PAGE',
    'Below /console/api only the page of the console may ask; programs use the same paths below /api',
  );

export const notByThePage = (): ApiError =>
  new ApiError('CONSOLE_HEADER_REQUIRED', 'Below /console/api a change needs the header X-Console: 1');

export const invalidCredential = (): ApiError =>
  unauthorized('INVALID_CREDENTIAL', 'The credential is not valid here', true);

export const readOnly = (): ApiError =>
  new ApiError('READ_ONLY', 'READ_ONLY permissions - data modifications are not allowed', {
    headers: { 'WWW-Authenticate': 'Bearer realm="workspace-data-api", error="insufficient_scope"' },
  });

export const forbidden = (reason: ReasonFor<'FORBIDDEN'>, message: string): ApiError => new ApiError(reason, message);

export const deletesOutside = (entity: string): ApiError =>
  forbidden(
    'CASCADE_NOT_ALLOWED',
    `Deleting records of ${entity} would change records that the credential does not reach`,
  );

/* ---- tokens of an identity provider: the specification's words, then those of the contract ---- */

export const noIdentityProvider = (): ApiError =>
  unauthorized('NO_IDENTITY_PROVIDER', 'No external identity provider configured for this workspace', true);

export const issuerMismatch = (): ApiError =>
  unauthorized('ISSUER_MISMATCH', 'Token issuer does not match configured identity provider', true);

export const audienceMismatch = (): ApiError =>
  unauthorized('AUDIENCE_MISMATCH', 'Token audience does not match configured audience', true);

export const resourceMismatch = (resource: string): ApiError =>
  unauthorized(
    'RESOURCE_MISMATCH',
    `Token is not for agents: its aud must have ${resource}, or the configured audience`,
    true,
  );

export const tokenExpired = (): ApiError => unauthorized('TOKEN_EXPIRED', 'Token has expired', true);

export const jwksNotDiscovered = (): ApiError =>
  unauthorized('JWKS_NOT_DISCOVERED', 'Failed to discover JWKS endpoint for issuer', true);

export const missingSub = (): ApiError => unauthorized('MISSING_SUB', 'Token is missing the sub claim', true);

export const missingExp = (): ApiError => unauthorized('MISSING_EXP', 'Token is missing the exp claim', true);

export const signatureInvalid = (): ApiError => unauthorized('INVALID_SIGNATURE', 'Token signature is invalid', true);

export const tokenNotYetValid = (): ApiError => unauthorized('TOKEN_NOT_YET_VALID', 'Token is not valid yet', true);

/** Opaque and malformed tokens. */
export const notAJwt = (): ApiError => unauthorized('NOT_A_JWT', 'Token is not a valid JWT', true);

/* ---- records ---- */

export const unknownEntity = (name: string, suggestion: string | null, known: Iterable<string>): ApiError =>
  new ApiError(
    'UNKNOWN_ENTITY',
    `Entity ${shown(name)} does not exist.${hint(suggestion)} Known: ${list([...known].slice(0, 50))}`,
  );

export const recordNotFound = (): ApiError => new ApiError('RECORD_NOT_FOUND', 'Record not found');

/**
 * True for a refusal that another schema, other settings or an open gate might not give; false for refusals because of
 * records.
 */
export const isBySchema = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status === 400 ||
    error.status === 403 ||
    error.status === 404 ||
    error.code === 'SCHEMA_MIGRATION_IN_PROGRESS') &&
  error.reason !== 'RECORD_NOT_FOUND';

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

/** An upsert may create, so it cannot demand a version. */
export const upsertWithVersion = (): ApiError =>
  badRequest(
    'PARAMETER_CONFLICT',
    'If-Match does not go together with onConflict: update the record by its id to ask for a version of it',
  );

export const preconditionFailed = (): ApiError =>
  new ApiError('RECORD_CHANGED', 'The record has changed since it was read: read it again and repeat the change');

/** `what`: such as `schema document`. */
export const changedMeanwhile = (what: string): ApiError =>
  new ApiError(
    'DOCUMENT_CHANGED',
    `Somebody has changed the ${what} meanwhile, so nothing was done: read again, and repeat the change`,
  );

function summary(details: readonly Detail[]): string {
  const first = details[0];
  if (first === undefined) return 'Validation failed';
  const where = first.row === undefined ? recordOf(first) : `row ${first.row}, `;
  const rest = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return `Validation failed: ${where}${first.field === null ? '' : `${first.field}: `}${first.message}${rest}`;
}

const recordOf = ({ index }: Detail): string => (index === undefined ? '' : `record ${index}, `);

/* ---- many records at once ---- */

export const tooManyRecords = (count: number, most: number): ApiError =>
  new ApiError('TOO_MANY_RECORDS', `The request names ${count} records, and ${most} are the most; send them in parts`);

/** Hidden and absent records are named alike. */
export const recordsNotFound = (ids: readonly string[]): ApiError =>
  new ApiError('RECORDS_NOT_FOUND', `Records not found: ${listed(ids)}`);

export const recordsChanged = (details: readonly Detail[]): ApiError =>
  new ApiError(
    'RECORDS_CHANGED',
    `Records have changed since they were read (${details
      .map(({ index }) => index)
      .slice(0, 20)
      .join(', ')}, counted from 0): read them again and repeat the change`,
    { details },
  );

/* ---- several operations at once ---- */

export const tooManyOperations = (count: number, most: number): ApiError =>
  new ApiError('TOO_MANY_OPERATIONS', `The batch has ${count} operations, and ${most} are the most; send it in parts`);

/* ---- agents ---- */

/** By the settings of the server or of the workspace. */
export const agentsNotServed = (): ApiError => notFound('AGENTS_NOT_SERVED', 'This workspace is not served to agents');

/** `why`: a clause. */
export const agentsMayNotWrite = (why: string): ApiError =>
  forbidden('AGENTS_READ_ONLY', `Nothing may be written here: ${why}`);

export const confirmationRefused = (): ApiError =>
  conflict(
    'CONFIRMATION_MISMATCH',
    'The confirmation does not fit: it is for other arguments, the record has changed since, or it is older than ten minutes. Ask again without it',
  );

export const noSuchEntities = (name: string, suggestion: string | null, known: Iterable<string>): ApiError =>
  badRequest(
    'UNKNOWN_ENTITIES',
    `entities: there is no entity ${shown(name)}.${hint(suggestion)} Known: ${listed(known)}`,
  );

export const foreignOrigin = (origin: string): ApiError =>
  forbidden('FOREIGN_ORIGIN', `Pages of ${shown(origin)} may not use this server: WDA_CORS_ORIGINS does not list them`);

export const resultTooLarge = (bytes: number, limit: number): ApiError =>
  badRequest(
    'RESULT_TOO_LARGE',
    `The result has ${bytes} bytes, and ${limit} are the most. Ask for less: fewer fields, a smaller size, fewer expansions, a narrower filter`,
  );

/** `most`: bytes of a schema document as it is stored. */
export const schemaTooLong = (most: number): ApiError =>
  badRequest(
    'SCHEMA_TOO_LARGE',
    `The schema document would have more than ${most} bytes with its settings and row rules: nothing was changed`,
  );

/* ---- requests that are done once ---- */

export const keyReused = (): ApiError =>
  new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'The Idempotency-Key was used for another request: its body or its query was different. Send a new key',
  );

export const keyInUse = (cause: unknown): ApiError =>
  new ApiError('IDEMPOTENCY_KEY_IN_USE', 'The request with this Idempotency-Key is still being answered; retry', {
    beside: { retryAfterSeconds: 1 },
    headers: { 'Retry-After': '1' },
    cause,
  });

/* ---- the service itself ---- */

export const migrationInProgress = (
  entity: string,
  gate: { readonly blocksReads: boolean; readonly blocksWrites: boolean; readonly retryAfterSeconds: number },
): ApiError =>
  new ApiError('TABLE_MIGRATING', `Table ${entity} is being migrated; retry after the migration completes`, {
    beside: {
      retryAfterSeconds: gate.retryAfterSeconds,
      blocksReads: gate.blocksReads,
      blocksWrites: gate.blocksWrites,
    },
    headers: { 'Retry-After': String(gate.retryAfterSeconds) },
  });

/** A second schema change while one runs: the same code, as it conflicts with the running migration. */
export const anotherMigrationRuns = (): ApiError =>
  new ApiError('MIGRATION_RUNNING', 'Another migration of this workspace is running; retry after it has ended');

export const destructiveChange = (details: readonly Detail[]): ApiError =>
  new ApiError(
    'DESTRUCTIVE_CHANGE',
    `The change destroys data (${details.map((detail) => detail.message).join('; ')}). Repeat it with allowDestructive=true if that is meant`,
    { details },
  );

export const serviceUnavailable = (
  reason: ReasonFor<'SERVICE_UNAVAILABLE'>,
  message: string,
  seconds = 1,
  cause?: unknown,
): ApiError =>
  new ApiError(reason, message, {
    beside: { retryAfterSeconds: seconds },
    headers: { 'Retry-After': String(seconds) },
    ...(cause === undefined ? {} : { cause }),
  });

export const databaseAway = (cause?: unknown): ApiError =>
  serviceUnavailable('DATABASE_UNAVAILABLE', 'The database is not reachable at the moment; retry', 1, cause);

/** A write or a COMMIT was sent, and no answer came. No Retry-After: a repetition might write twice. */
export const writeUnknown = (cause: unknown): ApiError =>
  new ApiError(
    'OUTCOME_UNKNOWN',
    'The connection to the database was lost: the write may have been done, whole. Look before you send it again',
    { cause },
  );

export const queryTimeout = (cause?: unknown): ApiError =>
  new ApiError(
    'QUERY_TIMEOUT',
    'The request took too long and was stopped. Narrow it: filter on an indexed field, a smaller size, count=none',
    {
      beside: { retryAfterSeconds: 1 },
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

/** `known`: the nodes that may have workspaces. */
export const unknownNode = (name: string, suggestion: string | null, known: Iterable<string>): ApiError =>
  badRequest(
    'UNKNOWN_NODE',
    `The cluster has no node ${shown(name)} for workspaces.${hint(suggestion)} Known: ${listed(known)}`,
  );

export const nodesAway = (names: Iterable<string>, _cause?: unknown): ApiError =>
  new ApiError('NODE_UNAVAILABLE', `A node of the cluster does not answer: ${listed(names)}; retry when it is back`, {
    beside: { retryAfterSeconds: 5 },
    headers: { 'Retry-After': '5' },
  });

/** Of requests for records: the node that has them does not answer. Which one it is concerns the operator alone. */
export const workspaceAway = (cause?: unknown): ApiError =>
  new ApiError('WORKSPACE_UNAVAILABLE', 'The part of the database that has this workspace is not reachable; retry', {
    beside: { retryAfterSeconds: 2 },
    headers: { 'Retry-After': '2' },
    ...(cause === undefined ? {} : { cause }),
  });

/** A change of the schema, or another move, while the workspace is moved: the same code, as the schema is held. */
export const workspaceMoves = (): ApiError =>
  new ApiError(
    'WORKSPACE_MOVING',
    'The workspace is being moved to another node of the cluster; retry after that has ended',
  );
