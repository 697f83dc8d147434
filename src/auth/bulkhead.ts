// The share of the database that all unknown callers have together: look-ups of keys, of tokens' clients and providers,
// and of workspaces that are not in memory. A few look-ups run at a time, so that a crowd of strangers cannot fill the
// queue in which the statements of known callers wait. A look-up takes half a millisecond: some 100,000 a second are
// possible.

import { serviceUnavailable } from '../errors.ts';
import { toControlError } from '../store/control-error.ts';

/**
 * Does the work when there is room for it. Rejects with 503 when there was no room in time, or when too many wait;
 * errors of the database become refusals.
 */
export type Bulkhead = <T>(work: () => Promise<T>) => Promise<T>;

const MAX_CONCURRENT = 50;
// Each is a request in memory, some kB.
const MAX_WAITING = 10_000;

/** `waitMs`: how long a look-up may wait before it begins. */
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
