// Fills a new column in batches. Transactions are short, so that requests find rows unlocked and the processor idle.

import type { Session } from '../database/pool.ts';
import { withAsyncCommit, withLockRetry } from '../database/transaction.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { UnconvertibleValue } from './failure.ts';
import { getLockRetryOptions } from './lock-holders.ts';
import type { Batch, Operation } from './operation.ts';
import { MigrationCancelled, type Run } from './run.ts';

// Target for the time that a request waits for a row of a stripe; batches adapt their size to it.
const STRIPE_MS = 50;
const STRIPES = [0, 1, 2, 3] as const;
// Smaller batches make the backfill longer and requests not quicker, as even an empty statement takes milliseconds on a
// busy machine (measured with 8 clients on 2 processors: batches of 200 take 56 s for 1 M records).
const FIRST_SIZE = 8000;
const MIN_SIZE = 8000;
const MAX_SIZE = 40_000;
const REPORT_INTERVAL_MS = 500;

/**
 * Fills each batch in four stripes: an update that finds space in the page of its record touches no index, and the dead
 * rows of the previous stripe make that space (measured on 1 M records with two indexes: 8 instead of 12 µs each).
 */
export async function backfill(run: Run, operation: Operation, batch: Batch): Promise<void> {
  const { session, sizes, progress } = run;
  const total = sizes.get(operation.entity) ?? 0;
  let after = '-9223372036854775808';
  let size = FIRST_SIZE;
  let done = 0;
  let reportedCount = 0;
  const report = async (records: number): Promise<void> => {
    run.countFilled(done - reportedCount);
    reportedCount = done;
    await progress.fill(operation, { done, total: records });
  };
  let reportedAt = performance.now();
  for (;;) {
    const [range] = await session.query<{ last: string | null; seen: number }>(toQuery(batch.next(after, size)));
    const last = range?.last ?? null;
    if (range === undefined || last === null) break;
    let longest = 1;
    for (const stripe of STRIPES) {
      const started = performance.now();
      const from = after;
      const statement = batch.fill({ after: from, last, stripe });
      // Asynchronous commits are safe: a crash that loses the last stripes comes before the switch, so the whole
      // migration is reverted.
      await withLockRetry(
        () => withAsyncCommit(session, () => fillStripeOnce(session, statement)),
        getLockRetryOptions(run, operation, 'rows'),
      );
      longest = Math.max(longest, performance.now() - started);
    }
    after = last;
    done += range.seen;
    // Later records have a value already. Reading on might never end where records are created as fast as they are
    // read.
    if (range.seen < size) break;
    size = Math.round(Math.min(MAX_SIZE, Math.max(MIN_SIZE, size * Math.min(2, STRIPE_MS / longest))));
    if (performance.now() - reportedAt > REPORT_INTERVAL_MS) {
      reportedAt = performance.now();
      await report(Math.max(total, done));
      if (await run.isCancelled()) throw new MigrationCancelled();
    }
  }
  await report(done);
}

async function fillStripeOnce(session: Session, statement: Fragment): Promise<void> {
  const [row] = await session.query<{ refused: boolean }>(toQuery(statement));
  if (row?.refused === true) throw new UnconvertibleValue();
}
