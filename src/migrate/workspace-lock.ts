// Who may change the schema of a workspace: the session that holds its advisory lock. The lock goes with the session,
// however that ends, so a migration in the state "running" whose lock is free has lost its process.
import type { Database, Session } from '../db/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

// "wda" in ASCII in the upper bytes: the other keys of a shared database are not ours to guess.
const key = (workspaceId: string): Fragment => sql`(${0x776461}::int8 << 40) + ${workspaceId}::int8`;

// Without the look at its client, a statement outlives a killed process for as long as it takes, and the lock with it.
// PostgreSQL refuses that setting where the system cannot tell.
const SETTINGS = `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = 0;
do $$ begin perform set_config('client_connection_check_interval', '1000', false);
exception when others then null; end $$`;

/**
 * Runs `work` in the session that holds the lock of the workspace, with no limit on the time of its statements; gives
 * `busy` at once when another session holds it.
 */
export async function withWorkspaceLock<T, B>(
  db: Database,
  workspaceId: string,
  work: (session: Session) => Promise<T>,
  busy: () => B,
): Promise<T | B> {
  return db.session(async (session) => {
    const [row] = await session.query<{ locked: boolean }>(
      toQuery(sql`select pg_try_advisory_lock(${key(workspaceId)}) as locked`),
    );
    if (row?.locked !== true) return busy();
    try {
      await session.execute(SETTINGS);
      return await work(session);
    } finally {
      await session
        .execute('select pg_advisory_unlock_all(); reset all')
        // The words tell the pool to drop the connection, and with it the lock.
        .catch((error) =>
          Promise.reject(new Error('connection terminated: the lock was not given back', { cause: error })),
        );
    }
  });
}

/** Stops what the holder of the lock is doing at the moment; its statement ends with 57014. */
export async function interruptHolder(db: Database, workspaceId: string): Promise<void> {
  await db.query(
    toQuery(sql`with held as (select ${key(workspaceId)} as key)
select pg_cancel_backend(l.pid) from pg_locks l, held
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and l.classid::int8 = held.key >> 32 and l.objid::int8 = held.key & 4294967295`),
  );
}
