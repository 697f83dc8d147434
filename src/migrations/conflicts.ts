// Finds conflicts that make a change impossible: names that exist already, and records that violate the new schema.
// Checks run before any work, again under the locks of the switch, and once more to explain a failure.

import type { Session } from '../database/pool.ts';
import { toQuery } from '../sql/fragment.ts';
import type { Conflicts, MigrationError } from '../store/migrations.ts';
import { selectBypassedSyncs } from '../workspace-schema/sync.ts';
import { UnconvertibleValue } from './backfill.ts';
import { buildConflictError, buildNameError, buildTriggersError, isDataError, toMigrationError } from './failure.ts';
import type { Operation } from './operation.ts';
import { findConflicts, findExistingName, type PreparedChange } from './plan.ts';
import type { Run } from './run.ts';
import type { Failure } from './state.ts';

/** The error of records that became conflicting while the change was prepared. */
class LateConflict extends Error {
  readonly conflicts: Conflicts;
  constructor(conflicts: Conflicts) {
    super('records stand in the way');
    this.conflicts = conflicts;
  }
}

/** The error of triggers of the migration that are disabled, or were disabled for some time. */
class TriggersDisabled extends Error {
  constructor() {
    super('triggers of the migration were disabled');
  }
}

/** Returns the conflict that makes the change impossible, before any work is done, or undefined if there is none. */
export async function findBlockingConflict(session: Session, change: PreparedChange): Promise<Failure | undefined> {
  const existingName = await findExistingName(session, change);
  if (existingName !== undefined) return { error: buildNameError(existingName) };
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
    if (conflicts !== null) throw new LateConflict(conflicts);
  }
}

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
    if (silentTriggers.length > 0) throw new TriggersDisabled();
  }
}

/** Counts the records that made a statement fail, while the object that they conflict with still exists. */
export async function explainError(
  session: Session,
  error: unknown,
  operation: Operation | undefined,
): Promise<MigrationError> {
  const conflictCheck = operation?.conflictCheck;
  if (error instanceof TriggersDisabled) return buildTriggersError(operation);
  if (operation !== undefined && error instanceof LateConflict) return buildConflictError(operation, error.conflicts);
  const isConflict = isDataError(error) || error instanceof UnconvertibleValue;
  if (operation === undefined || conflictCheck == null || !isConflict) return toMigrationError(error, operation);
  const conflicts = await findConflicts(session, conflictCheck).catch(() => null);
  return conflicts === null ? toMigrationError(error, operation) : buildConflictError(operation, conflicts);
}
