// Turns of imports and exports: each holds a database connection for as long as its client takes, so some connections
// are kept from them, for reads that take long and for administration.
import { serviceUnavailable } from '../errors.ts';

export interface Turns {
  /** Resolves with the function that ends the turn; 503 when none came in time. */
  readonly take: () => Promise<() => void>;
}

export function makeTurns(count: number, waitMs: number): Turns {
  let free = count;
  const waiting: (() => void)[] = [];
  const makeEnd = (): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    };
  };
  return {
    take() {
      if (free > 0) {
        free--;
        return Promise.resolve(makeEnd());
      }
      return new Promise((resolve, reject) => {
        const begin = (): void => {
          clearTimeout(timer);
          resolve(makeEnd());
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1);
          reject(serviceUnavailable('Too many imports and exports are running; retry', 5));
        }, waitMs);
        waiting.push(begin);
      });
    },
  };
}
