// The move of one distributed schema from a node of the cluster to another, without a window in which a version of a record
// could mean another one.
//
// A version is the number of the transaction that wrote the row, and each node counts its own: after the move all numbers
// are others, and an old one may be, by chance, that of a changed record. A new epoch does not do it alone, as whatever is
// in force when the move is committed is used by statements before and behind that moment: renewed before, it stands in
// versions of both nodes; renewed after, the old one does. So there are three steps:
//
//   1. `moves` of the workspace becomes odd. From then on versions name the table, too (sql/table.ts), which is another one
//      on each node. When no request is left that was planned before (isSettled), nobody gives or compares plain numbers.
//   2. citus_schema_move() in a transaction. When it returns writes wait and reads are still answered by the old node. Only
//      if no table has the same number on both nodes, and `moves` is what it was, it is committed. Otherwise it is undone.
//   3. When all nodes know of it `moves` becomes even: plain numbers again, with another one of `moves` behind them.
//
// A version of step 1 is never right after step 3, nor one of before after step 1: those clients get 412 and read again.
// Whoever dies in between leaves `moves` odd, which costs nothing, and the next turn goes on.
import { setTimeout as sleep } from 'node:timers/promises';
import { getSqlState, isLockTimeout, isNodeLoss } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import { inTransaction } from '../database/transaction.ts';
import { join, literal, sql, toQuery } from '../sql/fragment.ts';
import { type ClusterNode, queryNodes } from './nodes.ts';
import { findNodeName } from './placements.ts';
import { lockMoves, markRelocating, unmarkRelocating } from './relocations.ts';

// Requests queue behind a move that waits for a lock, and then for the last changes to arrive, which takes some tenths of a
// second: together less than two seconds.
const LOCK_TIMEOUT_MS = 1000;
// Imports hold their tables for minutes, and the copy is lost with each try.
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
  /** Called when the workspace has another snapshot; resolves with true when every process has said that it knows. */
  readonly announce: () => Promise<boolean>;
  readonly isDrained: (version: string) => Promise<boolean>;
  /** The longest time that a request can take. */
  readonly forgottenAfterMs: number;
}

/** A reason of ours why a move has not come to its end. */
export class RelocationFailure extends Error {}

/** Moves the schema, unless it lies there; afterwards versions are plain. Throws when it could not, with nothing moved. */
export async function relocateSchema(task: RelocationTask): Promise<void> {
  const { session, databaseSchema, target } = task;
  if ((await findNodeName(session, databaseSchema)) !== target.name) {
    const moves = await beginTableVersions(task);
    await withRetry(() => switchOver(task, moves));
  }
  await waitForNodes(task);
  await endTableVersions(task);
}

/** Afterwards versions are plain, whatever they were; only while no move of the schema is under way. */
export async function endTableVersions({ session, workspaceId, announce }: RelocationTask): Promise<void> {
  if (await unmarkRelocating(session, workspaceId)) await announce();
}

/** Gives the number of `moves` that is in force everywhere, in every request that is being answered. */
async function beginTableVersions(task: RelocationTask): Promise<number> {
  const { session, workspaceId, announce, isDrained, forgottenAfterMs } = task;
  const row = await markRelocating(session, workspaceId);
  if (row === undefined) throw new RelocationFailure('the workspace is gone');
  // Of a process that says nothing it is not known what it still does.
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
    // The same limit on the nodes.
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

/** Tables have the same number on two nodes. The next try makes them anew. */
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

/** The coordinator commits first, and a node that knows of it later would still answer from its own table. */
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

async function withRetry(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      // A node that was lost for a moment: the coordinator keeps connections to it that are of no more use.
      const isNodeLost = isNodeLoss(error) || getSqlState(error)?.startsWith('08') === true;
      // 42710: a move that died in another database of these servers left a role of the name that Citus gives. The next try
      // has another number in it.
      const isRetryable =
        isLockTimeout(error) || isNodeLost || error instanceof SameNumbers || getSqlState(error) === '42710';
      if (!isRetryable || attempt === MAX_ATTEMPTS) throw error;
      await sleep(PAUSE_MS * attempt);
    }
  }
}
