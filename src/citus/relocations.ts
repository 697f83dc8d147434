// Relocations in the control tables: requests and outcomes. Also the nodes of workspaces, by their slugs.
import type { Session } from '../database/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from '../store/activity.ts';
import { loadPage, type PageOf } from '../store/pages.ts';
import { WORKSPACES } from '../store/workspaces.ts';
import { PLACEMENTS } from './placements.ts';

type Queryable = Pick<Session, 'query'>;

export type RelocationState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';

export interface Relocation {
  readonly id: string;
  readonly workspaceId: string;
  readonly databaseSchema: string;
  readonly organization: string;
  readonly workspace: string;
  /** Node, `host:port`. */
  readonly source: string;
  readonly target: string;
  readonly state: RelocationState;
  /** Bytes at the time of the request, or null if the node did not respond. */
  readonly bytes: string | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly cancelRequested: boolean;
  readonly createdBy: Actor;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export interface NewRelocation {
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

// Some kilobytes of history; open relocations are kept however many they are.
const MAX_FINISHED = 1000;

const COLUMNS: Fragment = sql`m.id, m.workspace_id as "workspaceId", w.database_schema as "databaseSchema", o.slug as organization, w.slug as workspace,
  m.source, m.target, m.state, m.bytes, m.attempts, m.error, m.cancel_requested as "cancelRequested", m.created_by as "createdBy",
  m.created_at as "createdAt", m.started_at as "startedAt", m.finished_at as "finishedAt"`;
const RELOCATIONS: Fragment = sql`${WORKSPACES} join wda.move m on m.workspace_id = w.id`;
const IS_OPEN: Fragment = sql`m.state in ('pending', 'running')`;

export const isOpen = ({ state }: Pick<Relocation, 'state'>): boolean => state === 'pending' || state === 'running';

/** Loads relocations, newest first. */
export const loadRelocations = (
  db: Queryable,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Relocation>> => loadPage(db, sql`select ${COLUMNS} from ${RELOCATIONS}`, page, true);

export async function findRelocation(db: Queryable, id: string): Promise<Relocation | undefined> {
  const [relocation] = await db.query<Relocation>(
    toQuery(sql`select ${COLUMNS} from ${RELOCATIONS} where m.id = ${id}`),
  );
  return relocation;
}

/** Loads relocations by their ids, in their order. */
export const loadRelocationsByIds = (db: Queryable, ids: readonly string[]): Promise<Relocation[]> =>
  db.query<Relocation>(
    toQuery(sql`select ${COLUMNS} from ${RELOCATIONS} where m.id = any(${ids}::int8[]) order by m.id`),
  );

/** Loads the open relocations in their order, the running one first. */
export const loadOpenRelocations = (db: Queryable, limit: number): Promise<Relocation[]> =>
  db.query<Relocation>(
    toQuery(
      sql`select ${COLUMNS} from ${RELOCATIONS} where ${IS_OPEN} order by m.state <> 'running', m.id limit ${limit}`,
    ),
  );

/**
 * Stores relocations to be run in this order, and returns their ids. Workspaces with an open one are skipped.
 * `createdBy`: the requesting principal.
 */
export async function insertRelocations(
  session: Queryable,
  relocations: readonly NewRelocation[],
  createdBy: Actor,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    toQuery(sql`insert into wda.move (workspace_id, source, target, bytes, created_by)
select t.workspace_id, t.source, t.target, t.bytes, ${JSON.stringify(createdBy)}::jsonb
from unnest(${relocations.map((one) => one.workspaceId)}::int8[], ${relocations.map((one) => one.source)}::text[],
  ${relocations.map((one) => one.target)}::text[], ${relocations.map((one) => one.bytes)}::int8[])
  with ordinality t(workspace_id, source, target, bytes, number)
order by t.number
on conflict (workspace_id) where state in ('pending', 'running') do nothing
returning id`),
  );
  await session.query(
    toQuery(sql`delete from wda.move m where not (${IS_OPEN})
  and m.id <= (select max(id) from wda.move) - ${MAX_FINISHED}`),
  );
  return rows.map(({ id }) => id);
}

/** Finds the open relocation of the workspace. */
export async function findOpenRelocation(session: Queryable, workspaceId: string): Promise<Relocation | undefined> {
  const [relocation] = await session.query<Relocation>(
    toQuery(sql`select ${COLUMNS} from ${RELOCATIONS} where ${IS_OPEN} and m.workspace_id = ${workspaceId}`),
  );
  return relocation;
}

/** Cancels a pending relocation at once; requests that a running one stops. False when it has ended. */
export async function requestRelocationCancel(session: Queryable, id: string): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`update wda.move m set cancel_requested = true,
  state = case state when 'pending' then 'cancelled' else state end,
  finished_at = case state when 'pending' then clock_timestamp() end
where m.id = ${id} and ${IS_OPEN} returning id`),
  );
  return rows.length > 0;
}

/** ---- state changes of running relocations, by the job alone ---- */

export async function beginRelocation(session: Queryable, id: string, source: string): Promise<void> {
  await session.query(
    toQuery(sql`update wda.move set state = 'running', attempts = attempts + 1, source = ${source},
  started_at = coalesce(started_at, clock_timestamp()) where id = ${id}`),
  );
}

export async function endRelocation(
  session: Queryable,
  id: string,
  state: Exclude<RelocationState, 'pending' | 'running'>,
  error: string | null = null,
): Promise<void> {
  await session.query(
    toQuery(
      sql`update wda.move set state = ${state}, error = ${error}, finished_at = clock_timestamp() where id = ${id}`,
    ),
  );
}

/** ---- nodes of workspaces ---- */

/** Loads the workspaces, oldest first. `node`: only those on it. */
export function loadPlacedWorkspaces(
  db: Queryable,
  page: { readonly page: number; readonly size: number },
  node: string | undefined,
): Promise<PageOf<PlacedWorkspace>> {
  const nodeCondition = node === undefined ? sql`true` : sql`p.node = ${node}`;
  return loadPage(db, sql`${PLACED_WORKSPACES} where ${nodeCondition}`, page);
}

const PLACED_WORKSPACES: Fragment = sql`select w.id, o.slug as organization, w.slug as workspace, w.database_schema as "databaseSchema", p.node
from ${WORKSPACES} join (${PLACEMENTS}) p on p.schema = w.database_schema`;

/** Loads all workspaces, for the plan of a rebalance. */
export const loadAllPlacedWorkspaces = (db: Queryable): Promise<PlacedWorkspace[]> =>
  db.query<PlacedWorkspace>(toQuery(PLACED_WORKSPACES));

/** ---- `wda.workspace.moves`: number of starts and ends of relocations, part of record versions (relocate.ts) ---- */

/** Makes `moves` odd, and returns it with the version of the workspace, or undefined if the workspace was deleted. */
export async function markRelocating(
  session: Queryable,
  workspaceId: string,
): Promise<{ readonly moves: number; readonly version: string } | undefined> {
  const [row] = await session.query<{ moves: number; version: string }>(
    toQuery(sql`update wda.workspace set moves = moves + 1 - moves % 2 where id = ${workspaceId}
returning moves, version::text as version`),
  );
  return row;
}

/** Makes `moves` even; false when it was. */
export async function unmarkRelocating(session: Queryable, workspaceId: string): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`update wda.workspace set moves = moves + 1 where id = ${workspaceId} and moves % 2 = 1 returning id`),
  );
  return rows.length > 0;
}

/** Locks and returns `moves` until the end of the transaction. */
export async function lockMoves(session: Queryable, workspaceId: string): Promise<number | undefined> {
  const [row] = await session.query<{ moves: number }>(
    toQuery(sql`select moves from wda.workspace where id = ${workspaceId} for share`),
  );
  return row?.moves;
}
