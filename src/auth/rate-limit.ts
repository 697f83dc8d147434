// Requests per minute and credential: a token bucket each, in bounded memory. Off unless configured.
import { LRUCache } from 'lru-cache';
import { rateLimited } from '../errors.ts';

/** Counts one request of the credential; throws 429 with the seconds until the next is allowed. */
export type RateLimit = (credentialId: string) => void;

interface Bucket {
  tokens: number;
  at: number;
}

/** `now` in milliseconds. `perMinute` 0 turns the limit off. */
export function makeRateLimit(perMinute: number, now: () => number): RateLimit {
  if (perMinute === 0) return () => undefined;
  const buckets = new LRUCache<string, Bucket>({ max: 100_000 });
  const perMillisecond = perMinute / 60_000;
  return (credentialId) => {
    const time = now();
    const bucket = buckets.get(credentialId) ?? { tokens: perMinute, at: time };
    bucket.tokens = Math.min(perMinute, bucket.tokens + (time - bucket.at) * perMillisecond);
    bucket.at = time;
    buckets.set(credentialId, bucket);
    if (bucket.tokens < 1) throw rateLimited(Math.max(1, Math.ceil((1 - bucket.tokens) / perMillisecond / 1000)));
    bucket.tokens -= 1;
  };
}
