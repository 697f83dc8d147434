// Migrations stopped at a chosen step: by an event trigger that waits inside a piece of DDL, a locked row, or an old
// snapshot. All of it is made by SQL beside the server, which knows nothing of it.
import pg from 'pg';
import { connected, dataNodes, isCluster, queryDataNodes } from './citus.ts';
import type { TestDatabase } from './database.ts';
import { until } from './wait-until.ts';

/** What stops a migration, and how one sees that it is there. */
export type Hold =
  /** Inside the first DDL whose text is like the pattern: done and not committed; before the start of a CONCURRENTLY. */
  | { readonly kind: 'ddl'; readonly like: string }
  /** When a record that holdRecord() has prepared is written. */
  | { readonly kind: 'record' }
  /** At a row of the control tables, which a statement like the pattern waits for. */
  | { readonly kind: 'row'; readonly lock: string; readonly like: string }
  /** While an index is built concurrently: it exists and is not valid. */
  | { readonly kind: 'snapshot' };

export interface Held {
  /** The process of the migration's session in PostgreSQL. */
  readonly pid: number;
  readonly release: () => Promise<void>;
}

const LOCK = 4711;

/**
 * Makes the event triggers; they wait for nobody while nothing is held. On a cluster they are on its workers, so a step is
 * held once the worker has done its part.
 */
export async function prepareHolds({ url }: TestDatabase): Promise<void> {
  // Citus takes the function of a trigger from the coordinator.
  for (const node of new Set([url, ...dataNodes(url)])) await connected(node, prepareHoldsOn);
}

// To a worker DDL comes as the text of a function call or in words of Citus's own.
const IS_HELD = isCluster ? "current_query() ilike '%' || text || '%'" : 'current_query() like text';

async function prepareHoldsOn(client: pg.Client): Promise<void> {
  if (isCluster) await client.query('set citus.enable_ddl_propagation = off');
  await client.query(`create schema holding;
create table holding.pattern (text text);
grant usage on schema holding to public;
grant select on holding.pattern to public;
create function holding.wait() returns event_trigger language plpgsql security definer as $$
begin
  if (tg_event = 'ddl_command_start') = (current_query() ilike '%concurrently%')
    and exists (select from holding.pattern where ${IS_HELD})
  then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
end $$;
create event trigger hold_start on ddl_command_start execute function holding.wait();
create event trigger hold_end on ddl_command_end execute function holding.wait();
${WAIT_FOR_RECORD}`);
}

const WAIT_FOR_RECORD = `create function holding.wait_for_record() returns trigger language plpgsql security definer as $$
begin
  if exists (select from holding.pattern where text = 'record') then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
  return new;
end $$`;

/** Makes the record one that a migration can be held at. A lock of the row would keep every other step off the table, too. */
export async function holdRecord({ query }: TestDatabase, table: string, id: number): Promise<void> {
  await query(`create trigger hold before update on ${table} for each row when (old.id = ${id})
execute function holding.wait_for_record()`);
}

/** Runs `start`, which begins a migration, and resolves when the hold has stopped it. */
export async function holdAt(database: TestDatabase, hold: Hold, start: () => Promise<unknown>): Promise<Held> {
  const nodes = hold.kind === 'row' ? [database.url] : dataNodes(database.url);
  const [holders, watchers] = await Promise.all([connectTo(nodes), connectTo(nodes)]);
  const pattern = hold.kind === 'ddl' ? hold.like : hold.kind === 'record' ? 'record' : undefined;
  const release = async (): Promise<void> => {
    await Promise.allSettled(holders.map((client) => client.end()));
    if (pattern !== undefined)
      await Promise.allSettled(watchers.map((client) => client.query('delete from holding.pattern')));
    await Promise.allSettled(watchers.map((client) => client.end()));
  };
  try {
    for (const client of holders) {
      if (pattern !== undefined) {
        await client.query(`select pg_advisory_lock(${LOCK})`);
        await client.query('insert into holding.pattern values ($1)', [pattern]);
      } else if (hold.kind === 'row') await client.query(`begin; ${hold.lock}`);
      else await client.query('begin isolation level repeatable read; select count(*) from pg_namespace');
    }
    await start();
    let pid: number | undefined;
    await until(`the migration is held at ${JSON.stringify(hold)}`, async () => {
      const found = await Promise.all(watchers.map((client) => client.query(...look(hold))));
      pid = found.flatMap(({ rows }) => rows)[0]?.pid;
      return pid !== undefined;
    });
    return { pid: pid as number, release };
  } catch (error) {
    const sessions = await queryDataNodes(
      database.url,
      "select wait_event_type, wait_event, query from pg_stat_activity where datname = current_database() and state <> 'idle'",
    );
    const migrations = await database.query('select state, error, steps from wda.migration order by id desc limit 1');
    console.error(JSON.stringify({ sessions, migrations }, null, 1));
    await release();
    throw error;
  }
}

const connectTo = (urls: readonly string[]): Promise<readonly pg.Client[]> =>
  Promise.all(
    urls.map(async (connectionString) => {
      const client = new pg.Client({ connectionString });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    }),
  );

function look(hold: Hold): [text: string, values?: unknown[]] {
  // A session that works on a worker for one on the coordinator has the number of that in its name.
  const waiting = `select coalesce(substring(application_name from 'gpid=([0-9]+)')::int8 % 10000000000, pid)::int4 as pid from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`;
  switch (hold.kind) {
    case 'ddl':
    case 'record':
      return [`${waiting} and wait_event = 'advisory'`];
    case 'row':
      return [`${waiting} and query like $1`, [hold.like]];
    case 'snapshot':
      return [
        `${waiting} and wait_event = 'virtualxid' and query ilike 'create %index concurrently%'
  and exists (select from pg_index where not indisvalid)`,
      ];
    default:
      return hold satisfies never;
  }
}
