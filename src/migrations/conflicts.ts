// What makes a change impossible: names that are taken, and records in its way. Looked for before anything is done, again
// under the locks of the switch, and once more for the words of a failure.

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

/** Records that came to stand in the way while the change was prepared. */
class LateConflict extends Error {
  readonly conflicts: Conflicts;
  constructor(conflicts: Conflicts) {
    super('records stand in the way');
    this.conflicts = conflicts;
  }
}

/** Triggers of the migration did not fire for some time, or do not now. */
class TriggersDisabled extends Error {
  constructor() {
    super('triggers of the migration were disabled');
  }
}

/** What makes the change impossible, before anything is done; undefined when nothing does. */
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

/** The last look for records in the way, under the locks of the switch. Throws when there are any. */
export async function rejectLateConflicts({ session, change, progress }: Run): Promise<void> {
  for (const operation of change.operations) {
    if (operation.lateConflictCheck === null) continue;
    progress.setCurrent(operation);
    const conflicts = await findConflicts(session, operation.lateConflictCheck);
    if (conflicts !== null) throw new LateConflict(conflicts);
  }
}

/**
 * Under the locks of the switch: throws when a write may have passed the triggers that keep the new column of a type
 * change equal to the old one. Its value would be lost with the old column.
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

/** Counts the records that made a statement fail, while what they failed on is still there. */
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
