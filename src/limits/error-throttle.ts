// The pace of refusals: a client that floods a process with requests without a valid credential (invalid and missing
// ones, those of another workspace, unknown paths, token requests that fail) waits for the answers, so that refusing
// does not take the process from known clients. Valid credentials never wait, remembered or new.
import type { Metric } from '../metric.ts';

export interface ErrorThrottle {
  /** Resolves when a refusal may be sent. */
  readonly wait: () => Promise<void>;
  /** Refusals that had or have a turn. */
  readonly count: () => number;
}

// A refused token costs about 150 µs of processor time with everything around it: 500 a second are a thirteenth of a
// processor. 16 connections that flood without a pace took three quarters of the throughput of 16 that read.
const PER_SECOND = 500;
const INTERVAL_MS = 1000 / PER_SECOND;
// This many at once do not wait: a page that was left open overnight sends many requests with its old token.
const BURST = 100;
const MAX_DELAY_MS = 2000;
// Each waiting refusal is a request in memory, some kB.
const MAX_WAITING = 10_000;

/** `now` in milliseconds, never going back; `sleep` takes milliseconds. */
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
