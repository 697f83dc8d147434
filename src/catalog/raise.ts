// Workspaces that an earlier version has made get what stands beside their tables now: when they are touched, by whichever
// process is first, and in the background soon after the start.
import { LAST_STAGE, loadStage, lockStage, raiseBeside } from '../beside/install.ts';
import type { Database, Session } from '../db/pool.ts';
import type { Place } from '../db/work.ts';
import { sql, toQuery } from '../sql/fragment.ts';

/** True for a workspace that lacks files of install/workspace. `stage`: what `wda.workspace_stage` says. */
export const isBehind = (stage: number): boolean => stage < LAST_STAGE;

// A million keys of requests take 10 s to copy.
const RAISE_TIMEOUT_MS = 600_000;

/** Runs what is missing; does nothing for a workspace that is gone, or whose schema is. */
export async function raiseWorkspace(db: Database, id: string): Promise<void> {
  await db.transaction(
    async (transaction) => {
      // Whoever has the lock does the same, and is waited for.
      await transaction.execute(sql`set local lock_timeout = 0`.text);
      await raiseIn(transaction, id);
    },
    { purpose: 'migration', tenant: id, statementTimeoutMs: RAISE_TIMEOUT_MS },
  );
}

/** The same in a transaction. What comes after it in there sees the tables. */
export async function raiseIn(session: Pick<Session, 'query' | 'execute'>, id: string): Promise<void> {
  await lockStage(session, id);
  // With this lock on the row nobody drops the schema meanwhile.
  const [row] = await session.query<{ schema: string }>(
    toQuery(sql`select database_schema as schema from wda.workspace
where id = ${id}::bigint and to_regnamespace(quote_ident(database_schema)) is not null for key share`),
  );
  if (row !== undefined) await raiseBeside(session, id, row.schema);
}

/** How many of the files have run for the workspace; undefined when it is gone. */
export async function stageOfWorkspace(session: Pick<Session, 'query'>, id: string): Promise<number | undefined> {
  const [row] = await session.query<{ stage: number }>(
    toQuery(sql`select wda.workspace_stage(database_schema) as stage from wda.workspace where id = ${id}::bigint`),
  );
  return row?.stage;
}

/** For work that does not begin with a snapshot. */
export async function raiseIfBehind(db: Database, id: string, place?: Place): Promise<void> {
  const [row] = await db.query<{ schema: string }>(
    toQuery(sql`select database_schema as schema from wda.workspace where id = ${id}::bigint`),
  );
  if (row !== undefined && isBehind(await loadStage(db, row.schema, { tenant: id, place })))
    await raiseWorkspace(db, id);
}

// Looking at a workspace takes 0.05 ms, raising one 20.
const LOOKED_AT = 500;
const RAISED = 20;
const PAUSE_MS = 1000;
const DONE_MS = 3_600_000;

export interface Raising {
  /** The next workspaces by their ids. Gives how many of them were raised. */
  turn(): Promise<number>;
  /** Milliseconds until the next turn: when all have been looked at, only restored ones can be behind. */
  pauseMs(): number;
}

/** Raises all workspaces of a database, some at a time; none while a node of a cluster, `nodes`, is silent. */
export function makeRaising(db: Database, nodes: Pick<Place, 'isAway'> | undefined): Raising {
  let after = '0';
  let isDone = false;
  return {
    async turn() {
      // The statement below asks all of them, by a function that nothing ends while one is silent.
      if (nodes?.isAway() === true) return 0;
      const rows = await db.query<{ id: string; stage: number }>(
        toQuery(sql`select id, wda.workspace_stage(database_schema) as stage from wda.workspace
where id > ${after}::bigint order by id limit ${LOOKED_AT}::int8`),
      );
      let raised = 0;
      for (const { id, stage } of rows) {
        after = id;
        if (!isBehind(stage)) continue;
        await raiseWorkspace(db, id);
        if (++raised === RAISED) return raised;
      }
      isDone = rows.length < LOOKED_AT;
      if (isDone) after = '0';
      return raised;
    },
    pauseMs: () => (isDone ? DONE_MS : PAUSE_MS),
  };
}
