// Statements that wait for a connection of a lane. No statement waits longer than its deadline or for a client that has left, and
// one tenant never takes the whole line.
import type { Query } from '../sql/fragment.ts';
import type { StatementCost } from './cost.ts';
import { StaleStatement } from './pg-error.ts';
import type { Row } from './statement.ts';
import { callerGone, placeAway, tooLate, type Work } from './work.ts';

/** A statement that is to be run. */
export interface Waiting {
  readonly query: Query;
  readonly work: Work;
  /** See Costs; undefined when nothing is learned. */
  readonly cost: StatementCost | undefined;
  readonly deadline: number;
  readonly since: number;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface WaitingLine {
  readonly length: number;
  push(waiting: Waiting): void;
  /** Takes out the first of the foremost `lookAhead` that fits; undefined when none does. */
  take(willDo: (waiting: Waiting) => boolean, lookAhead?: number): Waiting | undefined;
  /** Takes out all. */
  drain(): Waiting[];
  /** True when one more of the tenant may wait, beside as many as are under way already. */
  hasPlace(tenant: string | undefined, underWay: number): boolean;
}

// How often the line is searched for those whose time is over, or who have left.
const SWEEP_MS = 100;
// Of the line; the rest is for the others.
const TENANT_PART = 0.8;

/** `swept` is called after each look, every 100 ms while somebody waits. */
export function makeWaitingLine(max: number, swept: () => void): WaitingLine {
  const line: Waiting[] = [];
  let sweeping: NodeJS.Timeout | undefined;

  function sweep(): void {
    const now = performance.now();
    for (let index = line.length - 1; index >= 0; index--) {
      const refusal = refusalOf(line[index] as Waiting, now);
      if (refusal === undefined) continue;
      const [waiting] = line.splice(index, 1) as [Waiting];
      waiting.reject(refusal);
    }
    swept();
    if (line.length > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
  }

  return {
    get length() {
      return line.length;
    },
    push(waiting) {
      line.push(waiting);
      sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    },
    take(willDo, lookAhead = line.length) {
      const end = Math.min(line.length, lookAhead);
      for (let index = 0; index < end; index++) {
        if (willDo(line[index] as Waiting)) return line.splice(index, 1)[0];
      }
      return undefined;
    },
    drain: () => line.splice(0),
    hasPlace(tenant, underWay) {
      if (line.length + underWay >= max) return false;
      if (tenant === undefined || line.length < max * TENANT_PART) return true;
      return line.filter(({ work }) => work.tenant === tenant).length < max * TENANT_PART;
    },
  };
}

/** Why the statement is not to be sent any more. */
export function refusalOf({ deadline, work }: Waiting, now: number): Error | undefined {
  if (now >= deadline) return tooLate();
  if (work.caller?.isGone() === true) return callerGone();
  if (work.place?.isAway() === true) return placeAway();
  return work.isStale?.(now) === true ? new StaleStatement() : undefined;
}
