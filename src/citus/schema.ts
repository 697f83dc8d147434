// Prepares distributed schemas of workspaces, whose tables lie together on one worker. Avoids names of entities that
// look like shards: Citus names the shard of `orders` orders_102008, with the next number of one sequence, and rejects
// another table of that name in the same schema. In a new cluster these numbers are predictable, so a workspace with
// such names could prevent a whole restore.
import type { Session } from '../database/pool.ts';
import { integerLiteral, literal, sql, toQuery } from '../sql/fragment.ts';

const SHARD_ID_SEQUENCE = sql`${literal('pg_catalog.pg_dist_shardid_seq')}::regclass`;

// Internal tables, and tables of concurrent transactions.
const SLACK = 200;

/**
 * Prepares a new schema, in its transaction. The setting must be off for other schemas: Citus would treat an existing
 * schema with control tables as a distributed one.
 */
export async function prepareSchema(session: Pick<Session, 'query'>, entities: readonly string[]): Promise<void> {
  await skipConflictingNumbers(session, entities);
  await session.query(toQuery(sql`select set_config('citus.enable_schema_based_sharding', 'on', true)`));
}

/** Skips numbers of the sequence that the name of an entity ends with. */
async function skipConflictingNumbers(session: Pick<Session, 'query'>, entities: readonly string[]): Promise<void> {
  const numbers = entities.flatMap((name) => /_(\d{6,15})$/.exec(name)?.slice(1).map(Number) ?? []);
  if (numbers.length === 0) return;
  const [row] = await session.query<{ drawn: string }>(
    toQuery(sql`select nextval(${SHARD_ID_SEQUENCE})::text as drawn`),
  );
  if (row === undefined) return;
  const next = Number(row.drawn) + 1;
  const free = findFreeNumber(next, entities.length + SLACK, numbers);
  // Concurrent sessions draw from it, too, so it is never set: 500 names block at most 350,000 numbers, some 50 ms.
  if (free > next)
    await session.query(
      toQuery(sql`select max(nextval(${SHARD_ID_SEQUENCE})) from generate_series(1, ${integerLiteral(free - next)})`),
    );
}

/** Finds the first number from `next` on that starts `count` unused ones. */
export function findFreeNumber(next: number, count: number, usedNumbers: readonly number[]): number {
  let free = next;
  for (const number of usedNumbers.toSorted((a, b) => a - b))
    if (number >= free && number < free + count) free = number + 1;
  return free;
}
