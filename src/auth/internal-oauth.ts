// Our own OAuth 2.0, put together over the control tables: the keys, the verifier of tokens, the token endpoint.

import type { Database } from '../db/pool.ts';
import { controlError } from '../directory/control-error.ts';
import { findOAuthClient, findTokenClient } from '../directory/oauth-clients.ts';
import type { ProcessRegistry } from '../directory/process-registry.ts';
import { loadSigningKeys, raiseTokenLifetime, rotateSigningKey } from '../directory/signing-keys.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { TokenVerifier } from './authenticate.ts';
import { makeInternalVerifier } from './internal-token.ts';
import { makeSigningKeys, type SigningKeys } from './signing-keys.ts';
import type { StrangerShare } from './stranger-share.ts';
import { makeTokenEndpoint, type NodeHandler, type TokenEndpointOptions } from './token-endpoint.ts';

export interface InternalOAuthOptions {
  readonly db: Database;
  readonly issuer: string;
  /** See TokenEndpointOptions. */
  readonly resourceOf: TokenEndpointOptions['resourceOf'];
  readonly tokenPath: string;
  readonly tokenLifetimeSeconds: number;
  readonly signingKeyDays: number;
  readonly rateLimit: RateLimit;
  readonly refusalTurn: () => Promise<void>;
  /** Look-ups for callers that have shown no secret yet go through it. */
  readonly strangers: StrangerShare;
  readonly registry: Pick<ProcessRegistry, 'validFrom' | 'compare'>;
  /** Milliseconds, never going back: the clock of `registry`. */
  readonly now: () => number;
  readonly onError: (message: string, error: unknown) => void;
  readonly onGone: (message: string, error: unknown) => void;
}

export interface InternalOAuth {
  readonly keys: SigningKeys;
  readonly verify: TokenVerifier;
  readonly tokenEndpoint: () => Promise<NodeHandler>;
}

const DAY_SECONDS = 86_400;

export function makeInternalOAuth(options: InternalOAuthOptions): InternalOAuth {
  const { db, issuer, tokenPath, tokenLifetimeSeconds, rateLimit, refusalTurn, onError, onGone } = options;
  const rotateAfterSeconds = options.signingKeyDays * DAY_SECONDS;
  const keys = makeSigningKeys({
    store: {
      load: () => refusing(loadSigningKeys(db, rotateAfterSeconds)),
      rotate: (key, rotation, note) => refusing(rotateSigningKey(db, key, rotation, note)),
      raiseTokenLifetime: (kid, seconds) => refusing(raiseTokenLifetime(db, kid, seconds)),
    },
    tokenLifetimeSeconds,
    rotateAfterSeconds,
    since: options.registry.validFrom,
    look: () => options.registry.compare([]),
    now: options.now,
  });
  return {
    keys,
    verify: makeInternalVerifier({
      issuer,
      verificationKey: (kid) => keys.verificationKey(kid),
      findClient: (clientId, kid) => refusing(findTokenClient(db, clientId, kid)),
      now: () => Date.now(),
    }),
    tokenEndpoint: makeTokenEndpoint({
      issuer,
      resourceOf: options.resourceOf,
      path: tokenPath,
      tokenLifetimeSeconds,
      signingKey: () => keys.signingKey(),
      findClient: (clientId) => refusing(options.strangers(() => findOAuthClient(db, clientId))),
      rateLimit,
      refusalTurn,
      onError,
      onGone,
    }),
  };
}

/** Turns errors of the database into refusals. */
function refusing<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    throw controlError(error);
  });
}
