// Limits requests per minute and credential: a token bucket each, in bounded memory. Off unless configured. With several
// processes the buckets are in the primary, and each worker takes tokens from there, a few at a time.
import { LRUCache } from 'lru-cache';
import { rateLimited, workspaceRateLimited } from '../errors.ts';

/** Counts one request of the credential; rejects with 429 and the seconds until the next is allowed. */
export type RateLimit = (credentialId: string) => Promise<void>;

/** Tokens taken from a bucket, no more than requested; if there are none, the time until the next. */
export interface Grant {
  readonly tokens: number;
  readonly waitMs: number;
}

/** Takes at most `count` tokens from the credential's bucket. */
export type TakeTokens = (credentialId: string, count: number) => Grant;

/** Counts one request of a workspace that may have so many each minute; rejects with 429 and the seconds until the next. */
export type WorkspaceRateLimit = (workspaceId: string, perMinute: number) => Promise<void>;

interface Bucket {
  tokens: number;
  at: number;
}

const MAX_CREDENTIALS = 100_000;
// Workspaces that a worker knows to be beyond their limit.
const MAX_WORKSPACES = 10_000;
// Longest wait that a refusal names: a workspace may have a limit of 0 requests.
const MAX_WAIT_MS = 60_000;

const UNLIMITED: RateLimit = async () => undefined;

/** Makes the buckets. `now`: milliseconds. A bucket holds a minute's tokens and starts full. */
export function makeBuckets(perMinute: number, now: () => number): TakeTokens {
  const take = makeRatedBuckets(now);
  return (credentialId, count) => take(credentialId, count, perMinute);
}

/** Makes buckets of different rates: the last that was given for a bucket holds. */
export function makeRatedBuckets(now: () => number): (id: string, count: number, perMinute: number) => Grant {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_CREDENTIALS });
  return (credentialId, count, perMinute) => {
    const perMillisecond = perMinute / 60_000;
    const time = now();
    const bucket = buckets.get(credentialId) ?? { tokens: perMinute, at: time };
    bucket.tokens = Math.min(perMinute, bucket.tokens + (time - bucket.at) * perMillisecond);
    bucket.at = time;
    buckets.set(credentialId, bucket);
    const tokens = Math.min(count, Math.floor(bucket.tokens));
    bucket.tokens -= tokens;
    return { tokens, waitMs: tokens > 0 ? 0 : Math.min((1 - bucket.tokens) / perMillisecond, MAX_WAIT_MS) };
  };
}

/** Makes the limit of a single process; `perMinute` 0 turns it off. */
export function makeRateLimit(perMinute: number, now: () => number): RateLimit {
  if (perMinute === 0) return UNLIMITED;
  const take = makeBuckets(perMinute, now);
  return async (credentialId) => {
    const { tokens, waitMs } = take(credentialId, 1);
    if (tokens === 0) throw toRateLimitError(waitMs);
  };
}

/** Tokens that a worker holds, or the time until which the bucket has none. */
interface Lease {
  tokens: number;
  blockedUntil: number;
  pending: Promise<void> | undefined;
}

// A worker takes the tokens of a tenth of a second at once: tokens that it does not use are missing in other workers, less than
// 0.2 % of a minute's.
const LEASES_PER_MINUTE = 600;

/** Makes the limits of workspaces in a single process. */
export function makeWorkspaceRateLimit(now: () => number): WorkspaceRateLimit {
  const take = makeRatedBuckets(now);
  return async (workspaceId, perMinute) => {
    const { tokens, waitMs } = take(workspaceId, 1, perMinute);
    if (tokens === 0) throw workspaceRateLimited(toSeconds(waitMs), perMinute);
  };
}

/**
 * Makes the limits of workspaces in a worker, which asks for each request: only workspaces with a limit are counted. What is
 * refused is not asked again until there is a token, unless the limit has changed.
 */
export function makeSharedWorkspaceRateLimit(
  requestToken: (workspaceId: string, perMinute: number) => Promise<Grant>,
  now: () => number,
): WorkspaceRateLimit {
  const refusals = new LRUCache<string, { readonly perMinute: number; readonly until: number }>({
    max: MAX_WORKSPACES,
  });
  return async (workspaceId, perMinute) => {
    const refusal = refusals.get(workspaceId);
    const leftMs = refusal?.perMinute === perMinute ? refusal.until - now() : 0;
    if (leftMs > 0) throw workspaceRateLimited(toSeconds(leftMs), perMinute);
    const { tokens, waitMs } = await requestToken(workspaceId, perMinute);
    if (tokens > 0) return;
    refusals.set(workspaceId, { perMinute, until: now() + waitMs });
    throw workspaceRateLimited(toSeconds(waitMs), perMinute);
  };
}

/** Makes the limit of a worker: `ask` takes tokens from the buckets that all workers share. */
export function makeSharedRateLimit(
  perMinute: number,
  requestTokens: (credentialId: string, count: number) => Promise<Grant>,
  now: () => number,
): RateLimit {
  if (perMinute === 0) return UNLIMITED;
  const leases = new LRUCache<string, Lease>({ max: MAX_CREDENTIALS });
  const count = Math.max(1, Math.floor(perMinute / LEASES_PER_MINUTE));

  function renew(credentialId: string, lease: Lease): Promise<void> {
    lease.pending ??= requestTokens(credentialId, count)
      .then(({ tokens, waitMs }) => {
        lease.tokens += tokens;
        if (tokens === 0) lease.blockedUntil = now() + waitMs;
      })
      .finally(() => {
        lease.pending = undefined;
      });
    return lease.pending;
  }

  return async (credentialId) => {
    let lease = leases.get(credentialId);
    if (lease === undefined) {
      lease = { tokens: 0, blockedUntil: Number.NEGATIVE_INFINITY, pending: undefined };
      leases.set(credentialId, lease);
    }
    while (lease.tokens === 0) {
      const waitMs = lease.blockedUntil - now();
      if (waitMs > 0) throw toRateLimitError(waitMs);
      await renew(credentialId, lease);
    }
    lease.tokens--;
  };
}

const toRateLimitError = (waitMs: number): Error => rateLimited(toSeconds(waitMs));

const toSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));
