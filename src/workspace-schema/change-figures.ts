// Figures of the changes of a workspace, for metrics and administrators: how much is kept, since when, and how much waits.
import type { Database } from '../database/pool.ts';
import { type Fragment, integerLiteral, type Query, sql, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';
import { NO_TRANSACTION } from './history-copy.ts';

/** Figures of the changes that are kept, and of those that have no position yet. */
export interface ChangeFigures {
  readonly bytes: number;
  /** Changes without a position, 10,000 at most, and the age of the oldest one, or 0. */
  readonly unnumbered: number;
  readonly lagSeconds: number;
}

const MAX_COUNTED = 10_000;

/** Selects the figures of a workspace, see ChangeFigures: what the last numbering has not seen is read by an index. */
export function measureChanges(schema: string): Query {
  const change = internalRef(schema, 'change');
  const seen = sql`(select seen from ${internalRef(schema, 'change_progress')})`;
  const unnumbered = sql`select at from (
  select c.at from ${change} c where c.xid >= pg_snapshot_xmax(${seen}) and c.xid < ${NO_TRANSACTION}::text::xid8
  union all
  select c.at from ${change} c where c.xid = any(array(select pg_snapshot_xip(${seen})))
) c limit ${integerLiteral(MAX_COUNTED)}`;
  return toQuery(sql`select (${measureDisk(schema)})::float8 as bytes, count(*)::float8 as unnumbered,
  coalesce(extract(epoch from clock_timestamp() - min(u.at)), 0)::float8 as "lagSeconds" from (${unnumbered}) u`);
}

/** Renders the bytes on disk of the changes of a workspace. */
function measureDisk(schema: string): Fragment {
  const size = (name: 'change' | 'change_position'): Fragment =>
    sql`coalesce(pg_total_relation_size(to_regclass(${internalRef(schema, name).text})), 0)`;
  return sql`${size('change')} + ${size('change_position')}`;
}

/** Changes that a workspace keeps. */
export interface KeptFigures extends ChangeFigures {
  /** Time of the oldest change that feeds have. */
  readonly oldest: Date | null;
  /** Time since which all changes of a table are there, by its name. */
  readonly since: ReadonlyMap<string, Date>;
}

/** Loads what a workspace keeps; it must have the tables of changes. */
export async function loadKeptFigures(db: Pick<Database, 'query'>, schema: string): Promise<KeptFigures> {
  const [figures] = await db.query<ChangeFigures>(measureChanges(schema));
  const tables = await db.query<{ name: string; since: Date }>(
    toQuery(
      sql`select relation as name, since from ${internalRef(schema, 'changed_entity')} where is_kept and relation is not null`,
    ),
  );
  const [first] = await db.query<{ at: Date }>(
    toQuery(sql`select c.at from ${internalRef(schema, 'change_position')} o join ${internalRef(schema, 'change')} c on c.seq = o.seq
where o.pos > (select expired from ${internalRef(schema, 'change_progress')}) order by o.pos limit 1`),
  );
  const since = new Map(tables.map((one) => [one.name, one.since]));
  return { ...(figures as ChangeFigures), oldest: first?.at ?? null, since };
}
