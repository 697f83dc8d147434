// Counts the records of a table for its kept total, in one snapshot and beside those who write: the first time for the
// base, later to find and mend what writers past the triggers have left. Takes a table, gives what was wrong.

import type { Database, Session } from '../database/pool.ts';
import { inSnapshot, inTransaction, LOCK_BUDGET_MS, lockTable, withLockRetry } from '../database/transaction.ts';
import type { EntityTable } from '../model/entity.ts';
import { empty, type Fragment, integerLiteral, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import { getTotalKey, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import {
  buildWatcher,
  type InstalledTrigger,
  repairTriggers,
  selectInstalledTriggers,
  type Trigger,
} from './trigger.ts';

/** A total that was wrong, and is right now. */
export interface Difference {
  readonly relation: string;
  readonly storedTotal: string;
  readonly actualTotal: string;
}

/** A table by the name that it has in the database, or on the node of the cluster, that is asked. */
export type TotalTable = Pick<EntityTable, 'schema' | 'name' | 'total'>;

/** How totals are kept on a node of a cluster, where tables and functions have other names. */
export interface NodeTotals {
  /** The number of its group. */
  readonly group: string;
  /** Where totals are or were kept: rows of (schema, shard, outdated). */
  readonly totalsQuery: Fragment;
  /** The name of a table by what stands in its base (notedAs). */
  readonly parseTableName: (storedName: string) => string;
  /** Makes the functions that keep the totals of the place, in a transaction. */
  readonly install: (location: Required<TotalLocation>) => readonly string[];
  /** A condition: the tables are those that are in use. */
  readonly isInUse: (location: Required<TotalLocation>) => Fragment;
  /** Before a table is locked. */
  readonly lockable: Fragment;
}

interface CountOptions {
  readonly signal: AbortSignal;
  readonly node?: NodeTotals | undefined;
}

/** `first`: it is not kept yet. `again`: to see whether it is right. */
export type CountReason = 'first' | 'again';

// Advisory locks of two numbers, as install/workspace knows them: 1 counts again, else the oid of a table; that of the
// totals themselves folds.
const LOCK_CLASS = 0x776461;
const RECOUNT_LOCK = 1;
// 64 MB: 0.05 to 0.1 s from memory. Between two slices nobody is kept waiting.
const SLICE_PAGES = 8192;
// A total is looked at each hour, and for at most a fiftieth of the time.
const MIN_PAUSE_S = 3600;
const PAUSE_FACTOR = 50;
const RETRY_AFTER_S = 600;

/**
 * Sees to it that the total of a table is kept, and is right. Does nothing where it must not be kept, for a table that is
 * gone, and while somebody else is at it; one process of all counts again at a time. Gives what was wrong.
 */
export async function recount(
  db: Database,
  table: TotalTable,
  reason: CountReason,
  { signal, node }: CountOptions,
): Promise<Difference | undefined> {
  return db.session(
    async (session) => {
      try {
        const relid = await tryLockTable(session, table, reason);
        if (relid === undefined) return undefined;
        const isReady = await withLockRetry(
          () => inTransaction(session, LOCK_BUDGET_MS, () => prepare(session, { table, relid, reason, node })),
          { isCancelled: async () => signal.aborted },
        );
        if (!isReady) return undefined;
        const started = performance.now();
        try {
          const difference = await countInSnapshot(session, table, relid, { signal, node });
          await scheduleRecount(
            session,
            table,
            relid,
            Math.max(MIN_PAUSE_S, (PAUSE_FACTOR * (performance.now() - started)) / 1000),
          );
          return difference;
        } catch (error) {
          await scheduleRecount(session, table, relid, RETRY_AFTER_S).catch(() => undefined);
          if (error instanceof CountAborted) return undefined;
          throw error;
        }
      } finally {
        await session
          .query(toQuery(sql`select pg_advisory_unlock_all()`))
          // The words tell the pool to drop the connection, and with it the lock.
          .catch((error) =>
            Promise.reject(new Error('connection terminated: the lock was not given back', { cause: error })),
          );
      }
    },
    { purpose: 'migration' },
  );
}

/** Somebody waits for a lock on the table, or the server ends. */
class CountAborted extends Error {}

const getTotalsTable = (location: TotalLocation): Fragment => totalRef(location, 'total');

/** Nobody folds the totals of the workspace until the transaction ends. */
const lockFolds = (table: TotalLocation): Fragment =>
  sql`select pg_advisory_xact_lock(${LOCK_CLASS}::int4, ${literal(getTotalsTable(table).text)}::regclass::oid::int4)`;

/** The oid of the table, which belongs to this session from now on; undefined when it is gone or somebody else's. */
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
 * Makes the triggers that are missing, and those that could be silenced by a setting speak always; forgets a base that
 * cannot be trusted. False where no total may be kept: triggers that were disabled are left alone, and logical
 * replication fires none for statements. Creating a trigger waits until those who write at the moment have ended.
 */
async function prepare(
  session: Session,
  {
    table,
    relid,
    reason,
    node,
  }: Pick<CountOptions, 'node'> & { table: TotalTable; relid: string; reason: CountReason },
): Promise<boolean> {
  const { schema, total } = table;
  if (node !== undefined && total !== undefined && reason === 'first') {
    await session.query(toQuery(lockFolds(table)));
    for (const statement of node.install({ schema, total })) await session.execute(statement);
  }
  const inUseCondition = total === undefined ? undefined : node?.isInUse({ schema, total });
  const [row] = await session.query<{ triggers: InstalledTrigger[]; may: boolean }>(
    toQuery(sql`select ${selectInstalledTriggers(sql`${relid}::oid`, 'total')} as triggers,
  ${inUseCondition ?? sql`true`} and not exists (select from pg_subscription_rel where srrelid = ${relid}::oid) as may`),
  );
  const { triggers, may } = row as NonNullable<typeof row>;
  const changes = may ? repairTriggers(table, totalTriggers(table), triggers) : undefined;
  if (changes === undefined) return false;
  if (reason === 'first') await reserveSpace(session, table);
  for (const change of changes) await session.execute(change.text);
  await session.query(toQuery(lockFolds(table)));
  await session.query(
    toQuery(
      sql`delete from ${getTotalsTable(table)} where relid = ${relid}::oid and not (select ${isTotalTrusted(table, relid)})`,
    ),
  );
  const [base] = await session.query(
    toQuery(sql`select from ${getTotalsTable(table)} where relid = ${relid}::oid and slot < 0`),
  );
  // Another process was faster.
  return reason === 'again' || base === undefined;
}

const isTotalTrusted = (location: TotalLocation, relid: string): Fragment =>
  sql`${totalRef(location, 'is_total_kept')}(${relid}::oid)`;

// 37 pages.
const RESERVED_ROWS = 5000;

/**
 * A table of a few pages is read whole, by a plan that a connection keeps when the table has grown. So totals get some pages
 * with the first that is kept, which stay; setting the same option again makes connections forget their plans.
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

/** What adds the records that a statement has written or removed. */
const getCountFunction = (location: TotalLocation): Fragment => totalRef(location, 'count_records');

export const totalTriggers = (table: TotalTable): readonly Trigger[] =>
  (['insert', 'delete', 'truncate'] as const).map((event) =>
    buildWatcher(table, 'total', event, getCountFunction(table)),
  );

/**
 * Everything that is written from the triggers on is added by them, and one snapshot sees both that and the records. The
 * lock, before the snapshot, keeps a truncation out, which no snapshot would show.
 */
async function countInSnapshot(
  session: Session,
  table: TotalTable,
  relid: string,
  { signal, node }: CountOptions,
): Promise<Difference | undefined> {
  const lock = sql`${node?.lockable ?? empty}${lockTable(table, 'access share')}`;
  return inSnapshot(session, lock, async () => {
    const [row] = await session.query<{ kept: string | null; trusted: boolean; pages: string }>(
      toQuery(sql`select ${totalRef(table, 'total_of')}(${relid}::oid) as kept, ${isTotalTrusted(table, relid)} as trusted,
  pg_relation_size(${relid}::oid) / current_setting('block_size')::int8 as pages`),
    );
    const { kept: storedTotal, trusted, pages } = row as NonNullable<typeof row>;
    // A base that lost its trust since then is forgotten by whoever looks next.
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

/** What the triggers have added that the snapshot sees is counted with the records. */
const storeBase = (table: TotalTable, relid: string, actualTotal: bigint): Fragment => sql`with gone as (
  delete from ${getTotalsTable(table)} where relid = ${relid}::oid
)
insert into ${getTotalsTable(table)} (relid, slot, n, relation, pending, recount_at)
select ${relid}::oid, -17 - pg_snapshot_xmax(pg_current_snapshot())::text::int8, ${String(actualTotal)}::int8, ${getTotalKey(table)},
  array(select 17 + xid::text::int8 from pg_snapshot_xip(pg_current_snapshot()) xid), now() + interval '1 hour'`;

const storeDifference = (table: TotalTable, relid: string, difference: bigint): Fragment =>
  sql`insert into ${getTotalsTable(table)} (relid, slot, n, relation)
select ${relid}::oid, 17 + pg_current_xact_id()::text::int8, ${String(difference)}::int8, ${getTotalKey(table)}`;

/** When the table is counted again. Beside no fold, which would put another base in the place of the one that is marked. */
async function scheduleRecount(session: Session, table: TotalTable, relid: string, seconds: number): Promise<void> {
  await inTransaction(session, 2000, async () => {
    await session.query(toQuery(lockFolds(table)));
    await session.query(
      toQuery(sql`update ${getTotalsTable(table)} set recount_at = clock_timestamp() + ${integerLiteral(Math.ceil(seconds))} * interval '1 second'
where relid = ${relid}::oid and slot < 0 and pending is not null`),
    );
  });
}
