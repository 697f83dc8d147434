// Gives positions to committed changes, and finds the place where a feed goes on after the snapshot of another statement.
import { isStaleSnapshot } from '../database/errors.ts';
import type { Executor, PoolName, Row } from '../database/pool.ts';
import type { Workspace } from '../model/workspace.ts';
import { selectContinuation, selectLastPosition, selectOldest } from '../sql/feed.ts';
import type { Query } from '../sql/fragment.ts';
import { numberChanges as numberWorkspace } from '../workspace-schema/change-numbering.ts';
import type { RequestContext } from './context.ts';
import { fitsCursor, type SeenChanges } from './feed-cursor.ts';
import { toRecordError } from './record-error.ts';

/** Runs a statement of a feed. */
export type Run = (query: Query, pool: PoolName) => Promise<readonly Row[]>;

/** Makes the function that runs statements for the request. `entity`: the one that errors of the database are about. */
export function makeRun(executor: Executor, context: RequestContext, entity: string): Run {
  const { workspace, deadline, signal, request } = context;
  const { answerMemory } = request;
  const options = { tenant: workspace.id, deadline: deadline.at, signal, answerMemory, expected: 'unknown' } as const;
  return (query, pool) =>
    executor.run(query, pool, options).catch((error) => {
      throw isStaleSnapshot(error) ? error : toRecordError(error, workspace, entity);
    });
}

/** Gives positions to everything that is committed; returns the last position. */
export async function numberChanges(run: Run, workspace: Workspace): Promise<number> {
  await numberCommitted(run, workspace);
  return readLastPosition(run, workspace);
}

export async function readLastPosition(run: Run, { databaseSchema }: Workspace): Promise<number> {
  const [row] = await run(selectLastPosition(databaseSchema), 'write');
  return Number(row?.[0] ?? 0);
}

/** Gives positions to everything that is committed. */
export const numberCommitted = (run: Run, { databaseSchema }: Workspace): Promise<void> =>
  numberWorkspace(async (query) => (await run(query, 'write'))[0], databaseSchema);

/** The moment of a statement: its snapshot (pg_snapshot), and the last position that is visible in it. */
export interface Moment {
  readonly snapshot: string;
  readonly position: number;
}

/** Where a feed goes on. */
export interface Continuation {
  readonly position: number;
  readonly seen: SeenChanges | undefined;
}

/**
 * Returns where a feed goes on so that it has every change that is not visible in the snapshot, and none that is; undefined
 * when more transactions were open than a cursor can name.
 *
 * Positions up to the last one that is visible in the snapshot have changes that are all visible in it, as a change gets
 * its position after its commit. Changes that get theirs later may be visible or not, in any order: first all of them get
 * positions, then those that are visible are left out by the snapshot itself.
 */
export async function findContinuation(
  run: Run,
  workspace: Workspace,
  { snapshot, position }: Moment,
): Promise<Continuation | undefined> {
  await numberCommitted(run, workspace);
  const [row] = await run(selectContinuation(workspace.databaseSchema, snapshot, position), 'write');
  const [start, until, end, running] = row ?? [];
  if (Number(until) <= Number(start)) return { position: Number(start), seen: undefined };
  const seen = {
    until: Number(until),
    end: BigInt(end ?? 0),
    running: (running ?? '').split(',').filter(Boolean).map(BigInt),
  };
  return fitsCursor(seen) ? { position: Number(start), seen } : undefined;
}

/** Returns the position up to which changes may be gone, and the time of the oldest one that is kept. */
export async function findOldest(
  run: Run,
  { databaseSchema: schema }: Workspace,
): Promise<{ readonly expired: number; readonly oldest: string | null }> {
  const [row] = await run(selectOldest(schema), 'write');
  return { expired: Number(row?.[0] ?? 0), oldest: row?.[1] ?? null };
}
