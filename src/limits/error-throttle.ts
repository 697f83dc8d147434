// Limits the rate of refusals: a client that floods a process with requests without a valid credential (missing or invalid,
// of another workspace, unknown paths, failing token requests) waits for its answers, so that refusing does not take the
// process from other clients. Requests with valid credentials never wait, cached or not.
import type { Metric } from '../metric.ts';

export interface ErrorThrottle {
  /** Resolves when a refusal may be sent. */
  readonly wait: () => Promise<void>;
  /** Number of refusals that were throttled. */
  readonly count: () => number;
}

// Refusing a token costs about 150 µs of processor time in all: 500 a second are a thirteenth of a processor. Without a limit
// 16 flooding connections took three quarters of the throughput of 16 that read.
const PER_SECOND = 500;
const INTERVAL_MS = 1000 / PER_SECOND;
// Refusals that need not wait: a page that was left open overnight sends many requests with its old token.
const BURST = 100;
const MAX_DELAY_MS = 2000;
// Each waiting refusal keeps its request in memory, some kB.
const MAX_WAITING = 10_000;

/** Makes a throttle. `now`: milliseconds of a clock that never goes back; `sleep` takes milliseconds. */
export function makeErrorThrottle(now: () => number, sleep: (milliseconds: number) => Promise<unknown>): ErrorThrottle {
  let nextAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let count = 0;
  async function take(): Promise<void> {
    count++;
    const time = now();
    nextAt = Math.min(Math.max(nextAt, time - BURST * INTERVAL_MS) + INTERVAL_MS, time + MAX_DELAY_MS);
    const delay = nextAt - time;
    if (delay <= 0 || waiting >= MAX_WAITING) return;
    waiting++;
    await sleep(delay).finally(() => {
      waiting--;
    });
  }
  return { wait: take, count: () => count };
}

export const buildThrottleMetrics = ({ count }: Pick<ErrorThrottle, 'count'>): readonly Metric[] => [
  {
    name: 'wda_throttled_errors_total',
    help: 'Errors of requests without a valid credential, sent at a limited rate',
    read: count,
  },
];
