// Values of a new column, a batch of records at a time: short transactions with pauses between them, so that requests find
// the rows and the processor free.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../db/pool.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { withLockRetry } from './lock-retry.ts';
import type { Operation } from './operation.ts';
import { inTransaction, LOCK_BUDGET_MS } from './transaction.ts';

export interface FillWork {
  readonly session: Session;
  readonly cancelled: () => Promise<boolean>;
  readonly progress: (
    operation: Operation,
    records: { readonly done: number; readonly total: number },
  ) => Promise<void>;
  readonly records: (operation: Operation) => number;
}

/** Somebody asked for the end of the migration. */
export class Cancelled extends Error {}

/** A record whose value the new column cannot hold. */
export class RefusedValue extends Error {}

// A request that waits for a row of the batch waits this long at most; a batch adapts its size to it.
const BATCH_MS = 20;
const FIRST_SIZE = 500;
const LEAST_SIZE = 50;
const MOST_SIZE = 5000;
// Share of the time that the filling rests.
const REST = 0.5;
const SHOW_EVERY_MS = 500;

export async function fill(
  { session, cancelled, progress, records }: FillWork,
  operation: Operation,
  batch: (after: string, size: number) => Fragment,
): Promise<void> {
  const total = records(operation);
  let after: string | null = '-9223372036854775808';
  let size = FIRST_SIZE;
  let done = 0;
  let shownAt = performance.now();
  while (after !== null) {
    const from: string = after;
    const started = performance.now();
    const row = await withLockRetry(() => runBatch(session, batch(from, size)), cancelled);
    const took = performance.now() - started;
    if (row.refused) throw new RefusedValue();
    after = row.last;
    done += row.seen;
    size = Math.round(Math.min(MOST_SIZE, Math.max(LEAST_SIZE, size * Math.min(2, BATCH_MS / Math.max(took, 1)))));
    if (performance.now() - shownAt > SHOW_EVERY_MS) {
      shownAt = performance.now();
      await progress(operation, { done, total: Math.max(total, done) });
      if (await cancelled()) throw new Cancelled();
    }
    await sleep((took * REST) / (1 - REST) / 2);
  }
  await progress(operation, { done, total: done });
}

interface BatchRow {
  readonly last: string | null;
  readonly seen: number;
  readonly refused: boolean;
}

function runBatch(session: Session, batch: Fragment): Promise<BatchRow> {
  // Nothing is lost when the last batches are: without the switch, which waits for the disk, all of them are taken back.
  const work = async (): Promise<BatchRow> => (await session.query<BatchRow>(toQuery(batch)))[0] as BatchRow;
  return inTransaction(session, LOCK_BUDGET_MS, work, true);
}
