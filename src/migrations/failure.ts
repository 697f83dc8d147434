// Why a migration cannot be made, or has failed: names that exist already, records that violate the new schema, and what
// PostgreSQL reports. Records are checked before any work, again under the locks of the switch, and once more to explain
// a failure.

import { getSqlState, isNodeLoss } from '../database/errors.ts';
import type { Session } from '../database/pool.ts';
import { toQuery } from '../sql/fragment.ts';
import type { Conflicts, MigrationError } from '../store/migrations.ts';
import { selectBypassedSyncs } from '../workspace-schema/sync.ts';
import type { Operation } from './operation.ts';
import { findConflicts, findExistingName, type PreparedChange } from './plan.ts';
import type { Run } from './run.ts';
import type { Failure } from './state.ts';

/** The error of a record whose value the new column cannot hold. */
export class UnconvertibleValue extends Error {}

/** An error that names its cause. */
class ExplainedError extends Error {
  readonly explanation: MigrationError;
  constructor(explanation: MigrationError) {
    super(explanation.message);
    this.explanation = explanation;
  }
}

/** Returns the conflict that makes the change impossible, before any work is done, or undefined if there is none. */
export async function findBlockingConflict(session: Session, change: PreparedChange): Promise<Failure | undefined> {
  const existingName = await findExistingName(session, change);
  if (existingName !== undefined) {
    const message = `${existingName} exists in the database already, made outside of this API: drop or rename it first`;
    return { error: buildError('NAME_TAKEN', message) };
  }
  for (const [step, operation] of change.operations.entries()) {
    if (operation.conflictCheck?.canRun !== true) continue;
    const conflicts = await findConflicts(session, operation.conflictCheck);
    if (conflicts !== null) return { error: buildConflictError(operation, conflicts), step };
  }
  return undefined;
}

/** Checks for conflicting records for the last time, under the locks of the switch. Throws when there are any. */
export async function rejectLateConflicts({ session, change, progress }: Run): Promise<void> {
  for (const operation of change.operations) {
    if (operation.lateConflictCheck === null) continue;
    progress.setCurrent(operation);
    const conflicts = await findConflicts(session, operation.lateConflictCheck);
    if (conflicts !== null) throw new ExplainedError(buildConflictError(operation, conflicts));
  }
}

const TRIGGERS_DISABLED =
  'Triggers of the table were disabled while it was changed, as by pg_restore --disable-triggers; nothing was changed. Start again when they are enabled';

/**
 * Throws, under the locks of the switch, when a write may have bypassed the triggers that synchronize the new column of
 * a type change with the old one. That value would be lost with the old column.
 */
export async function rejectDisabledTriggers({ session, change, progress }: Run): Promise<void> {
  for (const operation of change.operations) {
    const syncs = operation.runsBeforeSwitch
      ? operation.temporaryObjects.filter((object) => object.kind === 'sync')
      : [];
    if (syncs.length === 0) continue;
    progress.setCurrent(operation);
    const silentTriggers = await session.query(toQuery(selectBypassedSyncs(change.databaseSchema, syncs)));
    if (silentTriggers.length > 0)
      throw new ExplainedError(buildError('TRIGGERS_DISABLED', TRIGGERS_DISABLED, operation));
  }
}

/**
 * Explains an error for administrators. Counts the records that made a statement fail, while the object that they
 * conflict with still exists.
 */
export async function explainError(
  session: Session,
  error: unknown,
  operation: Operation | undefined,
): Promise<MigrationError> {
  if (error instanceof ExplainedError) return error.explanation;
  const isConflict = isDataError(error) || error instanceof UnconvertibleValue;
  const check = isConflict ? operation?.conflictCheck : undefined;
  const conflicts = check == null ? null : await findConflicts(session, check).catch(() => null);
  return operation === undefined || conflicts === null
    ? toMigrationError(error, operation)
    : buildConflictError(operation, conflicts);
}

const DEPENDENT = [
  'DEPENDENT_OBJECTS',
  'Something made outside of this API, such as a view, depends on what would be dropped or changed',
] as const;

const CAUSES: Readonly<Record<string, readonly [code: string, message: string]>> = {
  '55P03': ['LOCK_TIMEOUT', 'Other transactions held the tables for two minutes; try again when they have ended'],
  '40P01': ['LOCK_TIMEOUT', 'Other transactions held the tables for two minutes; try again when they have ended'],
  '2BP01': DEPENDENT,
  // PostgreSQL does not change the type of a column that a view, rule, trigger or policy uses.
  '0A000': DEPENDENT,
  '42P07': ['NAME_TAKEN', 'A table or index of this name exists already, made outside of this API'],
  '42701': ['NAME_TAKEN', 'A column of this name exists already, made outside of this API'],
  '53100': ['DISK_FULL', 'The disk of the database is full'],
  '53200': [
    'OUT_OF_LOCKS',
    'The change touches more tables and indexes than PostgreSQL locks at once: apply it in parts, or raise max_locks_per_transaction',
  ],
  '54000': ['DATA_CONFLICT', 'A value is too long for an index'],
  '54011': ['TOO_MANY_COLUMNS', 'PostgreSQL allows a table 1600 columns in its life, dropped ones included'],
  '42501': ['NOT_ALLOWED', "The database does not let the server's role do this"],
};

/** Returns whether records made the statement fail: unique, null, foreign key, check. */
const isDataError = (error: unknown): boolean =>
  ['23505', '23502', '23503', '23514'].includes(getSqlState(error) ?? '');

const DATA_CONFLICT = ['DATA_CONFLICT', 'Records stand in the way'] as const;
const UNKNOWN = ['INTERNAL_ERROR', 'Something went wrong on our side; the log of the server says what'] as const;

const NODE_LOST = [
  'INTERRUPTED',
  'A node of the cluster was lost during the migration; what was made is taken back. Start it again when the node is back',
] as const;

/** Explains an error by its SQLSTATE, without counting records. */
export function toMigrationError(error: unknown, operation?: Operation): MigrationError {
  const cause = isNodeLoss(error) ? NODE_LOST : CAUSES[getSqlState(error) ?? ''];
  const [code, message] = cause ?? (isDataError(error) ? DATA_CONFLICT : UNKNOWN);
  return buildError(code, message, operation);
}

function buildConflictError(operation: Operation, { count, sampleIds }: Conflicts): MigrationError {
  const { entity, conflictCheck } = operation;
  const records = count === 1 ? '1 record stands' : `${count} records stand`;
  const message = `${records} in the way in ${entity}: ${conflictCheck?.reason ?? 'their values do not fit'}`;
  return { ...buildError('DATA_CONFLICT', message, operation), count, sampleIds };
}

const buildError = (code: string, message: string, operation?: Operation): MigrationError => ({
  code,
  message,
  entity: operation?.entity ?? null,
  field: operation?.conflictCheck?.field ?? null,
  count: null,
  sampleIds: [],
});
