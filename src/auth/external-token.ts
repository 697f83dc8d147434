// Tokens of the workspace's identity provider -> external users. CHECKS is the order in which they are refused; nothing
// of a token but its issuer is judged before its signature. Keys come from the configuration alone: the token's own
// `jwk`, `jku`, `x5c` and `x5u` are never looked at.
import { hash } from 'node:crypto';
import { compactVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { ApiError } from '../errors.ts';
import type { External } from '../model/principal.ts';
import type { IdentityProvider, Workspace } from '../model/workspace.ts';
import { OutboundError } from '../outbound/outbound.ts';
import type { Verified } from './authenticate.ts';
import {
  type Claims,
  expiryOf,
  type Moment,
  refuseAudience,
  refuseExpired,
  refuseNoExpiry,
  refuseNotBefore,
  refuseResource,
  refuseSubject,
} from './claims.ts';
import { issuerMismatch, jwksNotDiscovered, noIdentityProvider, notAJwt, signatureInvalid } from './errors.ts';
import { type Algorithm, isAlgorithm, type VerificationKey } from './jwk.ts';
import { type Jwt, type JwtHeader, readJwt } from './jwt.ts';
import type { KeySet, KeySets } from './key-set.ts';

/** The parts of a workspace that a token is judged by. */
export type TokenPlace = Pick<Workspace, 'id' | 'version' | 'identityProvider'>;

export type CheckName =
  | 'format'
  | 'provider'
  | 'enabled'
  | 'issuer'
  | 'algorithm'
  | 'keys'
  | 'signature'
  | 'expiry'
  | 'audience'
  | 'subject'
  | 'expiryClaim'
  | 'notBefore';

export interface CheckResult {
  readonly check: CheckName;
  /** null: not made, as an earlier check failed or the claim is absent that it is about. */
  readonly passed: boolean | null;
  /** The message that a request would get, when the check failed. */
  readonly message: string | null;
}

export interface Explanation {
  readonly checks: readonly CheckResult[];
  /** Claims of the token, believed or not; null when it is no JWT. */
  readonly claims: Claims | null;
  /** The user that a request with this token would be; null when it would be refused. */
  readonly principal: External | null;
}

export interface ExternalTokens {
  /**
   * `place` undefined: the workspace does not exist, which is answered like one without a provider. `resource`: what the
   * token must be for, unless it is for the audience of the provider. Throws the specification's 401s.
   */
  verify(token: string, place: TokenPlace | undefined, resource?: string): Promise<Verified>;
  /** Every check that can be made, in order, whatever the earlier ones said. */
  explain(token: string, place: TokenPlace): Promise<Explanation>;
}

export interface ExternalTokenOptions {
  readonly keySets: KeySets;
  readonly clockSkewSeconds: number;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

interface Trial {
  readonly token: string;
  readonly jwt: Jwt | undefined;
  readonly provider: IdentityProvider | null;
  readonly moment: Moment;
  readonly resource: string | undefined;
  /** Set by the check of the keys. */
  keySet?: KeySet;
}

interface Check {
  readonly name: CheckName;
  /** Checks that must have passed for this one to mean anything. */
  readonly needs: readonly CheckName[];
  readonly refuse: (trial: Trial) => Promise<ApiError | undefined>;
}

// A verified token is taken from memory for this long; then it is verified again, as the provider's keys may have
// changed.
const TRUST_MS = 5 * 60_000;
// Keys tried for one token: several under one `kid`, or all that fit when it names none.
const MAX_TRIES = 16;
// Verdicts on signatures, by key set and token: a token that is sent again after a refusal costs a hash, not a
// verification (the whole judgement: 27 µs against 165 µs with RS256).
const MAX_SIGNATURES = 10_000;

export function makeExternalTokens({ keySets, clockSkewSeconds, now }: ExternalTokenOptions): ExternalTokens {
  const signatures = new LRUCache<string, boolean>({ max: MAX_SIGNATURES });

  const CHECKS: readonly Check[] = [
    { name: 'format', needs: [], refuse: async ({ jwt }) => (jwt === undefined ? notAJwt() : undefined) },
    {
      name: 'provider',
      needs: [],
      refuse: async ({ provider }) => (provider === null ? noIdentityProvider() : undefined),
    },
    {
      name: 'enabled',
      needs: ['provider'],
      refuse: async ({ provider }) => (provider?.enabled === true ? undefined : noIdentityProvider()),
    },
    {
      name: 'issuer',
      needs: ['format', 'provider'],
      refuse: async (trial) => (claimsOf(trial).iss === providerOf(trial).issuerUrl ? undefined : issuerMismatch()),
    },
    {
      // Before the keys: an algorithm that nobody may use must not cause a fetch.
      name: 'algorithm',
      needs: ['format'],
      refuse: async ({ jwt }) => (algorithmOf((jwt as Jwt).header) === undefined ? signatureInvalid() : undefined),
    },
    { name: 'keys', needs: ['provider'], refuse: refuseKeys },
    { name: 'signature', needs: ['algorithm', 'keys'], refuse: refuseSignature },
    { name: 'expiry', needs: ['format'], refuse: async (trial) => refuseExpired(claimsOf(trial), trial.moment) },
    { name: 'audience', needs: ['format', 'provider'], refuse: async (trial) => refuseOtherAudience(trial) },
    { name: 'subject', needs: ['format'], refuse: async (trial) => refuseSubject(claimsOf(trial)) },
    { name: 'expiryClaim', needs: ['format'], refuse: async (trial) => refuseNoExpiry(claimsOf(trial)) },
    { name: 'notBefore', needs: ['format'], refuse: async (trial) => refuseNotBefore(claimsOf(trial), trial.moment) },
  ];

  async function refuseKeys(trial: Trial): Promise<ApiError | undefined> {
    try {
      trial.keySet = await keySets.current(providerOf(trial));
      return undefined;
    } catch (error) {
      if (error instanceof OutboundError) return jwksNotDiscovered();
      throw error;
    }
  }

  async function refuseSignature(trial: Trial): Promise<ApiError | undefined> {
    const { token, jwt, keySet } = trial as Trial & { readonly jwt: Jwt; readonly keySet: KeySet };
    if (await isSignedBy(keySet, token, jwt.header)) return undefined;
    const newer = await keySets.newer(providerOf(trial), keySet);
    return newer !== undefined && (await isSignedBy(newer, token, jwt.header)) ? undefined : signatureInvalid();
  }

  async function isSignedBy(keySet: KeySet, token: string, header: JwtHeader): Promise<boolean> {
    const key = `${keySet.id} ${hash('sha256', token, 'base64url')}`;
    const known = signatures.get(key);
    if (known !== undefined) return known;
    const algorithm = algorithmOf(header);
    let signed = false;
    if (algorithm !== undefined) {
      for (const candidate of candidatesFor(keySet, header.kid, algorithm)) {
        signed = await verifies(token, candidate, algorithm);
        if (signed) break;
      }
    }
    signatures.set(key, signed);
    return signed;
  }

  function trialOf(token: string, place: TokenPlace | undefined, resource?: string): Trial {
    return {
      token,
      resource,
      jwt: readJwt(token),
      provider: place?.identityProvider ?? null,
      moment: { now: now(), skew: clockSkewSeconds * 1000 },
    };
  }

  return {
    async verify(token, place, resource) {
      const trial = trialOf(token, place, resource);
      for (const check of CHECKS) {
        const refusal = await check.refuse(trial);
        if (refusal !== undefined) throw refusal;
      }
      const expiry = expiryOf(claimsOf(trial), trial.moment) as number;
      return {
        principal: principalOf(trial, (place as TokenPlace).id),
        workspaceVersion: Number((place as TokenPlace).version),
        expiresAt: Math.min(expiry, trial.moment.now + TRUST_MS),
      };
    },
    async explain(token, place) {
      const trial = trialOf(token, place);
      const claimed = trial.jwt?.claims ?? {};
      const results = new Map<CheckName, CheckResult>();
      for (const { name, needs, refuse } of CHECKS) {
        // A request meets the check of the end's presence later: without an end nothing is said about it.
        const isAbsent = name === 'expiry' && refuseNoExpiry(claimed) !== undefined;
        const possible = !isAbsent && needs.every((needed) => results.get(needed)?.passed === true);
        const refusal = possible ? await refuse(trial) : undefined;
        results.set(name, {
          check: name,
          passed: possible ? refusal === undefined : null,
          message: refusal?.message ?? null,
        });
      }
      const checks = [...results.values()];
      const accepted = checks.every(({ passed }) => passed === true);
      return { checks, claims: trial.jwt?.claims ?? null, principal: accepted ? principalOf(trial, place.id) : null };
    },
  };
}

function refuseOtherAudience(trial: Trial): ApiError | undefined {
  const { audience } = providerOf(trial);
  return trial.resource === undefined
    ? refuseAudience(claimsOf(trial), audience)
    : refuseResource(claimsOf(trial), audience, trial.resource);
}

function principalOf(trial: Trial, workspaceId: string): External {
  const claims = claimsOf(trial);
  return {
    kind: 'external',
    permissions: providerOf(trial).defaultPermissions,
    workspaceId,
    scope: null,
    credentialId: `ext:${workspaceId}:${hash('sha256', claims.sub as string, 'base64url').slice(0, 22)}`,
    claims,
  };
}

/**
 * undefined when the token must be refused. `crit` names extensions that must be understood (RFC 7515 section 4.1.11),
 * and we know none.
 */
function algorithmOf({ alg, critical }: JwtHeader): Algorithm | undefined {
  return critical || !isAlgorithm(alg) ? undefined : alg;
}

function candidatesFor(keySet: KeySet, kid: string | undefined, algorithm: Algorithm): readonly VerificationKey[] {
  return keySet.keys.filter((key) => (kid === undefined || key.kid === kid) && key.fits(algorithm)).slice(0, MAX_TRIES);
}

/** A key that cannot be imported verifies nothing, like a key that did not sign the token. */
async function verifies(token: string, key: VerificationKey, algorithm: Algorithm): Promise<boolean> {
  try {
    await compactVerify(token, await key.import(algorithm), { algorithms: [algorithm] });
    return true;
  } catch {
    return false;
  }
}

// Earlier checks guarantee that these exist.
const claimsOf = (trial: Trial): Claims => (trial.jwt as Jwt).claims;
const providerOf = (trial: Trial): IdentityProvider => trial.provider as IdentityProvider;
