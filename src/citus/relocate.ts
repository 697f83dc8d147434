// Relocates one distributed schema from a node of the cluster to another, so that at no time a version of a record can
// stand for another one.
//
// A version is the number of the transaction that wrote the row, and each node counts its own: after the move all
// numbers differ, and an old one may, by chance, be that of a changed record. A new epoch alone is not enough, as
// statements before and after the commit of the move use the current one: renewed before, it is part of versions of
// both nodes; renewed after, the old one is. So there are three steps:
//
//   1. `moves` of the workspace becomes odd. From then on versions contain the table, too (sql/table.ts), which differs
//      between nodes. When all requests that were planned before have ended (isDrained), no plain numbers are in use.
//   2. citus_schema_move() in a transaction. When it returns, writes wait and the old node still serves reads. It is
//      committed only if no table has the same number on both nodes, and `moves` is unchanged. Else it is rolled back.
//   3. When all nodes know of the move, `moves` becomes even: plain numbers again, followed by another value of `moves`.
//
// A version of step 1 never matches after step 3, nor an earlier one after step 1: those clients get 412 and read
// again. A crash in between leaves `moves` odd, which is harmless, and the next run continues.
import { setTimeout as sleep } from 'node:timers/promises';
import { getSqlState, isLockTimeout, isNodeLoss } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import { inTransaction } from '../database/transaction.ts';
import { join, literal, sql, toQuery } from '../sql/fragment.ts';
import { type ClusterNode, queryNodes } from './nodes.ts';
import { findNodeName } from './placements.ts';
import { lockMoves, markRelocating, unmarkRelocating } from './relocations.ts';

// Requests queue up while a move waits for a lock, and then for the last changes to arrive, which takes some tenths of
// a second: together less than two seconds.
const LOCK_TIMEOUT_MS = 1000;
// Imports lock their tables for minutes, and each failed attempt loses the copy.
const MAX_ATTEMPTS = 5;
const PAUSE_MS = 2000;
const POLL_INTERVAL_MS = 50;
const AGREEMENT_TIMEOUT_MS = 120_000;

export interface RelocationTask {
  readonly db: Database;
  readonly session: Session;
  readonly workspaceId: string;
  readonly databaseSchema: string;
  readonly target: ClusterNode;
  /** Announces a new snapshot of the workspace; resolves with true when every process has acknowledged it. */
  readonly announce: () => Promise<boolean>;
  readonly isDrained: (version: string) => Promise<boolean>;
  /** Maximum duration of a request in milliseconds. */
  readonly forgottenAfterMs: number;
}

/** A failure of a relocation that this server detected itself. */
export class RelocationFailure extends Error {}

/** Relocates the schema, unless it lies there; afterwards versions are plain. Throws when nothing was moved. */
export async function relocateSchema(task: RelocationTask): Promise<void> {
  const { session, databaseSchema, target } = task;
  if ((await findNodeName(session, databaseSchema)) !== target.name) {
    const moves = await beginTableVersions(task);
    await withRetry(() => switchOver(task, moves));
  }
  await waitForNodes(task);
  await endTableVersions(task);
}

/** Makes versions plain again; only while no move of the schema is running. */
export async function endTableVersions({ session, workspaceId, announce }: RelocationTask): Promise<void> {
  if (await unmarkRelocating(session, workspaceId)) await announce();
}

/** Returns the value of `moves` once it applies in every process and every running request. */
async function beginTableVersions(task: RelocationTask): Promise<number> {
  const { session, workspaceId, announce, isDrained, forgottenAfterMs } = task;
  const row = await markRelocating(session, workspaceId);
  if (row === undefined) throw new RelocationFailure('the workspace is gone');
  // The work of a process that does not respond is unknown.
  if (!(await announce())) await sleep(forgottenAfterMs);
  const deadline = performance.now() + forgottenAfterMs + AGREEMENT_TIMEOUT_MS;
  while (!(await isDrained(row.version))) {
    if (performance.now() > deadline) throw new RelocationFailure('requests of before the move do not end');
    await sleep(POLL_INTERVAL_MS);
  }
  return row.moves;
}

async function switchOver(task: RelocationTask, moves: number): Promise<void> {
  const { db, session, workspaceId, databaseSchema, target } = task;
  await inTransaction(session, LOCK_TIMEOUT_MS, async () => {
    // Sets the same timeout on the nodes.
    await session.execute(
      `set local citus.propagate_set_commands = 'local'; set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    );
    await session.query(
      toQuery(
        sql`select citus_schema_move(to_regnamespace(quote_ident(${databaseSchema})), ${target.host}, ${target.port}, 'force_logical')`,
      ),
    );
    if ((await lockMoves(session, workspaceId)) !== moves)
      throw new RelocationFailure('the workspace was changed meanwhile');
    if (await hasSameNumbers(db, session, databaseSchema)) throw new SameNumbers();
  });
}

/** Signals that tables have the same number on two nodes. The next attempt creates new ones. */
class SameNumbers extends Error {}

async function hasSameNumbers(db: Database, session: Session, databaseSchema: string): Promise<boolean> {
  const shards = await session.query<{ name: string }>(
    toQuery(sql`select shard_name(s.logicalrelid, s.shardid) as name
from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
where c.relnamespace = to_regnamespace(quote_ident(${databaseSchema}))`),
  );
  const names = join(shards.map(({ name }) => literal(name)));
  const results = await queryNodes<Readonly<Record<string, number | null>>>(
    db,
    sql`select json_object_agg(name, to_regclass(name)::oid::int8) from unnest(array[${names}]::text[]) name`.text,
  );
  return shards.some(({ name }) => {
    const numbers = results.flatMap(({ result }) => result?.[name] ?? []);
    return new Set(numbers).size < numbers.length;
  });
}

/** Waits for the nodes: until a node learns of the coordinator's commit it would still serve its own table. */
async function waitForNodes({ db, session, databaseSchema, target }: RelocationTask): Promise<void> {
  const [row] = await session.query<{ shards: string }>(
    toQuery(sql`select array_agg(s.shardid)::text as shards
from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
where c.relnamespace = to_regnamespace(quote_ident(${databaseSchema}))`),
  );
  const statement = sql`select coalesce(json_agg(distinct groupid), '[]')
from pg_dist_placement where shardid = any(${literal(row?.shards ?? '{}')}::int8[])`.text;
  for (const deadline = performance.now() + AGREEMENT_TIMEOUT_MS; ; await sleep(POLL_INTERVAL_MS)) {
    const results = await queryNodes<readonly number[]>(db, statement);
    if (results.every(({ node, result }) => !node.isActive || result?.join() === String(target.groupId))) return;
    if (performance.now() > deadline)
      throw new RelocationFailure('a node of the cluster does not know of the move yet');
  }
}

/**
 * Whether the target still has the tables of an earlier move of the workspace away from it, as a read uses them or
 * another move drops them. Citus has no SQLSTATE for it.
 */
const isLeftover = (error: unknown): boolean =>
  getSqlState(error) === 'XX000' && error instanceof Error && error.message.includes('orphaned shard');

async function withRetry(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      // After a short loss of a node the coordinator keeps broken connections to it.
      const isNodeLost = isNodeLoss(error) || getSqlState(error)?.startsWith('08') === true;
      // 42710: a crashed move of another database of these servers left a role with the name that Citus uses. The next
      // attempt has another number in it.
      const isRetryable =
        isLockTimeout(error) ||
        isNodeLost ||
        error instanceof SameNumbers ||
        getSqlState(error) === '42710' ||
        isLeftover(error);
      if (!isRetryable || attempt === MAX_ATTEMPTS) throw error;
      await sleep(PAUSE_MS * attempt);
    }
  }
}
