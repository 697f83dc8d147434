// What is learned of a statement from its runs, and the lane that follows from it. A slow statement on a pipelined
// connection would hold up what was sent behind it.

/** What the pool remembers of one statement; one object per statement shape, kept by its owner. */
export interface StatementCost {
  /** What an undisturbed run takes, in milliseconds; undefined before the first. */
  milliseconds: number | undefined;
  /** What it takes of PostgreSQL's time on average, in milliseconds, the way there and back left out. */
  work: number | undefined;
  /** Undefined before the first run, unless its owner knows. */
  isQuick: boolean | undefined;
}

const SLOW_MS = 20;
// A slow statement is quick again below this. With one bound for both, statements near it changed lanes all the time, and
// requests that had waited on one lane waited again on the other (p99 2.5 times that of one lane).
const QUICK_AGAIN_MS = 5;

/**
 * Counts what a run took of the time of a connection that others used as well: a statement that is never alone must not
 * hold them up for ever.
 */
export function noteWork(cost: StatementCost, milliseconds: number): void {
  cost.work = cost.work === undefined ? milliseconds : cost.work * 0.9 + milliseconds * 0.1;
  if (cost.work >= SLOW_MS) cost.isQuick = false;
}

/**
 * Counts a run that was alone. A quicker one counts whole, a slower one a tenth: on a busy machine any run may look slow, and a quick
 * statement that was first met then would stay on the slow lane (measured: at a third of its throughput).
 */
export function note(cost: StatementCost, milliseconds: number): void {
  const known = cost.milliseconds ?? milliseconds;
  const now = milliseconds < known ? milliseconds : known * 0.9 + milliseconds * 0.1;
  cost.milliseconds = now;
  if (now >= SLOW_MS) cost.isQuick = false;
  else if (cost.isQuick === undefined || now < QUICK_AGAIN_MS) cost.isQuick = true;
}
