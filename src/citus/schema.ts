// Schemas of workspaces become distributed ones, whose tables lie together on one worker. Names of entities that Citus could take for tables of its own: it gives the part of `orders` that a worker has
// the name orders_102008, with the next number of one sequence, and refuses another table of that name in the same schema. In a new
// cluster these numbers are known beforehand, so a workspace with such names could keep all of a backup out.
import type { Session } from '../database/pool.ts';
import { integerLiteral, literal, sql, toQuery } from '../sql/fragment.ts';

const SHARD_ID_SEQUENCE = sql`${literal('pg_catalog.pg_dist_shardid_seq')}::regclass`;

// Tables beside those of entities, and what others make at the same time.
const SLACK = 200;

/**
 * Before the schema is made, in its transaction. The setting must not be on for other schemas: Citus would take a schema with
 * control tables that is there already for a distributed one.
 */
export async function prepareSchema(session: Pick<Session, 'query'>, entities: readonly string[]): Promise<void> {
  await skipConflictingNumbers(session, entities);
  await session.query(toQuery(sql`select set_config('citus.enable_schema_based_sharding', 'on', true)`));
}

/** The numbers of the tables will be none that the name of an entity ends with. */
async function skipConflictingNumbers(session: Pick<Session, 'query'>, entities: readonly string[]): Promise<void> {
  const numbers = entities.flatMap((name) => /_(\d{6,15})$/.exec(name)?.slice(1).map(Number) ?? []);
  if (numbers.length === 0) return;
  const [row] = await session.query<{ drawn: string }>(
    toQuery(sql`select nextval(${SHARD_ID_SEQUENCE})::text as drawn`),
  );
  if (row === undefined) return;
  const next = Number(row.drawn) + 1;
  const free = findFreeNumber(next, entities.length + SLACK, numbers);
  // Others draw from it, too, so it is never set: 500 names are in the way of at most 350,000 numbers, some 50 ms.
  if (free > next)
    await session.query(
      toQuery(sql`select max(nextval(${SHARD_ID_SEQUENCE})) from generate_series(1, ${integerLiteral(free - next)})`),
    );
}

/** The first number from `next` on from which `count` ones are free of `taken`. */
export function findFreeNumber(next: number, count: number, usedNumbers: readonly number[]): number {
  let free = next;
  for (const number of usedNumbers.toSorted((a, b) => a - b))
    if (number >= free && number < free + count) free = number + 1;
  return free;
}
