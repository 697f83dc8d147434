// Use of workspaces: how many records and bytes they have now, and requests, records and bytes by day. No write counts a
// table: a measurement reads totals that are kept, and counts tables of at most some thousand records.
import type { Database, Session } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import type { Workspace } from '../model/workspace.ts';
import { type Fragment, join, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import type { Databases } from './databases.ts';
import { loadUsedSpace, loadWorkspaceStatistics } from './statistics.ts';

export interface Usage {
  readonly records: number;
  /** Bytes of tables and indexes on disk. */
  readonly bytes: number;
  /** Whether all records were counted: an estimate may not know of what was added in the last seconds. */
  readonly exact: boolean;
}

// Tables with more records are not counted: their totals are kept from the first measurement on. 10,000 take 1 ms.
const MAX_COUNTED = 10_000;

/** Measures a workspace. `keepTotal`: starts to keep the total of an entity, in the background. */
export async function measureUsage(
  databases: Databases,
  { id, entities }: Pick<Workspace, 'id' | 'entities'>,
  keepTotal: (entity: Entity) => void,
): Promise<Usage> {
  const db = databases.forWorkspace({ id });
  const statistics = await loadUsedSpace(db, id, databases.topology);
  const uncounted = statistics.flatMap((one) => {
    const entity = one.exact ? undefined : entities.get(one.entity);
    return entity === undefined || one.records > 2 * MAX_COUNTED ? [] : [entity];
  });
  const counts = await countSmall(db, uncounted);
  let [records, bytes, exact] = [0, 0, true];
  for (const one of statistics) {
    const count = counts.get(one.entity);
    const entity = entities.get(one.entity);
    const isCounted = one.exact || (count !== undefined && count <= MAX_COUNTED);
    if (!isCounted && entity !== undefined) keepTotal(entity);
    exact &&= isCounted;
    records += one.exact ? one.records : isCounted ? (count as number) : Math.max(one.records, count ?? 0);
    bytes += one.tableBytes + one.indexBytes;
  }
  return { records, bytes, exact };
}

/** Counts the records of each entity, one more than MAX_COUNTED at most. */
async function countSmall(db: Database, entities: readonly Entity[]): Promise<ReadonlyMap<string, number>> {
  if (entities.length === 0) return new Map();
  const selects = entities.map(
    ({ name, table }): Fragment =>
      sql`select ${literal(name)} as entity, count(*)::float8 as count from (select from ${tableRef(table)} limit ${String(MAX_COUNTED + 1)}::int8) t`,
  );
  const rows = await db.query<{ entity: string; count: number }>(toQuery(join(selects, '\nunion all ')));
  return new Map(rows.map(({ entity, count }) => [entity, count]));
}

/* ---- days ---- */

// Days that are kept, today included.
const MAX_DAYS = 90;
// 100 workspaces of 20 tables take 0.14 s.
const MEASURED_AT_ONCE = 100;
const MAX_BATCHES = 20;
const TODAY = sql`(now() at time zone 'UTC')::date`;

export interface UsageDay {
  /** Date in UTC, such as 2026-01-31. */
  readonly date: string;
  readonly requests: number;
  /** Null while the workspace has not been measured on that day. */
  readonly records: number | null;
  readonly bytes: number | null;
}

/** Loads the days on which the workspace was used, the oldest first. */
export const loadUsageDays = (db: Database, workspaceId: string): Promise<readonly UsageDay[]> =>
  db.query<UsageDay>(
    toQuery(sql`select to_char(day, 'YYYY-MM-DD') as date, requests::float8, records::float8, bytes::float8
from wda.usage_day where workspace_id = ${workspaceId} and day > ${TODAY} - ${String(MAX_DAYS)}::int4 order by day`),
  );

/** Adds requests to the day; those of deleted workspaces are dropped. */
export async function addRequests(db: Database, counts: ReadonlyMap<string, number>): Promise<void> {
  await db.query(
    toQuery(sql`insert into wda.usage_day as d (workspace_id, day, requests)
select w.id, ${TODAY}, c.requests from unnest(${[...counts.keys()]}::int8[], ${[...counts.values()].map(String)}::int8[]) c (id, requests)
join wda.workspace w on w.id = c.id order by w.id
on conflict (workspace_id, day) do update set requests = d.requests + excluded.requests`),
  );
}

/** Stores the size of the workspaces that were used today since they were measured, and removes old days. */
export async function measureDays(session: Session, databases: Databases): Promise<void> {
  await session.query(toQuery(sql`delete from wda.usage_day where day <= ${TODAY} - ${String(MAX_DAYS)}::int4`));
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const rows = await session.query<{ id: string; requests: string }>(
      toQuery(sql`select workspace_id::text as id, requests::text from wda.usage_day
where day = ${TODAY} and measured_requests is distinct from requests order by measured_at nulls first, workspace_id
limit ${String(MEASURED_AT_ONCE)}::int8`),
    );
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    const sizes = await loadWorkspaceStatistics(databases.directory, ids, 'usage', databases.topology);
    const sums = ids.map((id) => {
      const one = sizes.get(id);
      return one === undefined ? [null, null] : [String(one.records), String(one.tableBytes + one.indexBytes)];
    });
    await session.query(
      toQuery(sql`update wda.usage_day d set records = coalesce(s.records, d.records), bytes = coalesce(s.bytes, d.bytes),
  measured_requests = s.requests, measured_at = clock_timestamp()
from unnest(${ids}::int8[], ${rows.map(({ requests }) => requests)}::int8[], ${sums.map(([records]) => records)}::int8[],
  ${sums.map(([, bytes]) => bytes)}::int8[]) s (id, requests, records, bytes)
where d.workspace_id = s.id and d.day = ${TODAY}`),
    );
    if (rows.length < MEASURED_AT_ONCE) return;
  }
}
