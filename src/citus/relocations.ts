// Moves in the control tables: what was asked for, and how it ended. Also where workspaces lie, by their slugs.
import type { Session } from '../db/pool.ts';
import type { Actor } from '../directory/activity.ts';
import { loadPage, type PageOf } from '../directory/pages.ts';
import { WORKSPACES } from '../directory/workspaces.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { PLACEMENTS } from './placements.ts';

type Runs = Pick<Session, 'query'>;

export type MoveState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';

export interface Move {
  readonly id: string;
  readonly workspaceId: string;
  readonly databaseSchema: string;
  readonly organization: string;
  readonly workspace: string;
  /** `host:port` of nodes. */
  readonly source: string;
  readonly target: string;
  readonly state: MoveState;
  /** When it was asked for; null: the node did not tell. */
  readonly bytes: string | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly cancelRequested: boolean;
  readonly createdBy: Actor;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export interface NewMove {
  readonly workspaceId: string;
  readonly source: string;
  readonly target: string;
  readonly bytes: number | null;
}

/** A workspace with its node. */
export interface PlacedWorkspace {
  readonly id: string;
  readonly organization: string;
  readonly workspace: string;
  readonly databaseSchema: string;
  readonly node: string;
}

// Some kilobytes of history; those that have not ended are kept however many they are.
const KEPT_MOVES = 1000;

const COLUMNS: Fragment = sql`m.id, m.workspace_id as "workspaceId", w.database_schema as "databaseSchema", o.slug as organization, w.slug as workspace,
  m.source, m.target, m.state, m.bytes, m.attempts, m.error, m.cancel_requested as "cancelRequested", m.created_by as "createdBy",
  m.created_at as "createdAt", m.started_at as "startedAt", m.finished_at as "finishedAt"`;
const MOVES: Fragment = sql`${WORKSPACES} join wda.move m on m.workspace_id = w.id`;
const IS_OPEN: Fragment = sql`m.state in ('pending', 'running')`;

export const isOpen = ({ state }: Pick<Move, 'state'>): boolean => state === 'pending' || state === 'running';

/** Newest first. */
export const loadMoves = (db: Runs, page: { readonly page: number; readonly size: number }): Promise<PageOf<Move>> =>
  loadPage(db, sql`select ${COLUMNS} from ${MOVES}`, page, true);

export async function findMove(db: Runs, id: string): Promise<Move | undefined> {
  const [move] = await db.query<Move>(toQuery(sql`select ${COLUMNS} from ${MOVES} where m.id = ${id}`));
  return move;
}

/** In their order. */
export const loadMovesOf = (db: Runs, ids: readonly string[]): Promise<Move[]> =>
  db.query<Move>(toQuery(sql`select ${COLUMNS} from ${MOVES} where m.id = any(${ids}::int8[]) order by m.id`));

/** Those that have not ended, in their order; the one that was begun comes first. */
export const loadOpenMoves = (db: Runs, limit: number): Promise<Move[]> =>
  db.query<Move>(
    toQuery(sql`select ${COLUMNS} from ${MOVES} where ${IS_OPEN} order by m.state <> 'running', m.id limit ${limit}`),
  );

/**
 * Notes moves that are to be done in this order, and gives their ids. A workspace that has one already is left out.
 * `createdBy`: who asked.
 */
export async function insertMoves(session: Runs, moves: readonly NewMove[], createdBy: Actor): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    toQuery(sql`insert into wda.move (workspace_id, source, target, bytes, created_by)
select t.workspace_id, t.source, t.target, t.bytes, ${JSON.stringify(createdBy)}::jsonb
from unnest(${moves.map((one) => one.workspaceId)}::int8[], ${moves.map((one) => one.source)}::text[],
  ${moves.map((one) => one.target)}::text[], ${moves.map((one) => one.bytes)}::int8[])
  with ordinality t(workspace_id, source, target, bytes, number)
order by t.number
on conflict (workspace_id) where state in ('pending', 'running') do nothing
returning id`),
  );
  await session.query(
    toQuery(sql`delete from wda.move m where not (${IS_OPEN})
  and m.id <= (select max(id) from wda.move) - ${KEPT_MOVES}`),
  );
  return rows.map(({ id }) => id);
}

/** The move of the workspace that has not ended. */
export async function openMoveOf(session: Runs, workspaceId: string): Promise<Move | undefined> {
  const [move] = await session.query<Move>(
    toQuery(sql`select ${COLUMNS} from ${MOVES} where ${IS_OPEN} and m.workspace_id = ${workspaceId}`),
  );
  return move;
}

/** A pending move ends at once; of a running one whoever does it is asked to stop. False when it has ended. */
export async function requestCancelOfMove(session: Runs, id: string): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`update wda.move m set cancel_requested = true,
  state = case state when 'pending' then 'cancelled' else state end,
  finished_at = case state when 'pending' then clock_timestamp() end
where m.id = ${id} and ${IS_OPEN} returning id`),
  );
  return rows.length > 0;
}

/* ---- for the mover, which alone moves the state of what has begun ---- */

export async function beginMove(session: Runs, id: string, source: string): Promise<void> {
  await session.query(
    toQuery(sql`update wda.move set state = 'running', attempts = attempts + 1, source = ${source},
  started_at = coalesce(started_at, clock_timestamp()) where id = ${id}`),
  );
}

export async function endMove(
  session: Runs,
  id: string,
  state: Exclude<MoveState, 'pending' | 'running'>,
  error: string | null = null,
): Promise<void> {
  await session.query(
    toQuery(
      sql`update wda.move set state = ${state}, error = ${error}, finished_at = clock_timestamp() where id = ${id}`,
    ),
  );
}

/* ---- where workspaces lie ---- */

/** The oldest first; `node`: those that lie there. */
export function loadPlaced(
  db: Runs,
  page: { readonly page: number; readonly size: number },
  node: string | undefined,
): Promise<PageOf<PlacedWorkspace>> {
  const there = node === undefined ? sql`true` : sql`p.node = ${node}`;
  return loadPage(db, sql`${PLACED} where ${there}`, page);
}

const PLACED: Fragment = sql`select w.id, o.slug as organization, w.slug as workspace, w.database_schema as "databaseSchema", p.node
from ${WORKSPACES} join (${PLACEMENTS}) p on p.schema = w.database_schema`;

/** All of them, for the plan of a rebalance. */
export const loadAllPlaced = (db: Runs): Promise<PlacedWorkspace[]> => db.query<PlacedWorkspace>(toQuery(PLACED));

/* ---- `wda.workspace.moves`: how many moves have begun or ended. Part of the versions of records (relocate.ts) ---- */

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
