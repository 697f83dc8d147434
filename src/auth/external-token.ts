// Verifies tokens of the workspace's identity provider and returns external users. buildChecks() has their order;
// only the issuer of a token is read before its signature is verified. Keys come from the configuration alone: the
// token's own `jwk`, `jku`, `x5c` and `x5u` are ignored.
import { hash } from 'node:crypto';
import { compactVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { ApiError } from '../errors.ts';
import { HttpClientError } from '../http-client/errors.ts';
import { findClaim, findLackingClaims, findRoles } from '../model/claim.ts';
import type { External } from '../model/principal.ts';
import type { IdentityProvider, Workspace } from '../model/workspace.ts';
import type { Verified } from './authenticate.ts';
import {
  type Claims,
  checkAudience,
  checkExpiry,
  checkExpiryClaim,
  checkNotBefore,
  checkResource,
  checkSubject,
  getExpiry,
  type Moment,
} from './claims.ts';
import {
  issuerMismatch,
  jwksNotDiscovered,
  noIdentityProvider,
  notAJwt,
  signatureInvalid,
  workspaceMismatch,
} from './errors.ts';
import { type Algorithm, isAlgorithm, type VerificationKey } from './jwk.ts';
import { type Jwt, type JwtHeader, readJwt } from './jwt.ts';
import type { KeySet, KeySets } from './key-set.ts';

/** Parts of a workspace that tokens are validated with. */
export type TokenWorkspace = Pick<Workspace, 'id' | 'version' | 'identityProvider'>;

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
  | 'requiredClaims'
  | 'subject'
  | 'expiryClaim'
  | 'notBefore';

export interface CheckResult {
  readonly check: CheckName;
  /** Result of the check, or null if it was skipped because an earlier check failed or its claim is absent. */
  readonly passed: boolean | null;
  /** Message that a request would get, with details where there are any, or null if the check passed. */
  readonly message: string | null;
}

export interface Explanation {
  readonly checks: readonly CheckResult[];
  /** Claims of the token, verified or not, or null if it is not a JWT. */
  readonly claims: Claims | null;
  /** User that a request with this token would have, or null if it would be rejected. */
  readonly principal: External | null;
}

export interface ExternalTokens {
  /**
   * Verifies a token. `workspace` undefined: it does not exist, which is treated like one without a provider.
   * `resource`: required audience of the token, unless it has that of the provider. Throws the specification's 401s.
   */
  verify(token: string, workspace: TokenWorkspace | undefined, resource?: string): Promise<Verified>;
  /** Runs every possible check in order, whatever the earlier results. */
  explain(token: string, workspace: TokenWorkspace): Promise<Explanation>;
}

export interface ExternalTokenOptions {
  readonly keySets: KeySets;
  readonly clockSkewSeconds: number;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

interface TokenValidation {
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
  readonly validate: (validation: TokenValidation) => Promise<ApiError | undefined>;
  /** Returns details of a failure for an administrator, which a request does not get. */
  readonly describe?: (validation: TokenValidation) => string;
}

// Milliseconds that a verified token is cached; then it is verified again, as the provider's keys may have changed.
const TRUST_MS = 5 * 60_000;
// Maximum of keys tried for one token: several with one `kid`, or all suitable ones when it has none.
const MAX_TRIES = 16;
// Cache of signature results, by key set and token: a token that is sent again after an error costs a hash and no
// verification (the whole validation: 27 µs against 165 µs with RS256).
const MAX_SIGNATURES = 10_000;

/** Builds the checks of a token, in their order. */
function buildChecks(keySets: KeySets): readonly Check[] {
  const signatures = new LRUCache<string, boolean>({ max: MAX_SIGNATURES });

  const checks: readonly Check[] = [
    { name: 'format', needs: [], validate: async ({ jwt }) => (jwt === undefined ? notAJwt() : undefined) },
    {
      name: 'provider',
      needs: [],
      validate: async ({ provider }) => (provider === null ? noIdentityProvider() : undefined),
    },
    {
      name: 'enabled',
      needs: ['provider'],
      validate: async ({ provider }) => (provider?.enabled === true ? undefined : noIdentityProvider()),
    },
    {
      name: 'issuer',
      needs: ['format', 'provider'],
      validate: async (validation) =>
        getClaims(validation).iss === getProvider(validation).issuerUrl ? undefined : issuerMismatch(),
    },
    {
      // Checked before the keys: an unsupported algorithm must not cause a fetch.
      name: 'algorithm',
      needs: ['format'],
      validate: async ({ jwt }) => (getAlgorithm((jwt as Jwt).header) === undefined ? signatureInvalid() : undefined),
    },
    { name: 'keys', needs: ['provider'], validate: validateKeys },
    { name: 'signature', needs: ['algorithm', 'keys'], validate: validateSignature },
    {
      name: 'expiry',
      needs: ['format'],
      validate: async (validation) => checkExpiry(getClaims(validation), validation.moment),
    },
    { name: 'audience', needs: ['format', 'provider'], validate: async (validation) => validateAudience(validation) },
    {
      name: 'requiredClaims',
      needs: ['format', 'provider'],
      validate: async (validation) => (findLacking(validation).length === 0 ? undefined : workspaceMismatch()),
      describe: describeLacking,
    },
    { name: 'subject', needs: ['format'], validate: async (validation) => checkSubject(getClaims(validation)) },
    { name: 'expiryClaim', needs: ['format'], validate: async (validation) => checkExpiryClaim(getClaims(validation)) },
    {
      name: 'notBefore',
      needs: ['format'],
      validate: async (validation) => checkNotBefore(getClaims(validation), validation.moment),
    },
  ];

  async function validateKeys(validation: TokenValidation): Promise<ApiError | undefined> {
    try {
      validation.keySet = await keySets.getCurrent(getProvider(validation));
      return undefined;
    } catch (error) {
      if (error instanceof HttpClientError) return jwksNotDiscovered();
      throw error;
    }
  }

  async function validateSignature(validation: TokenValidation): Promise<ApiError | undefined> {
    const { token, jwt, keySet } = validation as TokenValidation & { readonly jwt: Jwt; readonly keySet: KeySet };
    if (await isSignedBy(keySet, token, jwt.header)) return undefined;
    const newer = await keySets.fetchNewer(getProvider(validation), keySet);
    return newer !== undefined && (await isSignedBy(newer, token, jwt.header)) ? undefined : signatureInvalid();
  }

  async function isSignedBy(keySet: KeySet, token: string, header: JwtHeader): Promise<boolean> {
    const key = `${keySet.id} ${hash('sha256', token, 'base64url')}`;
    const cached = signatures.get(key);
    if (cached !== undefined) return cached;
    const algorithm = getAlgorithm(header);
    let isSigned = false;
    if (algorithm !== undefined) {
      for (const candidate of findCandidates(keySet, header.kid, algorithm)) {
        isSigned = await verifySignature(token, candidate, algorithm);
        if (isSigned) break;
      }
    }
    signatures.set(key, isSigned);
    return isSigned;
  }

  return checks;
}

export function makeExternalTokens({ keySets, clockSkewSeconds, now }: ExternalTokenOptions): ExternalTokens {
  const checks = buildChecks(keySets);

  function makeValidation(token: string, workspace: TokenWorkspace | undefined, resource?: string): TokenValidation {
    return {
      token,
      resource,
      jwt: readJwt(token),
      provider: workspace?.identityProvider ?? null,
      moment: { now: now(), skew: clockSkewSeconds * 1000 },
    };
  }

  return {
    async verify(token, workspace, resource) {
      const validation = makeValidation(token, workspace, resource);
      for (const check of checks) {
        const error = await check.validate(validation);
        if (error !== undefined) throw error;
      }
      const expiry = getExpiry(getClaims(validation), validation.moment) as number;
      return {
        principal: toPrincipal(validation, (workspace as TokenWorkspace).id),
        workspaceVersion: Number((workspace as TokenWorkspace).version),
        expiresAt: Math.min(expiry, validation.moment.now + TRUST_MS),
      };
    },
    async explain(token, workspace) {
      const validation = makeValidation(token, workspace);
      const claims = validation.jwt?.claims ?? {};
      const results = new Map<CheckName, CheckResult>();
      for (const { name, needs, validate, describe } of checks) {
        // A request checks the presence of `exp` later: without it this check is skipped.
        const isAbsent = name === 'expiry' && checkExpiryClaim(claims) !== undefined;
        const possible = !isAbsent && needs.every((needed) => results.get(needed)?.passed === true);
        const error = possible ? await validate(validation) : undefined;
        results.set(name, {
          check: name,
          passed: possible ? error === undefined : null,
          message:
            error === undefined ? null : error.message + (describe === undefined ? '' : `: ${describe(validation)}`),
        });
      }
      const isAccepted = [...results.values()].every(({ passed }) => passed === true);
      return {
        checks: [...results.values()],
        claims: validation.jwt?.claims ?? null,
        principal: isAccepted ? toPrincipal(validation, workspace.id) : null,
      };
    },
  };
}

function validateAudience(validation: TokenValidation): ApiError | undefined {
  const { audience } = getProvider(validation);
  return validation.resource === undefined
    ? checkAudience(getClaims(validation), audience)
    : checkResource(getClaims(validation), audience, validation.resource);
}

const findLacking = (validation: TokenValidation): readonly string[] =>
  findLackingClaims(getClaims(validation), getProvider(validation).requiredClaims ?? {});

/** Describes the required claims that the token lacks. */
function describeLacking(validation: TokenValidation): string {
  const { requiredClaims } = getProvider(validation);
  return findLacking(validation)
    .map((name) => {
      const claim = findClaim(getClaims(validation), name);
      const state = claim === undefined ? 'is missing' : `is ${shorten(claim)}`;
      return `claim ${name} ${state}, must be ${shorten(requiredClaims?.[name])}`;
    })
    .join('; ');
}

const MAX_SHOWN = 100;

/** Returns the JSON text of a value, shortened. */
function shorten(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function toPrincipal(validation: TokenValidation, workspaceId: string): External {
  const claims = getClaims(validation);
  return {
    kind: 'external',
    permissions: getProvider(validation).defaultPermissions,
    workspaceId,
    scope: null,
    roles: findRoles(claims, getProvider(validation).roleClaim),
    onlyGrants: false,
    credentialId: `ext:${workspaceId}:${hash('sha256', claims.sub as string, 'base64url').slice(0, 22)}`,
    claims,
  };
}

/**
 * Returns the algorithm, or undefined if the token must be rejected. `crit` names extensions that must be supported
 * (RFC 7515 section 4.1.11), and we support none.
 */
function getAlgorithm({ alg, critical }: JwtHeader): Algorithm | undefined {
  return critical || !isAlgorithm(alg) ? undefined : alg;
}

function findCandidates(keySet: KeySet, kid: string | undefined, algorithm: Algorithm): readonly VerificationKey[] {
  return keySet.keys.filter((key) => (kid === undefined || key.kid === kid) && key.fits(algorithm)).slice(0, MAX_TRIES);
}

/** Verifies a signature. A key that cannot be imported counts as one that did not sign the token. */
async function verifySignature(token: string, key: VerificationKey, algorithm: Algorithm): Promise<boolean> {
  try {
    await compactVerify(token, await key.import(algorithm), { algorithms: [algorithm] });
    return true;
  } catch {
    return false;
  }
}

// Earlier checks guarantee that these exist.
const getClaims = (validation: TokenValidation): Claims => (validation.jwt as Jwt).claims;
const getProvider = (validation: TokenValidation): IdentityProvider => validation.provider as IdentityProvider;
