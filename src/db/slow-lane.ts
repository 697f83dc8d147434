// Statements that may take their time: each on a connection of its own, in words that build no more than an answer may have,
// until its deadline or until its caller leaves.
import type { Query } from '../sql/fragment.ts';
import type { Lent } from './borrowers.ts';
import { destroy } from './connect.ts';
import { hold, isHeld, note, SLOW_HOLD, type StatementCost } from './cost.ts';
import { goesOn, STUCK } from './ending.ts';
import { isConnectionLoss, lostStatement, StaleStatement, sqlState } from './pg-error.ts';
import { preparedOn } from './prepared.ts';
import type { Row } from './statement.ts';
import { type Cancel, runWatched } from './statement-watch.ts';
import { isInForce, type Lane, type Work } from './work.ts';

export interface SlowLaneOptions {
  readonly take: (work: Work) => Promise<Lent>;
  readonly cancel: Cancel;
  readonly statementTimeoutMs: number;
  readonly isQuick: (query: Query, work: Work, cost: StatementCost | undefined) => boolean;
  readonly runQuick: RunOnLane;
}

/** `cost`: what is known of the statement, and is learned from its run. */
export type RunOnLane = (
  query: Query,
  lane: Lane,
  work: Work,
  cost: StatementCost | undefined,
) => Promise<readonly Row[]>;

interface Run {
  readonly lane: Lane;
  readonly work: Work;
  readonly cost: StatementCost | undefined;
  isBroken: boolean;
}

// What a moderate statement gets without careful words: as much as on the quick lane.
const PLAIN_MS = 200;

/** Runs one statement; throws as Database.run() does. */
export function makeSlowLane({ take, cancel, statementTimeoutMs, isQuick, runQuick }: SlowLaneOptions): RunOnLane {
  async function runSlow(
    query: Query,
    lane: Lane,
    work: Work,
    cost: StatementCost | undefined,
  ): Promise<readonly Row[]> {
    const lent = await take(work);
    // Others may have found out meanwhile that it is quick.
    if (isQuick(query, work, cost)) {
      lent.release(false);
      return runQuick(query, lane, work, cost);
    }
    const run = { lane, work, cost, isBroken: false };
    try {
      // It may have waited for long. Asking keeps its place; being planned again it would wait from the end of the line.
      if (!(await isInForce(work))) throw new StaleStatement();
      // What may take its time may build too much as well, so its words are careful. These took lists of 2,000 records
      // 1.3 times the time: a statement that has never taken long gets a moment without them.
      if (query.careful === undefined || !isModerate(cost))
        return await runOnLent(lent, query.careful?.() ?? query, run);
      try {
        return await runOnLent(lent, query, run, performance.now() + PLAIN_MS);
      } catch (error) {
        if (run.isBroken || sqlState(error) !== '57014' || performance.now() >= deadlineOf(work)) throw error;
        if (lane === 'read' && work.caller?.isGone() === true) throw error;
        if (cost !== undefined) hold(cost, SLOW_HOLD, performance.now());
        return await runOnLent(lent, query.careful(), run);
      }
    } finally {
      lent.release(run.isBroken);
    }
  }

  const deadlineOf = ({ deadline }: Work): number => deadline ?? performance.now() + statementTimeoutMs;

  /** One statement on a connection of its own, until `end` at the latest. Sets `isBroken` when the connection is. */
  async function runOnLent(
    { connection }: Lent,
    query: Pick<Query, 'text' | 'values' | 'name'>,
    run: Run,
    end = Number.POSITIVE_INFINITY,
  ): Promise<readonly Row[]> {
    const { lane, work, cost } = run;
    // With values, a plan that fits them is worth more than the time it takes to find one; the first run only tells
    // whether it is slow.
    const isKept = query.values.length === 0 && cost?.milliseconds !== undefined;
    const { text, values } = query;
    const limits = {
      end,
      deadline: deadlineOf(work),
      // The answer of a read is for its caller alone; a write that was begun is finished.
      caller: lane === 'read' ? work.caller : undefined,
    };
    try {
      const started = performance.now();
      const words = isKept ? query : { text, values };
      const rows = await runWatched(connection, words, preparedOn(connection.client), cancel, limits);
      if (cost !== undefined) note(cost, performance.now() - started);
      return rows;
    } catch (error) {
      run.isBroken = isConnectionLoss(error);
      if (run.isBroken) throw lostStatement(error, lane === 'write');
      if (!(await goesOn(connection))) {
        run.isBroken = true;
        destroy(connection, STUCK);
      }
      throw error;
    }
  }

  /** True when the statement, as far as is known, has never taken long. */
  function isModerate(cost: StatementCost | undefined): boolean {
    return cost?.milliseconds !== undefined && cost.milliseconds < PLAIN_MS / 2 && !isHeld(cost, performance.now());
  }

  return runSlow;
}
