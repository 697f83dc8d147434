// Circuit breakers keep statements that lately ran into the timeout of the pipelined pools out of these for a while. One breaker
// opens for a statement at its first timeout; one for a tenant at its third in half a minute, as a new shape of request is a
// new statement.
import { LRUCache } from 'lru-cache';

export interface CircuitBreaker {
  /** Counts a timeout. `now`: performance.now(). */
  recordFailure(key: string, now: number): void;
  /** Closes the breaker of the key: its failures were not its own. */
  reset(key: string): void;
  /** True while statements of the key must stay out. */
  isOpen(key: string, now?: number): boolean;
}

export interface CircuitBreakerOptions {
  /** Number of failures within `WITHIN_MS` that open the breaker. */
  readonly failures: number;
  readonly minOpenMs: number;
  readonly maxOpenMs: number;
}

interface State {
  failures: number;
  windowStart: number;
  openUntil: number;
  openMs: number;
}

const WINDOW_MS = 30_000;
const MAX_KEYS = 10_000;
const MAX_CHARACTERS = 8_388_608;
// After this many times its last open time without a failure the breaker is reset.
const RESET_FACTOR = 10;

export function makeCircuitBreaker({ failures, minOpenMs, maxOpenMs }: CircuitBreakerOptions): CircuitBreaker {
  const states = new LRUCache<string, State>({
    max: MAX_KEYS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_state, key) => key.length,
  });
  return {
    recordFailure(key, now) {
      let state = states.get(key);
      if (
        state === undefined ||
        now - Math.max(state.windowStart, state.openUntil) > Math.max(WINDOW_MS, state.openMs * RESET_FACTOR)
      ) {
        state = { failures: 0, windowStart: now, openUntil: 0, openMs: 0 };
        states.set(key, state);
      }
      state.failures++;
      // One failure is enough to open it again.
      if (state.failures < failures && state.openMs === 0) return;
      state.failures = 0;
      state.windowStart = now;
      state.openMs = Math.min(maxOpenMs, Math.max(minOpenMs, state.openMs * 2));
      state.openUntil = now + state.openMs;
    },
    reset: (key) => void states.delete(key),
    isOpen(key, now) {
      const state = states.size === 0 ? undefined : states.peek(key);
      return state !== undefined && state.openUntil > 0 && (now ?? performance.now()) < state.openUntil;
    },
  };
}
