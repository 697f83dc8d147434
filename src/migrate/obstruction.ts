// What makes a change impossible: names that are taken, and records in its way. Looked for before anything is done, again
// under the locks of the switch, and once more for the words of a failure.

import { silentSyncs } from '../beside/sync.ts';
import type { Conflicts, MigrationError } from '../catalog/migrations.ts';
import type { Session } from '../db/pool.ts';
import { toQuery } from '../sql/fragment.ts';
import { dataConflict, failureOf, isDataError, nameTaken, triggersDisabled } from './failure.ts';
import { RefusedValue } from './fill.ts';
import type { Operation } from './operation.ts';
import { findConflicts, findTaken, type PreparedChange } from './plan.ts';
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
class TriggersSilenced extends Error {
  constructor() {
    super('triggers of the migration were disabled');
  }
}

/** What makes the change impossible, before anything is done; undefined when nothing does. */
export async function findObstruction(session: Session, change: PreparedChange): Promise<Failure | undefined> {
  const taken = await findTaken(session, change);
  if (taken !== undefined) return { error: nameTaken(taken) };
  for (const [step, operation] of change.operations.entries()) {
    if (operation.obstacle?.known !== true) continue;
    const conflicts = await findConflicts(session, operation.obstacle);
    if (conflicts !== null) return { error: dataConflict(operation, conflicts), step };
  }
  return undefined;
}

/** The last look for records in the way, under the locks of the switch. Throws when there are any. */
export async function refuseLate({ session, change, progress }: Run): Promise<void> {
  for (const operation of change.operations) {
    if (operation.late === null) continue;
    progress.turnTo(operation);
    const conflicts = await findConflicts(session, operation.late);
    if (conflicts !== null) throw new LateConflict(conflicts);
  }
}

/**
 * Under the locks of the switch: throws when a write may have passed the triggers that keep the new column of a type
 * change equal to the old one. Its value would be lost with the old column.
 */
export async function refuseSilenced({ session, change, progress }: Run): Promise<void> {
  for (const operation of change.operations) {
    const syncs = operation.ahead ? operation.makes.filter((made) => made.kind === 'sync') : [];
    if (syncs.length === 0) continue;
    progress.turnTo(operation);
    const silent = await session.query(toQuery(silentSyncs(change.databaseSchema, syncs)));
    if (silent.length > 0) throw new TriggersSilenced();
  }
}

/** Counts the records that made a statement fail, while what they failed on is still there. */
export async function explain(
  session: Session,
  error: unknown,
  operation: Operation | undefined,
): Promise<MigrationError> {
  const obstacle = operation?.obstacle;
  if (error instanceof TriggersSilenced) return triggersDisabled(operation);
  if (operation !== undefined && error instanceof LateConflict) return dataConflict(operation, error.conflicts);
  const isConflict = isDataError(error) || error instanceof RefusedValue;
  if (operation === undefined || obstacle == null || !isConflict) return failureOf(error, operation);
  const conflicts = await findConflicts(session, obstacle).catch(() => null);
  return conflicts === null ? failureOf(error, operation) : dataConflict(operation, conflicts);
}
