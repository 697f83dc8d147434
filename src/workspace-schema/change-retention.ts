// Removes changes of records that are kept long enough, in every workspace, some at a time: those of feeds beyond hours or
// bytes, those of history beyond its days. Each batch is a statement and a transaction of its own, and touches only rows that
// no writer touches. install/changes has the tables.
import { isStaleSnapshot } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { type Fragment, type Query, sql, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';
import { type ChangeFigures, measureChanges } from './change-figures.ts';
import { numberChanges } from './change-numbering.ts';
import { type ReportInterruption, watchTriggers } from './change-triggers.ts';

export interface RetentionLimits {
  /** Hours for which changes are kept for feeds. */
  readonly hours: number;
  /** Most bytes of the changes of a workspace, without history. */
  readonly maxBytes: number;
  /** Days of history where an entity does not configure them. */
  readonly historyDays: number;
}

export interface ChangeRetention {
  /** Gives positions to new changes and removes old ones, in the next workspaces. */
  readonly sweep: () => Promise<void>;
  /** Milliseconds until the next sweep: fewer while there are workspaces left. */
  readonly pauseMs: () => number;
  readonly getMetrics: () => readonly Metric[];
}

/** A workspace that keeps changes, or has kept some. */
export interface ChangedWorkspace {
  readonly id: string;
  readonly schema: string;
}

/** Loads the workspaces after an id, `limit` at most. */
export type LoadChangedWorkspaces = (after: string, limit: number) => Promise<readonly ChangedWorkspace[]>;

const WORKSPACES_PER_RUN = 100;
const ROUND_MS = 60_000;
const RUN_PAUSE_MS = 1000;
// A round that looks through history, too.
const HISTORY_ROUND_MS = 86_400_000;
const BATCH_SIZE = 1000;
// Changes whose sizes are an estimate of those of all.
const SAMPLE_SIZE = 2000;
// Bytes of a change besides its images, with its position and its parts of indexes.
const ROW_BYTES = 250;

/** First number of advisory locks on the removal of changes: "wdc" in ASCII. */
const LOCK_CLASS = 0x776463;

export interface RetentionOptions {
  /** Milliseconds of a clock that does not go back. */
  readonly now?: () => number;
  readonly report?: ReportInterruption;
}

export function makeChangeRetention(
  db: Database,
  loadWorkspaces: LoadChangedWorkspaces,
  { hours, maxBytes, historyDays }: RetentionLimits,
  { now = () => performance.now(), report = () => undefined }: RetentionOptions = {},
): ChangeRetention {
  let lastWorkspace = '0';
  let historyAt = 0;
  let isHistoryRound = true;
  let removed = 0;
  let round = NO_FIGURES;
  let figures = NO_FIGURES;

  async function queryRow<T>(query: Query): Promise<T> {
    const [row] = await db.query<T>(query);
    return row as T;
  }

  async function sweepWorkspace({ schema }: ChangedWorkspace): Promise<void> {
    const interrupted = await watchTriggers(db, schema, report);
    const run = async (query: Query): Promise<readonly unknown[]> => Object.values(await queryRow<object>(query));
    // Without numbering the figures say since when.
    const failure: unknown = await numberChanges(run, schema).catch((error) => error);
    const { bytes: onDisk, ...unnumbered } = await queryRow<ChangeFigures>(measureChanges(schema));
    round = addFigures(round, { bytes: onDisk, ...unnumbered, interrupted });
    if (failure !== undefined) throw failure;
    // Space of removed rows is used again, and counts on the disk only.
    const { target } =
      onDisk <= maxBytes ? { target: '0' } : await queryRow<{ target: string }>(findTarget(schema, maxBytes));
    for (;;) {
      const batch = await queryRow<{ looked: number; removed: number }>(removeChanges(schema, hours, target));
      removed += batch.removed;
      if (batch.looked < BATCH_SIZE) break;
    }
    if (isHistoryRound) await sweepHistory(schema);
  }

  async function sweepHistory(schema: string): Promise<void> {
    for (let after: string | null = '0'; after !== null; ) {
      const batch: { removed: number; next: string | null } = await queryRow(removeHistory(schema, after, historyDays));
      removed += batch.removed;
      after = batch.next;
    }
    for (const query of removeNotes(schema)) await db.query(query);
  }

  return {
    async sweep() {
      const workspaces = await loadWorkspaces(lastWorkspace, WORKSPACES_PER_RUN);
      for (const workspace of workspaces) {
        lastWorkspace = workspace.id;
        await sweepWorkspace(workspace).catch((error) => {
          // The workspace was deleted.
          if (!isStaleSnapshot(error)) throw error;
        });
      }
      if (workspaces.length === WORKSPACES_PER_RUN) return;
      lastWorkspace = '0';
      figures = round;
      round = NO_FIGURES;
      if (isHistoryRound) historyAt = now() + HISTORY_ROUND_MS;
      isHistoryRound = now() >= historyAt;
    },
    pauseMs: () => (lastWorkspace === '0' ? ROUND_MS : RUN_PAUSE_MS),
    getMetrics: () => [
      { name: 'wda_changes_removed_total', help: 'Changes of records whose time was over', read: () => removed },
      {
        name: 'wda_changes_bytes',
        help: 'Bytes on disk of changes of records, measured every minute',
        aggregator: 'max',
        read: () => figures.bytes,
      },
      {
        name: 'wda_changes_unnumbered',
        help: 'Changes that no reader sees yet although they are committed, counted every minute up to 10,000 of a workspace',
        aggregator: 'max',
        read: () => figures.unnumbered,
      },
      {
        name: 'wda_changes_lag_seconds',
        help: 'Age of the oldest of them',
        aggregator: 'max',
        read: () => figures.lagSeconds,
      },
      {
        name: 'wda_changes_interrupted',
        help: 'Tables whose changes are not kept, as their triggers were disabled or dropped by SQL',
        aggregator: 'max',
        read: () => figures.interrupted,
      },
    ],
  };
}

interface RoundFigures extends ChangeFigures {
  readonly interrupted: number;
}

const NO_FIGURES: RoundFigures = { bytes: 0, unnumbered: 0, lagSeconds: 0, interrupted: 0 };

const addFigures = (one: RoundFigures, other: RoundFigures): RoundFigures => ({
  bytes: one.bytes + other.bytes,
  unnumbered: one.unnumbered + other.unnumbered,
  lagSeconds: Math.max(one.lagSeconds, other.lagSeconds),
  interrupted: one.interrupted + other.interrupted,
});

/** Locks for the statement; without the lock it does nothing, as another process is at it. */
const isAlone = (schema: string): Fragment =>
  sql`pg_try_advisory_xact_lock(${String(LOCK_CLASS)}::int4, hashtext(${schema}))`;

/** Renders the entities whose changes are kept as history. A dropped one has none. */
const selectHistoryEntities = (schema: string): Fragment =>
  sql`select number, history_days from ${internalRef(schema, 'changed_entity')} where is_history and relation is not null`;

/**
 * Finds the position up to which the changes after it are more than the bytes, without those of history; 0: none are. The
 * sizes are those of a sample.
 */
function findTarget(schema: string, maxBytes: number): Query {
  const change = internalRef(schema, 'change');
  const position = internalRef(schema, 'change_position');
  const size = String(SAMPLE_SIZE);
  const bytes = sql`case when c.entity not in (select number from (${selectHistoryEntities(schema)}) e)
  then ${String(ROW_BYTES)}::int8 + coalesce(pg_column_size(c.old), 0) + coalesce(pg_column_size(c.new), 0) else 0 end`;
  return toQuery(sql`with p as materialized (
  select expired, greatest(coalesce((select max(pos) from ${position}), 0) - expired, 0) as count from ${internalRef(schema, 'change_progress')}
), s as materialized (
  select distinct p.expired + case when p.count <= ${size}::int8 then n else 1 + floor(random() * p.count)::int8 end as pos
  from p, generate_series(1, least(p.count, ${size}::int8)) n
), b as (
  select o.pos, sum(${bytes}) over (order by o.pos desc) as rest
  from s join ${position} o on o.pos = s.pos join ${change} c on c.xid = o.xid and c.seq = o.seq
)
select coalesce(max(b.pos), 0)::text as target from b, p
where b.rest * p.count / (select count(*) from s) > ${String(maxBytes)}::int8`);
}

/**
 * Removes the next changes that are older than the hours, or that are not after the position `target`, but those of
 * history; readers are answered 410 from there on. Positions are looked at in their order.
 */
function removeChanges(schema: string, hours: number, target: string): Query {
  const change = internalRef(schema, 'change');
  const position = internalRef(schema, 'change_position');
  const progress = internalRef(schema, 'change_progress');
  return toQuery(sql`with p as materialized (
  select expired from ${progress} where ${isAlone(schema)}
), look as materialized (
  select o.pos, o.xid, o.seq, c.at, c.entity from p
  cross join lateral (select * from ${position} o where o.pos > p.expired order by o.pos limit ${String(BATCH_SIZE)}::int8) o
  left join ${change} c on c.xid = o.xid and c.seq = o.seq
), edge as (
  select coalesce(min(pos) - 1, (select max(pos) from look)) as upto from look
  where pos > ${target}::int8 and at >= now() - make_interval(hours => ${String(hours)}::int4)
), past as materialized (
  select l.* from look l, edge e where l.pos <= e.upto
), gone as materialized (
  select * from past where entity is null or entity not in (select number from (${selectHistoryEntities(schema)}) h)
), changes as (
  delete from ${change} c using gone g where c.xid = g.xid and c.seq = g.seq
), positions as (
  delete from ${position} o using gone g where o.pos = g.pos
), noted as (
  update ${progress} set expired = e.upto from edge e where e.upto > expired
)
select (select count(*) from past)::int4 as looked, (select count(*) from gone)::int4 as removed`);
}

/**
 * Removes the next changes whose days of history are over, or that are history no longer. Returns the position after which
 * to go on, or null at the end: where all are younger than the shortest history.
 */
function removeHistory(schema: string, after: string, days: number): Query {
  const change = internalRef(schema, 'change');
  const position = internalRef(schema, 'change_position');
  return toQuery(sql`with look as materialized (
  select o.pos, o.xid, o.seq, c.at, c.entity
  from (select o.* from ${position} o where ${isAlone(schema)} and o.pos > ${after}::int8
    and o.pos <= (select expired from ${internalRef(schema, 'change_progress')}) order by o.pos limit ${String(BATCH_SIZE)}::int8) o
  left join ${change} c on c.xid = o.xid and c.seq = o.seq
), due as materialized (
  select e.number, case when h.number is null then 'infinity'::timestamptz else now() - make_interval(days => coalesce(h.history_days, ${String(days)}::int4)) end as until
  from ${internalRef(schema, 'changed_entity')} e left join (${selectHistoryEntities(schema)}) h on h.number = e.number
), gone as materialized (
  select l.* from look l left join due d on d.number = l.entity where d.number is null or l.at < d.until
), changes as (
  delete from ${change} c using gone g where c.xid = g.xid and c.seq = g.seq
), positions as (
  delete from ${position} o using gone g where o.pos = g.pos
)
select (select count(*) from gone)::int4 as removed,
  (select max(pos) from look having count(*) = ${String(BATCH_SIZE)}::int8 and min(at) < (select max(until) from due))::text as next`);
}

/** Removes notes for images that are gone, and dropped entities without changes. */
function removeNotes(schema: string): readonly Query[] {
  const change = internalRef(schema, 'change');
  return [
    toQuery(
      sql`delete from ${internalRef(schema, 'changed_column')} n where not exists (select from ${change} c where c.entity = n.entity and c.seq <= n.seq)`,
    ),
    toQuery(
      sql`delete from ${internalRef(schema, 'changed_entity')} e where e.relation is null and not exists (select from ${change} c where c.entity = e.number)`,
    ),
  ];
}
