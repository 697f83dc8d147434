// The rate limit of a server of several processes: the primary has the buckets, workers ask it for tokens.
import { serviceUnavailable } from '../errors.ts';
import { type Grant, makeBuckets, makeRateLimit, makeSharedRateLimit, type RateLimit } from '../pace/rate-limit.ts';
import { answerWorkers, askPrimary, isWorker } from './primary.ts';

const TOKENS = 'tokens';
const TOKENS_TIMEOUT_MS = 2000;

interface TokenQuestion {
  readonly credentialId: string;
  readonly count: number;
}

const now = (): number => performance.now();

/** In the primary: gives the workers their tokens. `perMinute`: requests of one credential. */
export function answerForTokens(perMinute: number): void {
  const take = makeBuckets(perMinute, now);
  answerWorkers(TOKENS, ({ credentialId, count }: TokenQuestion) => take(credentialId, count));
}

/** The limit as it holds in this process; 503 in a worker whose primary does not answer. */
export function makeServerRateLimit(perMinute: number): RateLimit {
  if (!isWorker()) return makeRateLimit(perMinute, now);
  const ask = (credentialId: string, count: number): Promise<Grant> =>
    askPrimary<Grant>(TOKENS, { credentialId, count } satisfies TokenQuestion, TOKENS_TIMEOUT_MS).catch((error) => {
      throw serviceUnavailable('The rate limit could not be looked up; retry', 1, error);
    });
  return makeSharedRateLimit(perMinute, ask, now);
}
