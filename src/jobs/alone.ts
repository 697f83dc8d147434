// Work that one process of an installation does at a time. The lock is one of a transaction, so it is given back however
// the work ends, and a pooler between two statements of a session cannot lose it.
import type { Database, Session } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

// "wdj" in ASCII: other programs on the database have other classes of advisory locks.
const LOCK_CLASS = 0x77646a;
// A process that is stopped in the middle keeps the others away for so long.
const MAX_SILENCE_MS = 60_000;

/**
 * Runs `work` in a transaction that holds the lock of this name; false, with nothing done, when another process does.
 * A statement of the work, and the pause between two, may take a minute.
 */
export function alone(db: Database, name: string, work: (session: Session) => Promise<unknown>): Promise<boolean> {
  return db.transaction(
    async (session) => {
      const [row] = await session.query<{ locked: boolean }>(
        toQuery(sql`select pg_try_advisory_xact_lock(${LOCK_CLASS}::int4, hashtext(${name})) as locked`),
      );
      if (row?.locked !== true) return false;
      await work(session);
      return true;
    },
    { statementTimeoutMs: MAX_SILENCE_MS },
  );
}
