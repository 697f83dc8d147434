// Runs work in one process of an installation at a time. The lock belongs to a transaction, so it is released however
// the work ends, and a pooler that changes the session between two statements cannot lose it.
import type { Database, Session, TransactionOptions } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

// "wdj" in ASCII: other programs on the database use other classes of advisory locks.
const LOCK_CLASS = 0x77646a;
// A process that is stopped during the work blocks the others for this time.
const STATEMENT_TIMEOUT_MS = 60_000;

/**
 * Runs `work` in a transaction that holds the lock of this name; returns false, without running it, when another
 * process holds the lock. Each statement of the work, and each pause between two, may take a minute unless
 * `statementTimeoutMs` says otherwise.
 */
export function runExclusively(
  db: Database,
  name: string,
  work: (session: Session) => Promise<unknown>,
  options: Pick<TransactionOptions, 'purpose' | 'statementTimeoutMs'> = {},
): Promise<boolean> {
  return db.transaction(
    async (session) => {
      const [row] = await session.query<{ locked: boolean }>(
        toQuery(sql`select pg_try_advisory_xact_lock(${LOCK_CLASS}::int4, hashtext(${name})) as locked`),
      );
      if (row?.locked !== true) return false;
      await work(session);
      return true;
    },
    { statementTimeoutMs: STATEMENT_TIMEOUT_MS, ...options },
  );
}
