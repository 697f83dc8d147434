// Authenticates every request: Authorization header or session -> Principal. Errors are the same whether or not the
// organization, workspace or entity exists.
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { invalidCredential, missingCredential } from '../errors.ts';
import type { Metric } from '../metric.ts';
import { type Credential, isSession, type SessionCredential } from '../model/credential.ts';
import {
  actAs,
  type External,
  isValidIn,
  KEY_ID,
  type Operator,
  type Owner,
  type Principal,
  type Sender,
  toKeyPrincipal,
} from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { StoredKey } from '../store/credentials.ts';
import { hashCredential, isKey, KEY_PREFIX } from './api-key.ts';
import { notAJwt } from './errors.ts';
import { readJwt } from './jwt.ts';

export interface Authenticator {
  /**
   * Authenticates a data request. A token of an identity provider is validated for the workspace that it is used for
   * (undefined if that does not exist); only such a token loads the workspace. `resource`: URL that tokens must be
   * issued for, in requests of agents. Throws 401.
   */
  authenticate(credential: Credential, workspace?: FindWorkspace, resource?: string): Promise<Principal>;
  /**
   * Authenticates a request of the admin API, which belongs to no workspace: a token is validated by any workspace that
   * has its issuer, and a person is not yet the principal that it is in a workspace.
   */
  identify(credential: Credential): Promise<Sender>;
  /**
   * Returns the cached principal of a data request, or undefined if the workspace has changed since or the credential
   * is a session, which is always looked up. Throws 401 without a credential.
   */
  recall(credential: Credential, workspace: Workspace, resource?: string): Principal | undefined;
  /** True for the Authorization header of a credential that was verified lately, or of the operator. */
  isVerified(authorization: Credential): boolean;
  /** Writes the last use of the keys that were used since the last flush. */
  flush(): Promise<void>;
  size(): number;
}

/** A principal with the time that it may be cached. */
export interface Verified {
  readonly principal: Owner | External;
  /** Version of the workspace when the credential was verified. */
  readonly workspaceVersion: number;
  /** Milliseconds since 1970; infinite for a credential that does not expire. */
  readonly expiresAt: number;
}

export interface AuthenticatorOptions {
  readonly findApiKey: (hash: Buffer) => Promise<StoredKey | undefined>;
  readonly touchApiKeys: (ids: readonly string[]) => Promise<void>;
  /** SHA-256 (hex) of the operator's key, or undefined if it is not loaded yet. */
  readonly operatorHash: () => string | undefined;
  /** Verifies an internal token (a JWT with our `iss`) and returns its owner. Throws 401. */
  readonly verifyInternal: TokenVerifier | undefined;
  /** Verifies any other JWT and returns a user of the workspace's identity provider. Throws the spec's 401s. */
  readonly verifyExternal: TokenVerifier | undefined;
  /** Verifies any other JWT and returns a user of the provider of some workspace. Throws the spec's 401s. */
  readonly identifyExternal: ((token: string) => Promise<Verified>) | undefined;
  /** Verifies a session of the console. Throws 401. */
  readonly verifySession: (session: SessionCredential) => Promise<Sender>;
  /** `iss` of internal tokens. */
  readonly issuer: string;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

/** Finds the workspace of the request, or undefined if it does not exist. */
export type FindWorkspace = () => Promise<Workspace | undefined>;

/**
 * Verifies a token for its workspace (undefined if there is none) and for the resource that it is used at (RFC 8707;
 * undefined for the API).
 */
export type TokenVerifier = (
  token: string,
  workspace: Workspace | undefined,
  resource: string | undefined,
) => Promise<Verified>;

interface Verdict extends Verified {
  /** Resource that a token is valid for, or undefined for the API and for keys, which are valid for all. */
  readonly resource: string | undefined;
  /** Time of the lookup of the credential, milliseconds since 1970. */
  readonly requestedAt: number;
  /** Time of the last recorded use, milliseconds since 1970. */
  recordedAt: number;
}

const MAX_VERDICTS = 10_000;
// `last_used_at` is for people who clean up keys; a minute is exact enough.
const RECORD_INTERVAL_MS = 60_000;
// Snapshots are compared with the database every 800 ms at most: until then a verdict may have a later version than the
// snapshot.
const MAX_AHEAD_MS = 1000;
// Longer than any of our credentials; a JWT of a real provider is 1 to 4 kB.
const MAX_HEADER = 8192;
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

const USUAL_SCHEME = 'Bearer ';
const RESOURCE_SCHEME = 'Resource ';

const OPERATOR: Operator = { kind: 'operator', scope: null, credentialId: 'operator' };

export function makeAuthenticator(options: AuthenticatorOptions): Authenticator {
  // Keyed by the header in its usual form: one lookup from header to principal, and one verdict per credential, however
  // the header is written.
  const verdicts = new LRUCache<string, Verdict>({ max: MAX_VERDICTS });
  const usedKeyIds = new Set<string>();

  function recordUse(verdict: Verdict, now: number): void {
    if (now - verdict.recordedAt < RECORD_INTERVAL_MS) return;
    verdict.recordedAt = now;
    const { credentialId } = verdict.principal;
    if (credentialId.startsWith(KEY_ID) && usedKeyIds.size < MAX_VERDICTS)
      usedKeyIds.add(credentialId.slice(KEY_ID.length));
  }

  async function authenticateWith(
    authorization: string | undefined,
    resource: string | undefined,
    verify: (credential: string) => Promise<Verified>,
  ) {
    const credential = parseCredential(authorization);
    if (isOperator(credential, options.operatorHash())) return OPERATOR;
    const tokenResource = isKey(credential) ? undefined : resource;
    const header = makeVerdictKey(credential, tokenResource);
    const recordedAt = verdicts.get(header)?.recordedAt ?? 0;
    verdicts.delete(header);
    const requestedAt = options.now();
    const verdict: Verdict = { ...(await verify(credential)), resource: tokenResource, requestedAt, recordedAt };
    verdicts.set(header, verdict);
    recordUse(verdict, options.now());
    return verdict.principal;
  }

  function findVerdict(authorization: string | undefined, resource: string | undefined): Verdict | undefined {
    const credential = parseCredential(authorization);
    const tokenResource = isKey(credential) ? undefined : resource;
    const verdict = verdicts.get(makeVerdictKey(credential, tokenResource));
    return verdict?.resource === tokenResource ? verdict : undefined;
  }

  async function verifyKey(credential: string): Promise<Verified> {
    const key = await options.findApiKey(hashCredential(credential));
    const expiresAt = key?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (key === undefined || expiresAt <= options.now()) throw invalidCredential();
    const { id, permissions, grants, workspaceId, scope, workspaceVersion } = key;
    const expiration = key.expiresAt === null ? {} : { expiresAt: key.expiresAt };
    return {
      principal: toKeyPrincipal({ permissions, grants, workspaceId, scope, credentialId: KEY_ID + id, ...expiration }),
      workspaceVersion,
      expiresAt,
    };
  }

  return {
    async authenticate(authorization, workspace, resource) {
      if (isSession(authorization)) return actInWorkspace(await options.verifySession(authorization), workspace);
      return authenticateWith(authorization, resource, async (credential) => {
        if (isKey(credential)) return verifyKey(credential);
        const jwt = readJwt(credential);
        if (jwt === undefined) throw credential.startsWith(KEY_PREFIX) ? invalidCredential() : notAJwt();
        const { verifyInternal, verifyExternal } = options;
        const verifier = jwt.claims.iss === options.issuer ? verifyInternal : verifyExternal;
        if (verifier === undefined) throw invalidCredential();
        // Internal tokens name their workspace.
        return verifier(credential, verifier === verifyInternal ? undefined : await workspace?.(), resource);
      });
    },
    async identify(authorization) {
      if (isSession(authorization)) return options.verifySession(authorization);
      return authenticateWith(authorization, undefined, async (credential) => {
        if (isKey(credential)) return verifyKey(credential);
        const jwt = readJwt(credential);
        const { verifyInternal, identifyExternal } = options;
        if (jwt?.claims.iss === options.issuer && verifyInternal !== undefined) {
          return verifyInternal(credential, undefined, undefined);
        }
        // Text that is not a JWT is more often a mistyped key than a token.
        if (jwt === undefined || identifyExternal === undefined) throw invalidCredential();
        return identifyExternal(credential);
      });
    },
    recall(authorization, workspace, resource) {
      if (isSession(authorization)) return undefined;
      // Only a header of the usual form is its own cache key: another could be written like the key for a resource.
      const isUsual = resource === undefined && authorization?.startsWith(USUAL_SCHEME) === true;
      const verdict = (isUsual ? verdicts.get(authorization) : undefined) ?? findVerdict(authorization, resource);
      if (verdict === undefined) return undefined;
      const now = options.now();
      if (
        verdict.expiresAt <= now ||
        !isValidIn(verdict.principal, workspace.id) ||
        (verdict.workspaceVersion !== Number(workspace.version) && !isNewer(verdict, Number(workspace.version), now))
      ) {
        return undefined;
      }
      recordUse(verdict, now);
      return verdict.principal;
    },
    isVerified(authorization) {
      if (isSession(authorization)) return true;
      if (authorization === undefined) return false;
      if (verdicts.has(authorization)) return true;
      const credential = authorization.length > MAX_HEADER ? undefined : BEARER.exec(authorization)?.[1];
      if (credential === undefined) return false;
      return (
        verdicts.has(USUAL_SCHEME + credential) ||
        verdicts.has(RESOURCE_SCHEME + credential) ||
        isOperator(credential, options.operatorHash())
      );
    },
    async flush() {
      if (usedKeyIds.size === 0) return;
      const ids = [...usedKeyIds];
      usedKeyIds.clear();
      await options.touchApiKeys(ids);
    },
    size: () => verdicts.size,
  };
}

/** Returns the principal that the sender of a session is in the workspace of the request; 401 if it is none there. */
async function actInWorkspace(sender: Sender, findWorkspace: FindWorkspace | undefined): Promise<Principal> {
  if (sender.kind !== 'person') return sender;
  const workspace = await findWorkspace?.();
  const principal = workspace && actAs(sender, workspace);
  if (principal === undefined) throw invalidCredential();
  return principal;
}

/**
 * True when a verdict of a later version is valid until the snapshot has been compared. It also expires when the
 * database's version goes back.
 */
function isNewer({ workspaceVersion, requestedAt }: Verdict, version: number, now: number): boolean {
  return workspaceVersion > version && now >= requestedAt && now - requestedAt < MAX_AHEAD_MS;
}

/**
 * Builds the cache key of a verdict: a token has one for the API and one for the last resource that it was used at.
 * Senders choose the paths of resources, and must not fill the cache with them.
 */
const makeVerdictKey = (credential: string, resource: string | undefined): string =>
  (resource === undefined ? USUAL_SCHEME : RESOURCE_SCHEME) + credential;

/** Parses the bearer credential (RFC 6750 section 2.1); 401 when there is none or the header is malformed. */
function parseCredential(authorization: string | undefined): string {
  if (authorization === undefined || authorization.trim() === '') throw missingCredential();
  const match = authorization.length > MAX_HEADER ? null : BEARER.exec(authorization);
  if (match === null) throw invalidCredential();
  return match[1] as string;
}

function isOperator(credential: string, operatorHash: string | undefined): boolean {
  return operatorHash !== undefined && timingSafeEqual(hashCredential(credential), Buffer.from(operatorHash, 'hex'));
}

export const buildCredentialMetrics = ({ size }: Pick<Authenticator, 'size'>): readonly Metric[] => [
  { name: 'wda_cached_credentials', help: 'Verified credentials in memory', read: size },
];
