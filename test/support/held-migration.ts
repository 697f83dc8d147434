// Migrations stopped at a chosen step: by an event trigger that waits inside a piece of DDL, a locked row, or an old
// snapshot. All of it is made by SQL beside the server, which knows nothing of it.
import pg from 'pg';
import type { TestDatabase } from './database.ts';
import { until } from './until.ts';

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

/** Makes the event triggers; they wait for nobody while nothing is held. */
export async function prepareHolds({ query }: TestDatabase): Promise<void> {
  await query(`create schema holding;
create table holding.pattern (text text);
grant usage on schema holding to public;
grant select on holding.pattern to public;
create function holding.wait() returns event_trigger language plpgsql security definer as $$
begin
  if (tg_event = 'ddl_command_start') = (current_query() like '%concurrently%')
    and exists (select from holding.pattern where current_query() like text)
  then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
end $$;
create function holding.wait_for_record() returns trigger language plpgsql security definer as $$
begin
  if exists (select from holding.pattern where text = 'record') then perform pg_advisory_xact_lock_shared(${LOCK}); end if;
  return new;
end $$;
create event trigger hold_start on ddl_command_start execute function holding.wait();
create event trigger hold_end on ddl_command_end execute function holding.wait();`);
}

/** Makes the record one that a migration can be held at. A lock of the row would keep every other step off the table, too. */
export async function holdRecord({ query }: TestDatabase, table: string, id: number): Promise<void> {
  await query(`create trigger hold before update on ${table} for each row when (old.id = ${id})
execute function holding.wait_for_record()`);
}

/** Runs `start`, which begins a migration, and resolves when the hold has stopped it. */
export async function holdAt(database: TestDatabase, hold: Hold, start: () => Promise<unknown>): Promise<Held> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  const release = async (): Promise<void> => {
    await client.end().catch(() => undefined);
    if (hold.kind === 'ddl' || hold.kind === 'record')
      await database.query('delete from holding.pattern').catch(() => undefined);
  };
  try {
    if (hold.kind === 'ddl' || hold.kind === 'record') {
      await client.query(`select pg_advisory_lock(${LOCK})`);
      await client.query('insert into holding.pattern values ($1)', [hold.kind === 'ddl' ? hold.like : 'record']);
    } else if (hold.kind === 'row') await client.query(`begin; ${hold.lock}`);
    else await client.query('begin isolation level repeatable read; select count(*) from wda.instance');
    await start();
    let pid: number | undefined;
    await until(`the migration is held at ${JSON.stringify(hold)}`, async () => {
      const [row] = await database.query(...look(hold));
      pid = row?.pid as number | undefined;
      return pid !== undefined;
    });
    return { pid: pid as number, release };
  } catch (error) {
    const sessions = await database.query(
      "select wait_event_type, wait_event, query from pg_stat_activity where datname = current_database() and state <> 'idle'",
    );
    const migrations = await database.query('select state, error, steps from wda.migration order by id desc limit 1');
    console.error(JSON.stringify({ sessions, migrations }, null, 1));
    await release();
    throw error;
  }
}

function look(hold: Hold): [text: string, values?: unknown[]] {
  const waiting = `select pid from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`;
  switch (hold.kind) {
    case 'ddl':
    case 'record':
      return [`${waiting} and wait_event = 'advisory'`];
    case 'row':
      return [`${waiting} and query like $1`, [hold.like]];
    case 'snapshot':
      return [
        `${waiting} and wait_event = 'virtualxid' and query like 'create %index concurrently%'
  and exists (select from pg_index where not indisvalid)`,
      ];
    default:
      return hold satisfies never;
  }
}
