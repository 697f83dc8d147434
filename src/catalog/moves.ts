// `wda.workspace.moves`: how many moves between the nodes of a cluster have begun or ended. It is part of the versions of
// records (sql/table.ts); moves/switch.ts says when it is raised and why.
import type { Session } from '../db/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

type Runs = Pick<Session, 'query'>;

/** A condition: a move has begun and not ended, so versions of the workspace's records name tables. */
export const isMoving = (workspaceId: string): Fragment =>
  sql`exists (select from wda.workspace where id = ${workspaceId} and moves % 2 = 1)`;

/** Makes it odd, and gives it with the version of the workspace from which it is so; undefined: the workspace is gone. */
export async function beginMoving(
  session: Runs,
  workspaceId: string,
): Promise<{ readonly moves: number; readonly version: string } | undefined> {
  const [row] = await session.query<{ moves: number; version: string }>(
    toQuery(sql`update wda.workspace set moves = moves + 1 - moves % 2 where id = ${workspaceId}
returning moves, version::text as version`),
  );
  return row;
}

/** Makes it even; false when it was. */
export async function endMoving(session: Runs, workspaceId: string): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`update wda.workspace set moves = moves + 1 where id = ${workspaceId} and moves % 2 = 1 returning id`),
  );
  return rows.length > 0;
}

/** As it is until the end of the transaction. */
export async function movesHeld(session: Runs, workspaceId: string): Promise<number | undefined> {
  const [row] = await session.query<{ moves: number }>(
    toQuery(sql`select moves from wda.workspace where id = ${workspaceId} for share`),
  );
  return row?.moves;
}
