// The share of the database that all unknown callers have together: look-ups of keys, of tokens' clients and providers,
// and of workspaces that are not in memory. A few look-ups run at a time, so that a crowd of strangers cannot fill the
// queue in which the statements of known callers wait. A look-up takes half a millisecond: some 100,000 a second are
// possible.
import { controlError } from '../directory/control-error.ts';
import { serviceUnavailable } from '../errors.ts';

/**
 * Does the work when there is room for it. Rejects with 503 when there was no room in time, or when too many wait;
 * errors of the database become refusals.
 */
export type StrangerShare = <T>(work: () => Promise<T>) => Promise<T>;

const AT_ONCE = 50;
// Each is a request in memory, some kB.
const MAX_WAITING = 10_000;

/** `waitMs`: how long a look-up may wait before it begins. */
export function makeStrangerShare(waitMs: number): StrangerShare {
  let free = AT_ONCE;
  const waiting = new Set<() => void>();

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(begin);
        reject(crowded());
      }, waitMs);
      waiting.add(begin);
    });
  }

  return async (work) => {
    if (free > 0) free--;
    else if (waiting.size >= MAX_WAITING) throw crowded();
    else await turn();
    try {
      return await work();
    } catch (error) {
      throw controlError(error);
    } finally {
      const [next] = waiting;
      if (next === undefined) free++;
      else next();
    }
  };
}

const crowded = (): Error => serviceUnavailable('OVERLOADED', 'Too many credentials wait to be looked up; retry');
