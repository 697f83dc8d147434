// What became of an import whose connection was lost at its COMMIT: it has left its token, or it has not.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/pool.ts';
import type { Place } from '../../db/work.ts';
import { settleOutcome } from '../../sql/import.ts';

export type Outcome = 'committed' | 'aborted' | 'unknown';

// Also the time that PostgreSQL has to start again.
const PATIENCE_MS = 5000;
const PAUSE_MS = 100;

/**
 * Asks until the import with the token has ended, for some seconds. `aborted` is certain, also when its backend is still
 * there: it can no longer commit. `place`: the node that has the records. While that is away nothing is asked, as the question
 * would keep one of the connections for the control tables waiting.
 */
export async function outcomeOf(
  db: Database,
  schema: string,
  token: string,
  place?: Pick<Place, 'isAway'>,
): Promise<Outcome> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    if (place?.isAway() === true) return 'unknown';
    try {
      const [row] = await db.query<{ is_done: boolean }>(settleOutcome(schema, token));
      if (row !== undefined) return row.is_done ? 'committed' : 'aborted';
    } catch {
      // The import is still at its COMMIT, or there is no database.
    }
    if (performance.now() >= deadline) return 'unknown';
    await sleep(PAUSE_MS);
  }
}
