// When a message is sent again after a failed attempt.

const MAX_RETRY_AFTER_MS = 86_400_000;
// Receivers that failed together are not called together again.
const JITTER = 0.2;

/**
 * Returns the milliseconds until the next attempt after this many failed ones. `seconds`: the delays, of which the last one
 * repeats. `retryAfterMs`: what the receiver wants, which counts where it is longer. `random`: from 0 to 1.
 */
export function getRetryMs(
  seconds: readonly number[],
  failures: number,
  retryAfterMs: number | undefined,
  random: number,
): number {
  const delay = seconds[Math.min(failures, seconds.length) - 1] ?? 0;
  return Math.max(Math.round(delay * 1000 * (1 - JITTER + 2 * JITTER * random)), retryAfterMs ?? 0);
}

/** Returns the milliseconds that a Retry-After (RFC 9110 section 10.2.3) names, a day at most; undefined without a valid one. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  // Date.parse() takes any text with a number.
  const milliseconds = /^\d+$/.test(header)
    ? Number(header) * 1000
    : /^[A-Z][a-z]{2}, /.test(header)
      ? Date.parse(header) - now
      : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : Math.min(Math.max(0, milliseconds), MAX_RETRY_AFTER_MS);
}
