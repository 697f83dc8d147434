// Learns the service time of each statement from its runs, which decides where it runs and how much work it adds to a
// connection. A slow statement on a pipelined connection would hold up the statements that were sent after it.
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';
import type { Expected, Row, StatementOptions } from './executor.ts';

/** Service time of one statement, shared by all runs of the same text. */
export interface ServiceTime {
  /** Milliseconds of an undisturbed run, or undefined before the first. */
  aloneMs: number | undefined;
  /** Average milliseconds of PostgreSQL's time, without the round trip. */
  workMs: number | undefined;
  /** True for a quick statement, or undefined before its first run if nothing is expected of it. */
  isQuick: boolean | undefined;
  /** Length of its last answer if that was large, 0 if it was not, or undefined before the first run. */
  answerBytes: number | undefined;
}

/** Answers above this length run one by one, so that the memory for each is there before it is made. */
const LARGE_ANSWER_BYTES = 1_048_576;

/** Returns the service time of a statement, or undefined where nothing is expected of it and so nothing learned. */
export type ServiceTimes = (
  query: Pick<Query, 'name' | 'text'>,
  expected: Expected | undefined,
) => ServiceTime | undefined;

// About as many as there are compiled statements. Statements without a name are found by their text.
const MAX_STATEMENTS = 10_000;
const MAX_CHARACTERS = 8_388_608;
const SLOW_MS = 20;
// Below this a slow statement counts as quick again. With one bound for both, statements near it changed pools all the time,
// and requests that had waited in one pool waited again in the other (p99 2.5 times that of one pool).
const QUICK_MS = 5;
const WEIGHT = 0.1;
const MIN_WORK_MS = 0.02;
// The quickest answer gives the round trip; this lets a longer one be learned after some thousand answers.
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
      time = {
        aloneMs: undefined,
        workMs: undefined,
        isQuick: expected === 'quick' ? true : undefined,
        answerBytes: undefined,
      };
      statements.set(key, time);
    }
    return time;
  };
}

/** True for a statement that takes little of PostgreSQL's time as a rule. */
export const isUsuallyQuick = (time: ServiceTime | undefined): boolean =>
  time?.workMs !== undefined && time.workMs < QUICK_MS;

/** True when a run of this time is that of a quick statement. */
export const isQuickRun = (milliseconds: number): boolean => milliseconds < SLOW_MS;

const updateAverage = (previous: number | undefined, milliseconds: number): number =>
  previous === undefined ? milliseconds : previous * (1 - WEIGHT) + milliseconds * WEIGHT;

/**
 * Learns from a run that was alone on its connection. A quicker run replaces the average, a slower one counts a tenth: on a
 * busy machine any run may look slow, and a quick statement first seen then would stay in the slow pool (measured: at a third
 * of its throughput).
 */
export function learnAlone(time: ServiceTime, milliseconds: number): void {
  const { aloneMs } = time;
  time.aloneMs = aloneMs !== undefined && milliseconds < aloneMs ? milliseconds : updateAverage(aloneMs, milliseconds);
  if (time.aloneMs >= SLOW_MS) time.isQuick = false;
  else if (time.isQuick === undefined || time.aloneMs < QUICK_MS) time.isQuick = true;
}

/** True when the answer of a read that has not run yet may be too large for the memory that is left. */
export function isMemoryFull({ answerMemory }: StatementOptions, time: ServiceTime | undefined): boolean {
  return answerMemory !== undefined && time !== undefined && time.answerBytes === undefined && answerMemory.isFull();
}

/** Learns the length of an answer. A character of it counts as a byte. */
export function learnAnswer(time: ServiceTime, rows: readonly Row[], { longColumn }: StatementOptions): void {
  let bytes = longColumn?.text?.bytes.length ?? 0;
  for (const row of rows) for (const value of row) if (value !== null) bytes += value.length;
  time.answerBytes = bytes > LARGE_ANSWER_BYTES ? bytes : 0;
}

/** Learns from a run that shared its connection: a statement that is never alone must not hold up others for ever. */
export function learnWork(time: ServiceTime, milliseconds: number): void {
  time.workMs = updateAverage(time.workMs, milliseconds);
  if (time.workMs >= SLOW_MS) time.isQuick = false;
}

/**
 * Learns from a run on a pipelined connection: `elapsedMs` from sending to answer, `sinceLastMs` after the answer before it.
 * The time of a run that was alone is its own; any other run started when the one before it ended.
 */
export type Learn = (time: ServiceTime | undefined, isAlone: boolean, elapsedMs: number, sinceLastMs: number) => void;

/** Makes the learner of one pool, whose connections have the same round trip. */
export function makeLearner(): Learn {
  let roundTripMs = Number.POSITIVE_INFINITY;
  return (time, isAlone, elapsedMs, sinceLastMs) => {
    if (isAlone) roundTripMs = Math.min(elapsedMs, roundTripMs * ROUND_TRIP_GROWTH);
    if (time === undefined) return;
    if (isAlone) learnAlone(time, elapsedMs);
    learnWork(time, Math.max(MIN_WORK_MS, isAlone ? elapsedMs - roundTripMs : Math.min(elapsedMs, sinceLastMs)));
  };
}
