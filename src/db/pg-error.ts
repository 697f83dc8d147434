// PostgreSQL's errors -> our refusals, by SQLSTATE (PostgreSQL documentation, appendix A). Nothing of the database's own
// message, detail or hint goes to a client: they name tables and values.
import {
  ApiError,
  badRequest,
  conflict,
  type Detail,
  databaseAway,
  idsUsedUp,
  internalError,
  migrationInProgress,
  queryTimeout,
  recordTooLarge,
  responseTooLarge,
  serviceUnavailable,
  validationFailed,
} from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { ConstraintOwner } from '../model/workspace.ts';
import { type Known, ownerOf } from './constraint-owner.ts';
import { MessageTooLong } from './message-limit.ts';

interface DatabaseError extends Error {
  readonly code: string;
  readonly constraint?: string;
  readonly column?: string;
  /** The function of PostgreSQL that raised it. */
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

/** The SQLSTATE of an error of the database, else undefined. */
export function sqlState(error: unknown): string | undefined {
  return isDatabaseError(error) ? error.code : undefined;
}

/** A statement met a table or column that is no longer there, or no longer of that type: the snapshot is stale. */
export function isStaleSnapshot(error: unknown): boolean {
  if (error instanceof StaleStatement) return true;
  const state = sqlState(error);
  // 42P01 table, 42703 column, 3F000 schema, 42883 and 42804 operator or type mismatch, 0A000 cached plan, 26000 statement.
  // 42809 and 42803: without the column, t."rank" and t."count" are PostgreSQL's functions of these names, applied to t.
  const stale = ['42P01', '42703', '3F000', '42883', '42804', '42809', '42803', '0A000', '26000'];
  return state !== undefined && stale.includes(state);
}

/** The schema that a statement was made for has been replaced; it was not sent. */
export class StaleStatement extends Error {
  constructor() {
    super('the schema has been replaced');
    this.name = 'StaleStatement';
  }
}

/** 25006: a write met a standby, or a primary that was demoted. Its connection is of no more use. */
export function isReadOnlyServer(error: unknown): boolean {
  return sqlState(error) === '25006';
}

/** The connection broke under a statement. The driver's own errors about that have no code. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ApiError) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') return /^(08|57P0[123]|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|EAI_)/.test(code);
  return /connection (terminated|ended|error|timeout)|not queryable|client was closed/i.test(error.message);
}

/** 40001 serialization failure, 40P01 deadlock: the same statement may succeed when repeated. */
export function isRetryable(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01';
}

/** Errors of connecting, or of a connection that broke. */
export function translateConnectionError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof MessageTooLong) return responseTooLarge(error.limit);
  const state = sqlState(error);
  if (state === '53300') return serviceUnavailable('The database has no free connection; retry', 1, error);
  if (error instanceof Error && /timeout exceeded when trying to connect/.test(error.message)) {
    return serviceUnavailable('No database connection became free in time; retry', 1, error);
  }
  return databaseAway(error);
}

/** 55P03, also as the refusal that it became: somebody else holds the lock. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error instanceof ApiError ? error.cause : error) === '55P03';
}

// Raised by our own functions (install/000010-bounded-values.sql).
const TOO_LARGE = 'WDA54';

/** The limit in the message of our functions. */
function limitIn({ message }: Error): number | undefined {
  const digits = /\d+/.exec(message)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

export type WriteKind = 'create' | 'update' | 'delete' | 'read';

/** Any error of running a statement for a record of `entity` -> ApiError. Unknown ones become a 500 that keeps its cause. */
export function translateError(error: unknown, workspace: Known, entity: string, kind: WriteKind): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StaleStatement) return schemaChanges(error);
  if (!isDatabaseError(error)) return isConnectionLoss(error) ? translateConnectionError(error) : internalError(error);
  const state = error.code;
  const owner = ownerOf(error.constraint, workspace);
  switch (state) {
    case '23505':
      return conflict(
        owner === undefined
          ? 'A record with this value exists already'
          : `A record with this ${owner.field} exists already`,
        [{ field: owner?.field ?? null, code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' }],
        error,
      );
    case '23503':
      if (kind === 'delete') return stillReferenced(owner, error);
      return validationFailed([
        { field: owner?.field ?? null, code: 'REFERENCE_NOT_FOUND', message: 'refers to a record that does not exist' },
      ]);
    case '23001':
      return stillReferenced(owner, error);
    case '23502':
      return validationFailed([required(fieldOf(error.column, workspace.entities.get(entity)))]);
    case '23514':
      if (owner?.isNull === true) return validationFailed([required(owner.field)]);
      return validationFailed([
        { field: owner?.field ?? null, code: 'OUT_OF_RANGE', message: 'is outside what the schema allows' },
      ]);
    case TOO_LARGE:
      return kind === 'read' ? responseTooLarge(limitIn(error), error) : recordTooLarge(error);
    case '54000':
      // A text of a gigabyte that PostgreSQL could not go on building; else an entry of an index.
      if (kind === 'read') return responseTooLarge(undefined, error);
      if (error.routine === 'enlargeStringInfo') return recordTooLarge(error);
      return validationFailed([{ field: null, code: 'TOO_LONG', message: 'a value is too long for the index on it' }]);
    case '2200H':
      return idsUsedUp(entity, error);
    case '22003':
    case '22008':
      return validationFailed([
        { field: null, code: 'OUT_OF_RANGE', message: 'a value is outside the range of its type' },
      ]);
    case '2201B':
      return badRequest(`The regular expression of a filter ${faultOf(error)}`);
    case '57014':
      return queryTimeout(error);
    case '55P03': {
      const held = gated(workspace, entity);
      if (held?.gate != null) return migrationInProgress(held.name, held.gate);
      return lockedByOthers(error);
    }
    case '40001':
    case '40P01':
      return lockedByOthers(error);
    default:
  }
  if (/^22/.test(state))
    return validationFailed([{ field: null, code: 'INVALID', message: 'a value has the wrong form' }]);
  if (/^(08|53|57P|25006|58)/.test(state)) return databaseAway(error);
  if (isStaleSnapshot(error)) return schemaChanges(error);
  return internalError(error);
}

// What PostgreSQL says of an expression that it cannot read (its regex/regerrs.h, which nobody translates). Any other text
// may name what is nobody's business.
const EXPRESSION_FAULTS: readonly (readonly [said: string, fault: string])[] = [
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

function faultOf({ message }: Error): string {
  return EXPRESSION_FAULTS.find(([said]) => message.includes(said))?.[1] ?? 'is invalid';
}

const schemaChanges = (error: unknown): ApiError =>
  serviceUnavailable('The schema is changing at the moment; retry', 1, error);

const lockedByOthers = (error: unknown): ApiError =>
  serviceUnavailable('The record is locked by other changes at the moment; retry', 1, error);

/** The entity that a migration holds: the statement's own, or one that a foreign key of either leads to. */
function gated({ entities }: Known, name: string): Entity | undefined {
  const entity = entities.get(name);
  if (entity === undefined || entity.gate !== null) return entity;
  for (const other of entities.values()) {
    if (other.gate !== null && (refersTo(entity, other) || refersTo(other, entity))) return other;
  }
  return undefined;
}

function refersTo(entity: Entity, other: Entity): boolean {
  return [...entity.relations.values()].some(
    (relation) => relation.kind === 'belongsTo' && relation.entity === other.name,
  );
}

const required = (field: string | null): Detail => ({ field, code: 'REQUIRED', message: 'is required' });

/** PostgreSQL tells the column, which may have another name than its field: `total$17` has just taken the place of `total`. */
function fieldOf(column: string | undefined, entity: Entity | undefined): string | null {
  if (column === undefined || entity === undefined) return null;
  const field = [...entity.fields.values()].find((each) => each.column === column);
  return (field ?? entity.fields.get(column.split('$')[0] as string))?.name ?? null;
}

function stillReferenced(owner: ConstraintOwner | undefined, error: unknown): ApiError {
  const relation = owner?.relation ?? owner?.field;
  const detail: Detail = {
    field: owner === undefined ? null : `${owner.entity}.${relation}`,
    code: 'STILL_REFERENCED',
    message:
      owner === undefined
        ? 'other records refer to this one'
        : `records of ${owner.entity} refer to this one by ${relation}`,
  };
  return conflict(`The record cannot be deleted: ${detail.message}`, [detail], error);
}
