// Parameters of requests that start a migration: what it may drop, and how long the answer waits for its end.
import { setTimeout as sleep } from 'node:timers/promises';
import { badRequest } from '../errors.ts';
import { Type } from '../schema/type.ts';
import { flag, type Parameter } from './query.ts';

const DEFAULT_WAIT_SECONDS = 10;
const MAX_WAIT_SECONDS = 60;

export const DESTRUCTIVE = flag('Drop entities, fields and relations that the document does not have any more.');

export const WAIT: Parameter<number> = {
  shape: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: DEFAULT_WAIT_SECONDS,
    description: 'Seconds to wait for the end of the migration.',
  }),
  read(text = String(DEFAULT_WAIT_SECONDS)) {
    const seconds = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
    if (seconds <= MAX_WAIT_SECONDS) return seconds;
    throw badRequest('INVALID_PARAMETER', `wait must be an integer from 0 to ${MAX_WAIT_SECONDS}`);
  },
};

/** Waits for a migration, at most `seconds`; returns false if it takes longer. */
export async function isCompletedWithin(completion: Promise<unknown>, seconds: number): Promise<boolean> {
  const timeout = new AbortController();
  const isCompleted = await Promise.race([
    completion.then(() => true),
    sleep(seconds * 1000, false, { signal: timeout.signal }).catch(() => false),
  ]);
  timeout.abort();
  return isCompleted;
}
