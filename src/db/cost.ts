// What is learned of a statement from its runs, and the lane that follows from it. A slow statement on a pipelined
// connection would hold up what was sent after it.
import { LRUCache } from 'lru-cache';
import type { Query } from '../sql/fragment.ts';

/** What the maker of a statement knows of its time before it has run. */
export type Expected = 'quick' | 'unknown';

/** What was learned of one statement. All who run the same text share it. */
export interface StatementCost {
  /** What an undisturbed run takes, in milliseconds; undefined before the first. */
  milliseconds: number | undefined;
  /** What it takes of PostgreSQL's time on average, in milliseconds, the way there and back left out. */
  work: number | undefined;
  /** Undefined before the first run of a statement of which nothing was expected. */
  isQuick: boolean | undefined;
  /** Broke the promise of the quick lanes: it stays away from them until then (performance.now()). */
  heldUntil?: number;
  /** How long the last hold was, in milliseconds. */
  hold?: number;
}

export interface Costs {
  /** Of the statement; undefined where nothing is expected of it, and so nothing learned. */
  readonly of: (query: Pick<Query, 'name' | 'text'>, expected: Expected | undefined) => StatementCost | undefined;
}

// Statements, and characters of those that have no name and are found by their text. Compiled statements are remembered
// in about the same number.
const MAX_COSTS = 10_000;
const MAX_COST_CHARACTERS = 8_388_608;

/**
 * The costs of all statements, by name, those without one by text; of too many, what was asked for longest ago is
 * forgotten. A look-up takes 25 ns by name and 35 by text (a WeakMap by compiled statement: 20, but then every query would
 * have to carry that statement, and equal texts that were compiled twice would be learned twice).
 */
export function makeCosts(): Costs {
  const known = new LRUCache<string, StatementCost>({
    max: MAX_COSTS,
    maxSize: MAX_COST_CHARACTERS,
    sizeCalculation: (_cost, key) => key.length,
  });
  return {
    of({ name, text }, expected) {
      if (expected === undefined) return undefined;
      const key = name ?? text;
      const found = known.get(key);
      if (found !== undefined) return found;
      const isQuick = expected === 'quick' ? true : undefined;
      const cost: StatementCost = { milliseconds: undefined, work: undefined, isQuick };
      known.set(key, cost);
      return cost;
    },
  };
}

// Characters of all values of a statement. An index of parts takes a second for a text of a megabyte, and PostgreSQL stops nothing
// within: what was sent behind it would wait, and be lost with a connection that is left (ending.ts).
const LONG_VALUES = 131_072;

/** True when the values alone make a statement one that may take its time. */
export function hasLongValues({ values }: Pick<Query, 'values'>): boolean {
  let length = 0;
  for (const value of values) {
    if (typeof value === 'string') length += value.length;
    else if (Array.isArray(value)) for (const one of value) if (typeof one === 'string') length += one.length;
  }
  return length > LONG_VALUES;
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

/**
 * Counts a run: `took` ms from sending to answer, `sinceLast` ms after the answer before it. Only a statement that was
 * alone on its connection tells its own time; the others began when the one before ended.
 */
export type Learn = (cost: StatementCost | undefined, isAlone: boolean, took: number, sinceLast: number) => void;

// The least that a statement takes.
const MIN_WORK_MS = 0.02;
// The quickest answer tells the round trip; should that become longer, it is learned after some thousand answers.
const ROUND_TRIP_GROWTH = 1.0001;

/** For the statements of one lane, whose connections lead the same way. */
export function makeLearner(): Learn {
  let roundTripMs = Number.POSITIVE_INFINITY;
  return (cost, isAlone, took, sinceLast) => {
    if (isAlone) roundTripMs = Math.min(took, roundTripMs * ROUND_TRIP_GROWTH);
    if (cost === undefined) return;
    if (isAlone) note(cost, took);
    noteWork(cost, Math.max(MIN_WORK_MS, isAlone ? took - roundTripMs : Math.min(took, sinceLast)));
  };
}

/** A hold that grows each time it is needed again. */
export interface Hold {
  heldUntil?: number;
  hold?: number;
}

/** Of the same thing in milliseconds: the first time, and at most. */
export interface HoldLimits {
  readonly first: number;
  readonly most: number;
}

// One that waited for a lock was not slow by itself, and the lock will be gone soon; one whose values make it slow will meet
// such values again.
export const LOCK_HOLD: HoldLimits = { first: 1000, most: 30_000 };
export const SLOW_HOLD: HoldLimits = { first: 10_000, most: 600_000 };
// So many times the last hold without a fault, and the next one begins small again.
const FORGIVEN_AFTER = 10;

/** Doubles with each fault, so that nobody can flip a statement from lane to lane by its values. `now`: performance.now(). */
export function hold(held: Hold, { first, most }: HoldLimits, now: number): void {
  const last = held.hold ?? 0;
  const isForgiven = now - (held.heldUntil ?? 0) > last * FORGIVEN_AFTER;
  held.hold = isForgiven ? first : Math.min(most, Math.max(first, last * 2));
  held.heldUntil = now + held.hold;
}

export const isHeld = (held: Hold, now: number): boolean => held.heldUntil !== undefined && held.heldUntil > now;
