// The service time of each statement, learned from its runs: where it runs, and how much work it adds to a connection,
// follow from it. A slow statement on a pipelined connection would hold up what was sent after it.
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';
import type { Expected } from './executor.ts';

/** Of one statement, shared by all who run the same text. */
export interface ServiceTime {
  /** What an undisturbed run takes, in milliseconds; undefined before the first. */
  aloneMs: number | undefined;
  /** What it takes of PostgreSQL's time on average, in milliseconds, without the round trip. */
  workMs: number | undefined;
  /** Undefined before the first run of a statement of which nothing was expected. */
  isQuick: boolean | undefined;
}

/** Finds the service time of a statement; undefined where nothing is expected of it, and so nothing learned. */
export type ServiceTimes = (
  query: Pick<Query, 'name' | 'text'>,
  expected: Expected | undefined,
) => ServiceTime | undefined;

// Compiled statements are remembered in about the same number. Those without a name are found by their text.
const MAX_STATEMENTS = 10_000;
const MAX_CHARACTERS = 8_388_608;
const SLOW_MS = 20;
// A slow statement is quick again below this. With one bound for both, statements near it changed pools all the time, and
// requests that had waited in one pool waited again in the other (p99 2.5 times that of one pool).
const QUICK_MS = 5;
const WEIGHT = 0.1;
const MIN_WORK_MS = 0.02;
// The quickest answer tells the round trip; should that become longer, it is learned after some thousand answers.
const ROUND_TRIP_GROWTH = 1.0001;

export function makeServiceTimes(): ServiceTimes {
  const statements = new LRUCache<string, ServiceTime>({
    max: MAX_STATEMENTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_time, key) => key.length,
  });
  return ({ name, text }, expected) => {
    if (expected === undefined) return undefined;
    const key = name ?? text;
    let time = statements.get(key);
    if (time === undefined) {
      time = { aloneMs: undefined, workMs: undefined, isQuick: expected === 'quick' ? true : undefined };
      statements.set(key, time);
    }
    return time;
  };
}

const updateAverage = (previous: number | undefined, milliseconds: number): number =>
  previous === undefined ? milliseconds : previous * (1 - WEIGHT) + milliseconds * WEIGHT;

/**
 * Learns from a run that was alone on its connection. A quicker one counts whole, a slower one a tenth: on a busy machine any
 * run may look slow, and a quick statement that was first met then would stay in the slow pool (measured: at a third of its
 * throughput).
 */
export function learnAlone(time: ServiceTime, milliseconds: number): void {
  const { aloneMs } = time;
  time.aloneMs = aloneMs !== undefined && milliseconds < aloneMs ? milliseconds : updateAverage(aloneMs, milliseconds);
  if (time.aloneMs >= SLOW_MS) time.isQuick = false;
  else if (time.isQuick === undefined || time.aloneMs < QUICK_MS) time.isQuick = true;
}

/** Learns from a run that shared its connection: a statement that is never alone must not hold up others for ever. */
export function learnWork(time: ServiceTime, milliseconds: number): void {
  time.workMs = updateAverage(time.workMs, milliseconds);
  if (time.workMs >= SLOW_MS) time.isQuick = false;
}

/**
 * Learns from a run on a pipelined connection: `tookMs` from sending to answer, `sinceLastMs` after the answer before it. One
 * that was alone tells its own time; any other began when the one before it ended.
 */
export type Learn = (time: ServiceTime | undefined, isAlone: boolean, elapsedMs: number, sinceLastMs: number) => void;

/** For one pool, whose connections have the same round trip. */
export function makeLearner(): Learn {
  let roundTripMs = Number.POSITIVE_INFINITY;
  return (time, isAlone, elapsedMs, sinceLastMs) => {
    if (isAlone) roundTripMs = Math.min(elapsedMs, roundTripMs * ROUND_TRIP_GROWTH);
    if (time === undefined) return;
    if (isAlone) learnAlone(time, elapsedMs);
    learnWork(time, Math.max(MIN_WORK_MS, isAlone ? elapsedMs - roundTripMs : Math.min(elapsedMs, sinceLastMs)));
  };
}
