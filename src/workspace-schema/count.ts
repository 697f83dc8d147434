// Counts the records of a table for its stored total, in one snapshot and without blocking writers: first for the base,
// later to repair drift caused by writes that bypassed the triggers.

import type { Database, Session } from '../database/pool.ts';
import { inSnapshot, inTransaction, LOCK_BUDGET_MS, lockTable, withLockRetry } from '../database/transaction.ts';
import type { EntityTable } from '../model/entity.ts';
import { empty, type Fragment, integerLiteral, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import { getTotalKey, LOCK_CLASS, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import {
  buildWatcher,
  type InstalledTrigger,
  repairTriggers,
  selectInstalledTriggers,
  type Trigger,
} from './trigger.ts';

/** A total that was wrong, and is repaired. */
export interface Difference {
  readonly relation: string;
  readonly storedTotal: string;
  readonly actualTotal: string;
}

/** A table by its name in the database, or on the queried node of the cluster. */
export type TotalTable = Pick<EntityTable, 'schema' | 'name' | 'total'>;

/** Totals on a node of a cluster, where tables and functions have other names. */
export interface NodeTotals {
  /** Group id of the node. */
  readonly group: string;
  /** Query for the locations of stored totals: rows of (schema, shard, outdated). */
  readonly totalsQuery: Fragment;
  /** Parses the name of a table from the `relation` of its stored total. */
  readonly parseTableName: (storedName: string) => string;
  /** Statements that create the functions of the totals, for a transaction. */
  readonly install: (location: Required<TotalLocation>) => readonly string[];
  /** Builds the condition that the tables are in use. */
  readonly isInUse: (location: Required<TotalLocation>) => Fragment;
  /** Statements before a table is locked. */
  readonly lockable: Fragment;
}

interface CountOptions {
  readonly signal: AbortSignal;
  readonly node?: NodeTotals | undefined;
}

/** `first`: there is no total yet. `again`: checks the total. */
export type CountReason = 'first' | 'again';

/** A count under the lock of its table. */
interface Count extends CountOptions {
  readonly session: Session;
  readonly table: TotalTable;
  /** The oid of the table. */
  readonly relid: string;
  readonly reason: CountReason;
}

// Second numbers of advisory locks: 1 serializes recounts, else the oid of a table; that of the totals themselves
// serializes folds.
const RECOUNT_LOCK = 1;
// 64 MB: 0.05 to 0.1 s from memory. Between two slices waiting sessions proceed.
const SLICE_PAGES = 8192;
// A total is checked each hour, and for at most a fiftieth of the time.
const MIN_PAUSE_S = 3600;
const PAUSE_FACTOR = 50;
const RETRY_AFTER_S = 600;

/**
 * Stores the total of a table, or checks it. Does nothing where no total may be stored, for a dropped table, and while
 * another session does it; only one process recounts at a time. Returns the difference, if any.
 */
export async function recount(
  db: Database,
  table: TotalTable,
  reason: CountReason,
  options: CountOptions,
): Promise<Difference | undefined> {
  return db.session(
    async (session) => {
      try {
        const relid = await tryLockTable(session, table, reason);
        return relid === undefined ? undefined : await countLocked({ ...options, session, table, relid, reason });
      } finally {
        await session
          .query(toQuery(sql`select pg_advisory_unlock_all()`))
          // This message makes the pool drop the connection, and with it the lock.
          .catch((error) =>
            Promise.reject(new Error('connection terminated: the lock was not given back', { cause: error })),
          );
      }
    },
    { purpose: 'migration' },
  );
}

async function countLocked(count: Count): Promise<Difference | undefined> {
  const { session, signal } = count;
  const isReady = await withLockRetry(() => inTransaction(session, LOCK_BUDGET_MS, () => prepare(count)), {
    isCancelled: async () => signal.aborted,
  });
  if (!isReady) return undefined;
  const started = performance.now();
  let pauseS = RETRY_AFTER_S;
  try {
    const difference = await countInSnapshot(count);
    pauseS = Math.max(MIN_PAUSE_S, (PAUSE_FACTOR * (performance.now() - started)) / 1000);
    return difference;
  } catch (error) {
    if (error instanceof CountAborted) return undefined;
    throw error;
  } finally {
    // A total that stays due is only counted again sooner.
    await scheduleRecount(count, pauseS).catch(() => undefined);
  }
}

/** Signals that a session waits for a lock on the table, or that the server stops. */
class CountAborted extends Error {}

const getTotalsTable = (location: TotalLocation): Fragment => totalRef(location, 'total');

/** Prevents folds of the workspace's totals until the transaction ends. */
const lockFolds = (table: TotalLocation): Fragment =>
  sql`select pg_advisory_xact_lock(${LOCK_CLASS}::int4, ${literal(getTotalsTable(table).text)}::regclass::oid::int4)`;

/** Locks the table for this session and returns its oid, or undefined if it was dropped or is locked by another one. */
async function tryLockTable(session: Session, table: TotalTable, reason: CountReason): Promise<string | undefined> {
  const recountLock =
    reason === 'again' ? sql`pg_try_advisory_lock(${LOCK_CLASS}::int4, ${RECOUNT_LOCK}::int4) and ` : empty;
  const [row] = await session.query<{ relid: string }>(
    toQuery(sql`select relid::int8 as relid from (select to_regclass(${tableRef(table).text})::oid as relid) t
where relid is not null and case when ${recountLock}true then pg_try_advisory_lock(${LOCK_CLASS}::int4, relid::int4) end`),
  );
  return row?.relid;
}

/**
 * Creates missing triggers, and makes those fire always that a setting could silence; removes an untrustworthy base.
 * False where no total may be stored: disabled triggers are left alone, and logical replication fires none for
 * statements. Creating a trigger waits for running writes.
 */
async function prepare({ session, table, relid, reason, node }: Count): Promise<boolean> {
  const { schema, total } = table;
  const totals = getTotalsTable(table);
  const location = node === undefined || total === undefined ? undefined : { schema, total };
  if (location !== undefined && reason === 'first') {
    await session.query(toQuery(lockFolds(table)));
    for (const statement of node?.install(location) ?? []) await session.execute(statement);
  }
  const isInUse = (location && node?.isInUse(location)) ?? sql`true`;
  const [row] = await session.query<{ triggers: InstalledTrigger[]; may: boolean }>(
    toQuery(sql`select ${selectInstalledTriggers(sql`${relid}::oid`, 'total')} as triggers,
  ${isInUse} and not exists (select from pg_subscription_rel where srrelid = ${relid}::oid) as may`),
  );
  const { triggers, may } = row as NonNullable<typeof row>;
  const changes = may ? repairTriggers(table, totalTriggers(table), triggers) : undefined;
  if (changes === undefined) return false;
  if (reason === 'first') await reserveSpace(session, table);
  for (const change of changes) await session.execute(change.text);
  await session.query(toQuery(lockFolds(table)));
  await session.query(
    toQuery(sql`delete from ${totals} where relid = ${relid}::oid and not (select ${isTotalTrusted(table, relid)})`),
  );
  const [base] = await session.query(toQuery(sql`select from ${totals} where relid = ${relid}::oid and slot < 0`));
  // Another process was faster.
  return reason === 'again' || base === undefined;
}

const isTotalTrusted = (location: TotalLocation, relid: string): Fragment =>
  sql`${totalRef(location, 'is_total_kept')}(${relid}::oid)`;

// 37 pages.
const RESERVED_ROWS = 5000;

/**
 * Reserves some pages for totals before the first one: a table of a few pages is read by a sequential scan, a plan that
 * a connection caches even when the table has grown. Setting the same option again invalidates cached plans.
 */
async function reserveSpace(session: Session, table: TotalTable): Promise<void> {
  const totals = getTotalsTable(table);
  const [small] = await session.query(
    toQuery(
      sql`select where pg_relation_size(${literal(totals.text)}::regclass) < 32 * current_setting('block_size')::int8`,
    ),
  );
  if (small === undefined) return;
  await session.query(
    toQuery(
      sql`insert into ${totals} (relid, slot, n, relation) select 0, 0, 0, '' from generate_series(1, ${integerLiteral(RESERVED_ROWS)})`,
    ),
  );
  await session.query(toQuery(sql`delete from ${totals} where relid = 0`));
  await session.execute(sql`alter table ${totals} set (vacuum_truncate = false)`.text);
}

/** Triggers that add the number of records that a statement has inserted or deleted. */
export const totalTriggers = (table: TotalTable): readonly Trigger[] =>
  (['insert', 'delete', 'truncate'] as const).map((event) =>
    buildWatcher(table, 'total', event, totalRef(table, 'count_records')),
  );

/**
 * Counts in one snapshot, which contains both the records and the rows that the triggers add since they exist. The
 * lock, taken before the snapshot, prevents a truncation, which no snapshot would show.
 */
async function countInSnapshot({ session, table, relid, signal, node }: Count): Promise<Difference | undefined> {
  const lock = sql`${node?.lockable ?? empty}${lockTable(table, 'access share')}`;
  return inSnapshot(session, lock, async () => {
    const [row] = await session.query<{ stored_total: string | null; trusted: boolean; pages: string }>(
      toQuery(sql`select ${totalRef(table, 'total_of')}(${relid}::oid) as stored_total, ${isTotalTrusted(table, relid)} as trusted,
  pg_relation_size(${relid}::oid) / current_setting('block_size')::int8 as pages`),
    );
    const { stored_total: storedTotal, trusted, pages } = row as NonNullable<typeof row>;
    // A base that has become untrustworthy since then is removed by the next check.
    if (storedTotal !== null && !trusted) throw new CountAborted();
    let actualTotal = 0n;
    for (let page = 0; page < Number(pages); page += SLICE_PAGES) {
      if (signal.aborted) throw new CountAborted();
      actualTotal += await countSlice(session, table, relid, page);
    }
    if (storedTotal === null) {
      await session.query(toQuery(storeBase(table, relid, actualTotal)));
      return undefined;
    }
    if (BigInt(storedTotal) === actualTotal) return undefined;
    await session.query(toQuery(storeDifference(table, relid, actualTotal - BigInt(storedTotal))));
    return { relation: `${table.schema}.${table.name}`, storedTotal, actualTotal: String(actualTotal) };
  });
}

async function countSlice(session: Session, table: TotalTable, relid: string, page: number): Promise<bigint> {
  const at = (first: number): Fragment => sql`${literal(`(${Math.min(first, 4_294_967_295)},0)`)}::tid`;
  const [row] = await session.query<{ n: string; awaited: boolean }>(
    toQuery(sql`select count(*) as n, exists (
  select from pg_locks where locktype = 'relation' and relation = ${relid}::oid and not granted
    and database = (select oid from pg_database where datname = current_database())
) as awaited from ${tableRef(table)} where ctid >= ${at(page)} and ctid < ${at(page + SLICE_PAGES)}`),
  );
  const { n, awaited } = row as NonNullable<typeof row>;
  if (awaited) throw new CountAborted();
  return BigInt(n);
}

/** Stores the base. Rows of the triggers in the snapshot are deleted, as their records were counted. */
const storeBase = (table: TotalTable, relid: string, actualTotal: bigint): Fragment => sql`with gone as (
  delete from ${getTotalsTable(table)} where relid = ${relid}::oid
)
insert into ${getTotalsTable(table)} (relid, slot, n, relation, pending, recount_at)
select ${relid}::oid, -17 - pg_snapshot_xmax(pg_current_snapshot())::text::int8, ${String(actualTotal)}::int8, ${getTotalKey(table)},
  array(select 17 + xid::text::int8 from pg_snapshot_xip(pg_current_snapshot()) xid), now() + interval '1 hour'`;

const storeDifference = (table: TotalTable, relid: string, difference: bigint): Fragment =>
  sql`insert into ${getTotalsTable(table)} (relid, slot, n, relation)
select ${relid}::oid, 17 + pg_current_xact_id()::text::int8, ${String(difference)}::int8, ${getTotalKey(table)}`;

/** Schedules the next count of the table. Folds are locked out, as one would replace the base that is marked. */
async function scheduleRecount({ session, table, relid }: Count, seconds: number): Promise<void> {
  await inTransaction(session, 2000, async () => {
    await session.query(toQuery(lockFolds(table)));
    await session.query(
      toQuery(sql`update ${getTotalsTable(table)} set recount_at = clock_timestamp() + ${integerLiteral(Math.ceil(seconds))} * interval '1 second'
where relid = ${relid}::oid and slot < 0 and pending is not null`),
    );
  });
}
