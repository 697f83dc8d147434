// What became of a transaction whose connection was lost at its COMMIT: PostgreSQL remembers how recent ones ended.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, toQuery } from '../sql/fragment.ts';
import { sqlState } from './pg-error.ts';
import type { Database, Session } from './pool.ts';

export type Outcome = 'committed' | 'aborted' | 'unknown';

const PATIENCE_MS = 5000;
const PAUSE_MS = 100;

/** The number of the session's transaction, which has written something. */
export async function transactionOf(session: Session): Promise<string> {
  const [row] = await session.query<{ id: string }>(toQuery(sql`select pg_current_xact_id()::text as id`));
  return row?.id as string;
}

/** Asks until the transaction has ended, for some seconds. `loss`: the error that the COMMIT ended with. */
export async function outcomeOf(db: Database, transaction: string, loss: unknown): Promise<Outcome> {
  const deadline = performance.now() + PATIENCE_MS;
  // After a crash the number may have been given to another transaction.
  for (let error = loss; !isCrash(error); error = undefined) {
    try {
      const [row] = await db.query<{ status: string | null }>(
        toQuery(sql`select pg_xact_status(${transaction}::xid8) as status`),
      );
      if (row?.status === 'committed' || row?.status === 'aborted') return row.status;
      if (row?.status === null) return 'unknown';
    } catch (failure) {
      if (isCrash(failure) || isCrash((failure as Error).cause)) return 'unknown';
    }
    if (performance.now() >= deadline) return 'unknown';
    await sleep(PAUSE_MS);
  }
  return 'unknown';
}

/** Another process of PostgreSQL has crashed, the server is starting again, or it is not there at all. */
function isCrash(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return sqlState(error) === '57P02' || sqlState(error) === '57P03' || code === 'ECONNREFUSED' || code === 'ENOENT';
}
