// Assembles our own OAuth 2.0 server on the control tables: keys, verifier of tokens and token endpoint.

import type { Database } from '../database/pool.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { toControlError } from '../store/control-error.ts';
import { findOAuthClient, findTokenClient } from '../store/oauth-clients.ts';
import type { ProcessRegistry } from '../store/process-registry.ts';
import { loadSigningKeys, raiseTokenLifetime, rotateSigningKey } from '../store/signing-keys.ts';
import type { TokenVerifier } from './authenticate.ts';
import type { Bulkhead } from './bulkhead.ts';
import { makeInternalVerifier } from './internal-token.ts';
import { makeSigningKeys, type SigningKeys } from './signing-keys.ts';
import { makeTokenEndpoint, type NodeHandler, type TokenEndpointOptions } from './token-endpoint.ts';

export interface InternalOAuthOptions {
  readonly db: Database;
  readonly issuer: string;
  /** See TokenEndpointOptions. */
  readonly getResource: TokenEndpointOptions['getResource'];
  readonly tokenPath: string;
  readonly tokenLifetimeSeconds: number;
  readonly signingKeyDays: number;
  readonly rateLimit: RateLimit;
  readonly waitForThrottle: () => Promise<void>;
  /** Limits lookups for callers who have not presented a secret yet. */
  readonly bulkhead: Bulkhead;
  readonly registry: Pick<ProcessRegistry, 'validFrom' | 'compare'>;
  /** Monotonic milliseconds, on the clock of `registry`. */
  readonly now: () => number;
  readonly onError: (message: string, error: unknown) => void;
  readonly onDisconnect: (message: string, error: unknown) => void;
}

export interface InternalOAuth {
  readonly keys: SigningKeys;
  readonly verify: TokenVerifier;
  readonly tokenEndpoint: () => Promise<NodeHandler>;
}

const DAY_SECONDS = 86_400;

export function makeInternalOAuth(options: InternalOAuthOptions): InternalOAuth {
  const { db, issuer, tokenPath, tokenLifetimeSeconds, rateLimit, waitForThrottle, onError, onDisconnect } = options;
  const rotateAfterSeconds = options.signingKeyDays * DAY_SECONDS;
  const keys = makeSigningKeys({
    store: {
      load: () => withControlErrors(loadSigningKeys(db, rotateAfterSeconds)),
      rotate: (key, rotation, writeActivity) => withControlErrors(rotateSigningKey(db, key, rotation, writeActivity)),
      raiseTokenLifetime: (kid, seconds) => withControlErrors(raiseTokenLifetime(db, kid, seconds)),
    },
    tokenLifetimeSeconds,
    rotateAfterSeconds,
    validFrom: options.registry.validFrom,
    refreshValidity: () => options.registry.compare([]),
    now: options.now,
  });
  return {
    keys,
    verify: makeInternalVerifier({
      issuer,
      verificationKey: (kid) => keys.verificationKey(kid),
      findClient: (clientId, kid) => withControlErrors(findTokenClient(db, clientId, kid)),
      now: () => Date.now(),
    }),
    tokenEndpoint: makeTokenEndpoint({
      issuer,
      getResource: options.getResource,
      path: tokenPath,
      tokenLifetimeSeconds,
      signingKey: () => keys.signingKey(),
      findClient: (clientId) => withControlErrors(options.bulkhead(() => findOAuthClient(db, clientId))),
      rateLimit,
      waitForThrottle,
      onError,
      onDisconnect,
    }),
  };
}

/** Translates errors of the control database. */
function withControlErrors<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw toControlError(error);
  });
}
