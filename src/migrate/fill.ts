// Values of a new column, a batch of records at a time: short transactions with pauses between them, so that requests find
// the rows and the processor free.
import type { Database, Session } from '../db/pool.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { withLockRetry } from './lock-retry.ts';
import type { Batch, Operation } from './operation.ts';
import { withoutDisk } from './transaction.ts';

export interface FillWork {
  readonly session: Session;
  /** Work in a session besides, if one is to be had; resolves without it when none is. */
  readonly beside: (work: (session: Session) => Promise<void>) => Promise<void>;
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

// A request that waits for a row of a stripe waits this long at most; the batches adapt their size to it.
const STRIPE_MS = 50;
const STRIPES = [0, 1, 2, 3] as const;
// On a busy machine even an empty statement takes milliseconds: smaller batches would make the filling last, not the
// requests quicker (measured with 8 clients on 2 processors: batches of 200 take 56 s for 1 M records).
const FIRST_SIZE = 8000;
const LEAST_SIZE = 8000;
const MOST_SIZE = 40_000;
const SHOW_EVERY_MS = 500;

/**
 * Each batch is filled in four stripes: an update that finds room in the page of its record touches no index, and the
 * room comes from what the stripe before left dead (measured on 1 M records with two indexes: 8 instead of 12 µs each).
 * Two sessions take batches in turn, as one alone gets too small a share of a busy machine.
 */
export async function fill(work: FillWork, operation: Operation, batch: Batch): Promise<void> {
  const { session, cancelled, progress, records } = work;
  const total = records(operation);
  const ranges = makeRanges(batch);
  let shownAt = performance.now();
  const show = async (): Promise<void> => {
    if (performance.now() - shownAt <= SHOW_EVERY_MS) return;
    shownAt = performance.now();
    await progress(operation, { done: ranges.done(), total: Math.max(total, ranges.done()) });
    if (await cancelled()) throw new Cancelled();
  };
  // Nothing is lost when the last stripes are: without the switch, which waits for the disk, all of them are taken back.
  const ends = await Promise.allSettled([
    withoutDisk(session, () => fillRanges(session, ranges, batch, cancelled, show)),
    work.beside((helper) =>
      withoutDisk(helper, () => fillRanges(helper, ranges, batch, () => Promise.resolve(ranges.failed()))),
    ),
  ]);
  const [own, other] = ends;
  if (own.status === 'rejected') throw own.reason;
  // A helper that never came has left nothing undone.
  if (other?.status === 'rejected' && ranges.failed()) throw other.reason;
  await progress(operation, { done: ranges.done(), total: ranges.done() });
}

/** Records with an id above `after` and up to `last`. */
interface Range {
  readonly after: string;
  readonly last: string;
}

interface Ranges {
  /** The next one, each to one session alone; undefined at the end, or when one has failed. */
  readonly next: (session: Session) => Promise<Range | undefined>;
  /** `longest`: of its stripes, in milliseconds. */
  readonly ended: (longest: number) => void;
  readonly fail: () => void;
  readonly failed: () => boolean;
  /** Records that were given out. */
  readonly done: () => number;
}

function makeRanges(batch: Batch): Ranges {
  let after: string | null = '-9223372036854775808';
  let size = FIRST_SIZE;
  let done = 0;
  let hasFailed = false;
  let turn: Promise<unknown> = Promise.resolve();
  async function take(session: Session): Promise<Range | undefined> {
    if (after === null || hasFailed) return undefined;
    const from: string = after;
    const [row] = await session.query<{ last: string | null; seen: number }>(toQuery(batch.next(from, size)));
    after = row?.last ?? null;
    done += row?.seen ?? 0;
    return after === null ? undefined : { after: from, last: after };
  }
  return {
    next(session) {
      const taken = turn.then(() => take(session));
      turn = taken.catch(() => undefined);
      return taken;
    },
    ended(longest) {
      size = Math.round(Math.min(MOST_SIZE, Math.max(LEAST_SIZE, size * Math.min(2, STRIPE_MS / longest))));
    },
    fail() {
      hasFailed = true;
    },
    failed: () => hasFailed,
    done: () => done,
  };
}

async function fillRanges(
  session: Session,
  ranges: Ranges,
  batch: Batch,
  cancelled: () => Promise<boolean>,
  show: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  try {
    for (;;) {
      const range = await ranges.next(session);
      if (range === undefined) return;
      let longest = 1;
      for (const stripe of STRIPES) {
        const started = performance.now();
        await withLockRetry(() => fillOne(session, batch.fill({ ...range, stripe })), cancelled);
        longest = Math.max(longest, performance.now() - started);
      }
      ranges.ended(longest);
      await show();
    }
  } catch (error) {
    ranges.fail();
    throw error;
  }
}

async function fillOne(session: Session, statement: Fragment): Promise<void> {
  const [row] = await session.query<{ refused: boolean }>(toQuery(statement));
  if (row?.refused === true) throw new RefusedValue();
}

/** A session that goes back to others as they expect it. */
export function besides(db: Database, work: (session: Session) => Promise<void>): Promise<void> {
  return db.session(async (session) => {
    try {
      await work(session);
    } finally {
      // Others get the connection next.
      await session.execute('reset all');
    }
  });
}
