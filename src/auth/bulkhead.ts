// Bulkhead of the database for all unauthenticated requests: lookups of keys, of clients and providers of tokens, and
// of workspaces that are not cached. A few lookups run at a time, so that a flood of unauthenticated requests cannot
// fill the queue of authenticated ones. A lookup takes half a millisecond: some 100,000 a second are possible.

import { serviceUnavailable } from '../errors.ts';
import { toControlError } from '../store/control-error.ts';

/**
 * Runs the work when a slot is free. Rejects with 503 when none was free in time, or when too many wait; translates
 * database errors.
 */
export type Bulkhead = <T>(work: () => Promise<T>) => Promise<T>;

const MAX_CONCURRENT = 50;
// Each waiting request takes some kB of memory.
const MAX_WAITING = 10_000;

/** Creates the bulkhead. `waitMs`: how long a lookup may wait before it starts. */
export function makeBulkhead(waitMs: number): Bulkhead {
  let free = MAX_CONCURRENT;
  const waiting = new Set<() => void>();

  function waitForPermit(): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        waiting.delete(start);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(start);
        reject(queueFull());
      }, waitMs);
      waiting.add(start);
    });
  }

  return async (work) => {
    if (free > 0) free--;
    else if (waiting.size >= MAX_WAITING) throw queueFull();
    else await waitForPermit();
    try {
      return await work();
    } catch (error) {
      throw toControlError(error);
    } finally {
      const [next] = waiting;
      if (next === undefined) free++;
      else next();
    }
  };
}

const queueFull = (): Error => serviceUnavailable('OVERLOADED', 'Too many credentials wait to be looked up; retry');
