// What makes a change impossible: names that are taken, and records in its way. Looked for before anything is done, again
// under the locks of the switch, and once more for the words of a failure.
import type { Conflicts, MigrationError } from '../catalog/migrations.ts';
import type { Session } from '../db/pool.ts';
import { dataConflict, failureOf, isDataError, nameTaken } from './failure.ts';
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

/** Counts the records that made a statement fail, while what they failed on is still there. */
export async function explain(
  session: Session,
  error: unknown,
  operation: Operation | undefined,
): Promise<MigrationError> {
  const obstacle = operation?.obstacle;
  if (operation !== undefined && error instanceof LateConflict) return dataConflict(operation, error.conflicts);
  const isConflict = isDataError(error) || error instanceof RefusedValue;
  if (operation === undefined || obstacle == null || !isConflict) return failureOf(error, operation);
  const conflicts = await findConflicts(session, obstacle).catch(() => null);
  return conflicts === null ? failureOf(error, operation) : dataConflict(operation, conflicts);
}
