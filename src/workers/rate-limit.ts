// Rate limits of a server with several processes: the buckets are in the primary, and workers take tokens from there.
import { serviceUnavailable } from '../errors.ts';
import {
  type Grant,
  makeBuckets,
  makeRatedBuckets,
  makeRateLimit,
  makeSharedRateLimit,
  makeSharedWorkspaceRateLimit,
  makeWorkspaceRateLimit,
  type RateLimit,
  type WorkspaceRateLimit,
} from '../limits/rate-limit.ts';
import { isWorker, requestPrimary, respondToWorkers } from './primary.ts';

/** Kind of requests that a limit counts: all requests, calls of agents, or attempts to sign in to the console. */
export type RateLimitScope = 'requests' | 'agents' | 'sign-ins';

const toSubject = (scope: RateLimitScope): string => `tokens of ${scope}`;
const TOKENS_TIMEOUT_MS = 2000;

interface TokenRequest {
  readonly credentialId: string;
  readonly count: number;
}

const now = (): number => performance.now();

/** Runs in the primary: passes tokens to the workers. `perMinute`: tokens of one credential. */
export function serveTokens(scope: RateLimitScope, perMinute: number): void {
  const take = makeBuckets(perMinute, now);
  respondToWorkers(toSubject(scope), ({ credentialId, count }: TokenRequest) => take(credentialId, count));
}

/** Makes the limit of this process; 503 in a worker whose primary does not respond. */
export function makeServerRateLimit(scope: RateLimitScope, perMinute: number): RateLimit {
  if (!isWorker()) return makeRateLimit(perMinute, now);
  const requestTokens = (credentialId: string, count: number): Promise<Grant> =>
    requestGrant(toSubject(scope), { credentialId, count } satisfies TokenRequest);
  return makeSharedRateLimit(perMinute, requestTokens, now);
}

const requestGrant = (subject: string, request: object): Promise<Grant> =>
  requestPrimary<Grant>(subject, request, TOKENS_TIMEOUT_MS).catch((error) => {
    throw serviceUnavailable('RATE_LIMIT_UNAVAILABLE', 'The rate limit could not be looked up; retry', 1, error);
  });

const WORKSPACE_SUBJECT = 'tokens of workspaces';

interface WorkspaceTokenRequest {
  readonly workspaceId: string;
  readonly perMinute: number;
}

/** Runs in the primary: passes tokens of workspaces with a limit of their own to the workers. */
export function serveWorkspaceTokens(): void {
  const take = makeRatedBuckets(now);
  respondToWorkers(WORKSPACE_SUBJECT, ({ workspaceId, perMinute }: WorkspaceTokenRequest) =>
    take(workspaceId, 1, perMinute),
  );
}

/** Makes the limits of workspaces of this process. */
export function makeServerWorkspaceRateLimit(): WorkspaceRateLimit {
  if (!isWorker()) return makeWorkspaceRateLimit(now);
  return makeSharedWorkspaceRateLimit(
    (workspaceId, perMinute) =>
      requestGrant(WORKSPACE_SUBJECT, { workspaceId, perMinute } satisfies WorkspaceTokenRequest),
    now,
  );
}
