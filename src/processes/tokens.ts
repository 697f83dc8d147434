// The rate limits of a server of several processes: the primary has the buckets, workers ask it for tokens.
import { serviceUnavailable } from '../errors.ts';
import { type Grant, makeBuckets, makeRateLimit, makeSharedRateLimit, type RateLimit } from '../limits/rate-limit.ts';
import { answerWorkers, askPrimary, isWorker } from './primary.ts';

/** What is counted: all requests, the calls of agents, or attempts to sign in to the console. */
export type Counted = 'requests' | 'agents' | 'sign-ins';

const questionOf = (counted: Counted): string => `tokens of ${counted}`;
const TOKENS_TIMEOUT_MS = 2000;

interface TokenQuestion {
  readonly credentialId: string;
  readonly count: number;
}

const now = (): number => performance.now();

/** In the primary: gives the workers their tokens. `perMinute`: of one credential. */
export function answerForTokens(counted: Counted, perMinute: number): void {
  const take = makeBuckets(perMinute, now);
  answerWorkers(questionOf(counted), ({ credentialId, count }: TokenQuestion) => take(credentialId, count));
}

/** The limit as it holds in this process; 503 in a worker whose primary does not answer. */
export function makeServerRateLimit(counted: Counted, perMinute: number): RateLimit {
  if (!isWorker()) return makeRateLimit(perMinute, now);
  const ask = (credentialId: string, count: number): Promise<Grant> =>
    askPrimary<Grant>(questionOf(counted), { credentialId, count } satisfies TokenQuestion, TOKENS_TIMEOUT_MS).catch(
      (error) => {
        throw serviceUnavailable('RATE_LIMIT_UNAVAILABLE', 'The rate limit could not be looked up; retry', 1, error);
      },
    );
  return makeSharedRateLimit(perMinute, ask, now);
}
