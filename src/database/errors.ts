// Translates PostgreSQL's errors into ours, by SQLSTATE (PostgreSQL documentation, appendix A). The database's own message,
// detail and hint never go to a client: they name tables and values.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiError,
  badRequest,
  type Detail,
  databaseUnavailable,
  internalError,
  notUnique,
  queryTimeout,
  responseTooLarge,
  serviceUnavailable,
  stillReferenced,
  validationFailed,
  workspaceUnavailable,
} from '../errors.ts';
import { isNodeLoss, isNodeOutcomeUnknown, isSessionBroken, isStaleRewrite } from './cluster-dialect.ts';

export { findLostNode, isNodeLoss } from './cluster-dialect.ts';

export interface DatabaseError extends Error {
  readonly code: string;
  readonly constraint?: string;
  readonly column?: string;
  /** Context of the error in PostgreSQL. */
  readonly where?: string;
  /** Function of PostgreSQL that raised it. */
  readonly routine?: string;
}

export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    !(error instanceof ApiError) &&
    // Every SQLSTATE has a digit; EPIPE is the operating system's.
    /^(?=.*\d)[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
  );
}

/** Returns the SQLSTATE of an error of the database, or undefined for any other error. */
export function getSqlState(error: unknown): string | undefined {
  return isDatabaseError(error) ? error.code : undefined;
}

/**
 * Returns the name of the constraint or index that a statement violated. A node of a cluster gives it in the message alone,
 * with the number of a shard at its end, which no name of ours has: `orders$customerId$fk_102017`.
 */
export function getViolatedConstraint(error: unknown): string | undefined {
  if (!isDatabaseError(error)) return undefined;
  return (error.constraint ?? /constraint "([^"]+)"/.exec(error.message)?.[1])?.replace(/_\d+$/, '');
}

/** True when a constraint of the control tables, not of a workspace, is violated. */
export const isOwnConflict = (error: unknown, constraint: string): boolean =>
  getSqlState(error) === '23505' && getViolatedConstraint(error) === constraint;

/** True when a statement waited too long for another one that writes the same value of an index of ours. */
export const isOwnLockTimeout = (error: unknown, index: string): boolean =>
  getSqlState(error) === '55P03' &&
  (error as DatabaseError).where?.replace(/_\d+"/g, '"').includes(`"${index}"`) === true;

/** True when a table or column no longer exists or no longer has its type: the snapshot is stale. */
export function isStaleSnapshot(error: unknown): boolean {
  if (error instanceof StaleStatement) return true;
  const state = getSqlState(error);
  // 42P01 table, 42703 column, 3F000 schema, 42883 and 42804 operator or type mismatch, 0A000 cached plan, 26000 statement.
  // 42809 and 42803: without the column, t."rank" and t."count" are PostgreSQL's functions of these names, applied to t.
  // 42P10: the unique index of an upsert has gone. 22012: the table lies on another node now (sql/table.ts).
  if (isStaleRewrite(error)) return true;
  const stale = ['42P01', '42703', '3F000', '42883', '42804', '42809', '42803', '0A000', '26000', '42P10', '22012'];
  return state !== undefined && stale.includes(state);
}

/** The schema that a statement was made for has been replaced; the statement was not sent. */
export class StaleStatement extends Error {
  constructor() {
    super('the schema has been replaced');
    this.name = 'StaleStatement';
  }
}

/** True for 25006: a write met a standby, or a primary that was demoted. Its connection is useless. */
export function isReadOnlyServer(error: unknown): boolean {
  return getSqlState(error) === '25006';
}

/** True when the connection broke during a statement. The driver's own errors about that have no code. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ApiError || isNodeLoss(error)) return false;
  const code = (error as { code?: unknown }).code;
  // 25P03, 25P04: PostgreSQL has ended a session whose transaction was idle, or open, for too long.
  if (typeof code === 'string')
    return /^(08|57P0[123]|25P0[34]|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|EAI_)/.test(code);
  return /connection (terminated|ended|error|timeout)|not queryable|client was closed/i.test(error.message);
}

/** True for 40001 (serialization failure) and 40P01 (deadlock): the same statement may succeed when repeated. */
export function isRetryable(error: unknown): boolean {
  const state = getSqlState(error);
  return state === '40001' || state === '40P01';
}

/** Refuses a read whose answer may be too large for the memory that is left. */
export const answerMemoryFull = (cause?: Error): ApiError =>
  serviceUnavailable('OVERLOADED', 'Too many large answers wait to be read; retry, or ask for smaller pages', 1, cause);

/** Translates an error of connecting, or of a connection that broke. */
export function translateConnectionError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof MessageTooLong)
    return error.limit === undefined ? answerMemoryFull(error) : responseTooLarge(error.limit);
  const state = getSqlState(error);
  if (state === '53300')
    return serviceUnavailable('DATABASE_UNAVAILABLE', 'The database has no free connection; retry', 1, error);
  if (error instanceof Error && /timeout exceeded when trying to connect/.test(error.message)) {
    return serviceUnavailable('DATABASE_UNAVAILABLE', 'No database connection became free in time; retry', 1, error);
  }
  return databaseUnavailable(error);
}

/** The connection broke after a write was sent and before its answer arrived: it may or may not have been done. */
class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection was lost before the answer', { cause });
    this.name = 'AnswerLost';
  }
}

/** Translates the error of a statement whose connection broke. `isWrite`: true if it may have written. */
export const toConnectionLossError = (error: unknown, isWrite: boolean): ApiError =>
  translateConnectionError(isWrite && isConnectionLoss(error) ? new OutcomeUnknown(error) : error);

/** Translates the error of a write that was sent to a node of a cluster, which may do it as soon as it goes on. */
export const toOutcomeUnknownError = (error: unknown): ApiError => translateConnectionError(new OutcomeUnknown(error));

/** True for the error of a write that may or may not have been done. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  isNodeOutcomeUnknown(error) || (error instanceof ApiError && error.cause instanceof OutcomeUnknown);

/** True for 55P03, another transaction holds the lock, and for the ApiError made of it. */
export function isLockTimeout(error: unknown): boolean {
  return getSqlState(error instanceof ApiError ? error.cause : error) === '55P03';
}

/** SQLSTATE that our functions raise when their result would be longer than an answer may be (install/workspace). */
export const TOO_LARGE = 'WDA54';

/** SQLSTATE that our function raises when a statement has not done everything (install/workspace). */
export const INCOMPLETE_STATEMENT = 'WDA09';

/** Returns the limit in a message of our functions. */
function parseLimit({ message }: Error): number | undefined {
  const digits = /\d+/.exec(message)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/** Translates any error of a statement, by its SQLSTATE alone. Unknown ones become a 500 that keeps its cause. */
export function translateStatementError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StaleStatement) return schemaChanging(error);
  if (!isDatabaseError(error)) return isConnectionLoss(error) ? translateConnectionError(error) : internalError(error);
  if (isNodeLoss(error)) return workspaceUnavailable(error);
  if (isSessionBroken(error)) return databaseUnavailable(error);
  const toError = ERRORS_BY_STATE[error.code];
  if (toError !== undefined) return toError(error);
  if (/^22/.test(error.code)) return invalidValue('INVALID', 'a value has the wrong form');
  if (/^(08|53|57P|25P0[34]|25006|58)/.test(error.code)) return databaseUnavailable(error);
  if (isStaleSnapshot(error)) return schemaChanging(error);
  return internalError(error);
}

const ERRORS_BY_STATE: Readonly<Record<string, (error: DatabaseError) => ApiError>> = {
  '23505': (error) => notUnique(undefined, error),
  '23503': () => invalidValue('REFERENCE_NOT_FOUND', 'refers to a record that does not exist'),
  '23001': (error) => stillReferenced(undefined, error),
  '23502': () => invalidValue('REQUIRED', 'is required'),
  '23514': () => invalidValue('OUT_OF_RANGE', 'is outside what the schema allows'),
  [TOO_LARGE]: (error) => responseTooLarge(parseLimit(error), error),
  // PostgreSQL could not go on building a text of a gigabyte.
  '54000': (error) => responseTooLarge(undefined, error),
  // Ids of control tables do not run out; for those of an entity the caller of the statement makes the error.
  '2200H': internalError,
  '22003': outOfRange,
  '22008': outOfRange,
  '2201B': (error) =>
    badRequest('INVALID_FILTER_VALUE', `The regular expression of a filter ${describePatternError(error)}`),
  // PostgreSQL's list of zones may be older than ours.
  '22023': ({ message }) =>
    /^time zone /.test(message)
      ? badRequest('INVALID_TIME_ZONE', 'The database does not know the time zone of tz')
      : invalidValue('INVALID', 'a value has the wrong form'),
  '57014': queryTimeout,
  '55P03': recordLocked,
  // The cancellation of a statement also ends the statements that were sent after it in its transaction.
  '25P02': (error) =>
    serviceUnavailable('TRANSACTION_ABORTED', 'The transaction was broken off; nothing of it is done; retry', 1, error),
  '40001': recordLocked,
  '40P01': recordLocked,
};

const invalidValue = (code: Detail['code'], message: string): ApiError =>
  validationFailed([{ field: null, code, message }]);

function outOfRange(): ApiError {
  return invalidValue('OUT_OF_RANGE', 'a value is outside the range of its type');
}

function recordLocked(error: unknown): ApiError {
  return serviceUnavailable('RECORD_BUSY', 'The record is locked by other changes at the moment; retry', 1, error);
}

// PostgreSQL's messages about an expression that it cannot read (its regex/regerrs.h, which is never translated). Any other
// text may name internal things.
const PATTERN_ERRORS: readonly (readonly [message: string, fault: string])[] = [
  ['parentheses () not balanced', 'has parentheses () that are not balanced'],
  ['brackets [] not balanced', 'has brackets [] that are not balanced'],
  ['braces {} not balanced', 'has braces {} that are not balanced'],
  ['invalid repetition count(s)', 'has an invalid repetition: counts go from 0 to 255, the smaller one first'],
  ['quantifier operand invalid', 'has a quantifier (* + ? {}) with nothing to repeat'],
  ['invalid escape \\ sequence', 'has an unknown escape sequence, or ends in a backslash'],
  ['invalid backreference number', 'refers back to a group that is not there'],
  ['invalid character range', 'has a character range whose end comes before its beginning'],
  ['invalid character class', 'has an unknown character class'],
  ['invalid collating element', 'has an unknown collating element'],
  ['invalid embedded option', 'has an unknown embedded option'],
  ['regular expression is too complex', 'is too complex'],
  ['too many colors in regexp', 'is too complex'],
];

function describePatternError({ message }: Error): string {
  return PATTERN_ERRORS.find(([pattern]) => message.includes(pattern))?.[1] ?? 'is invalid';
}

const schemaChanging = (error: unknown): ApiError =>
  serviceUnavailable('SCHEMA_CHANGING', 'The schema is changing at the moment; retry', 1, error);

// Errors of statements that are not sent.

export const clientDisconnected = (): Error =>
  serviceUnavailable('REQUEST_ABANDONED', 'The client left before its turn came');

const CONNECTION_TIMEOUT = 'No database connection became free in time; retry';

export const connectionTimeout = (): Error => serviceUnavailable('DATABASE_UNAVAILABLE', CONNECTION_TIMEOUT, 1);

/** True when a statement waited for a connection until its deadline. The clock cannot decide: a timer may end early. */
export const isConnectionTimeout = (error: unknown): boolean =>
  error instanceof ApiError && error.message === CONNECTION_TIMEOUT;

export const nodeUnavailable = (): Error => workspaceUnavailable();

export const shuttingDown = (): Error => serviceUnavailable('SHUTTING_DOWN', 'The server is shutting down');

export const queueFull = (): Error =>
  serviceUnavailable('OVERLOADED', 'Too many requests wait for the database; retry', 1);

/** The server, or its pooler, does not behave as we need. The message is for the operator. */
export class InvalidSession extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidSession';
  }
}

/** An answer was longer than allowed, or than the memory that was left; its connection has ended. */
export class MessageTooLong extends Error {
  /** Code of an error of the system: statements on the connection treat it as lost. */
  readonly code = 'ECONNRESET';
  readonly bytes: number;
  /** The longest that is allowed, or undefined if there was no memory for it. */
  readonly limit: number | undefined;
  constructor(bytes: number, limit: number | undefined) {
    super(`Connection terminated: an answer of the database is too long: ${bytes} bytes`);
    this.bytes = bytes;
    this.name = 'MessageTooLong';
    this.limit = limit;
  }
}

/** The database is unfit. The message is for the operator. */
export class InstallError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InstallError';
  }
}

// Reasons why the database cannot be used at the moment: for the log with all details, for /readyz in words that name no host,
// and whether waiting helps. Passwords are in neither: no message of the driver or of PostgreSQL holds one.

export interface Outage {
  /** True when it may end by itself: the database starts, moves, or is out of reach. Otherwise its setup must change. */
  readonly isTransient: boolean;
  /** Words that follow "The database cannot be used: ". */
  readonly reason: string;
  /** Original messages, with addresses. */
  readonly detail: string;
}

// The first match counts. PostgreSQL documentation, appendix A, lists the states.
const CAUSES: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^ECONNREFUSED$|^ENOENT$/, 'nothing listens at its address'],
  [/^ENOTFOUND$|^EAI_/, 'the name of its host is not known'],
  [/^(EHOST|ENET)(UNREACH|DOWN)$/, 'there is no way to its host'],
  [/^ETIMEDOUT$/, 'it does not answer in time'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$|^08(?!P01)/, 'the connection broke'],
  [/^57P03$/, 'it is starting up, shutting down or recovering'],
  [/^57P0/, 'it is being shut down'],
  [/^25006$/, 'it takes no writes: it is a standby, or set to read-only'],
  [/^53300$/, 'it has no free connection'],
  [/^53100$/, 'its disk is full'],
  [/^53200$/, 'it has too little memory'],
  [/^28/, 'it refuses the user or the password'],
  [/^3D000$/, 'there is no database of that name'],
  [/^08P01$/, 'it, or a pooler in front of it, refuses the way we speak to it'],
  [/^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/, 'its certificate cannot be trusted'],
];

/** Classifies an error of connecting to the database, or of the first statements there. */
export function toOutage(error: unknown): Outage {
  const causes = findRootCauses(error);
  const codes = causes.map(getErrorCode);
  const messages = [...new Set(causes.map(getErrorMessage))].join('; ');
  const invalidSession = causes.find((cause) => cause instanceof InvalidSession);
  // A pooler or a standby may be repaired or replaced at any time.
  if (invalidSession instanceof Error)
    return { isTransient: true, reason: lowerFirst(invalidSession.message), detail: messages };
  const matched = CAUSES.find(([pattern]) => codes.some((code) => pattern.test(code)));
  const timeoutReason = /timeout|in time/i.test(messages) ? 'it does not answer in time' : undefined;
  const lossReason = /terminated|ended|not queryable/i.test(messages) ? 'the connection broke' : undefined;
  return {
    isTransient: isUnavailableError(error) || causes.some(isTransient),
    reason: matched?.[1] ?? timeoutReason ?? lossReason ?? 'the log of the server says why',
    detail: messages,
  };
}

const RETRY_MS = 1000;

export interface RetryOptions {
  /** Called for each outage that is waited for. */
  readonly onOutage: (outage: Outage) => void;
  /** True when waiting is pointless: the next error is thrown. */
  readonly isCancelled: () => boolean;
}

/**
 * Runs `work` until it succeeds, each second while the database is unavailable. Throws errors that waiting does not help
 * against: an InstallError, a refused login, any error that is not the database's.
 */
export async function retryUntilAvailable<T>(
  work: () => Promise<T>,
  { onOutage, isCancelled }: RetryOptions,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const outage = toOutage(error);
      if (isCancelled() || error instanceof InstallError || !outage.isTransient) throw error;
      onOutage(outage);
      await sleep(RETRY_MS);
    }
  }
}

const isUnavailableError = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE';

function isTransient(error: unknown): boolean {
  const code = getErrorCode(error);
  return (
    // A refused login may be repaired, too, but the operator should know of it.
    /^(08|25006|40|53|55P03|57P|58)/.test(code) ||
    (/^E[A-Z]+(_[A-Z]+)?$/.test(code) && !code.startsWith('ERR_')) ||
    /terminated|timeout|ended/i.test(getErrorMessage(error))
  );
}

/** Returns the original errors: an error of ours and a list of attempts are replaced by their causes. */
function findRootCauses(error: unknown): readonly unknown[] {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.flatMap(findRootCauses);
  if (error instanceof Error && error.cause !== undefined) return findRootCauses(error.cause);
  return [error];
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

const getErrorCode = (error: unknown): string => String((error as { code?: unknown } | null | undefined)?.code ?? '');

const getErrorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
