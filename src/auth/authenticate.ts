// Authorization header -> Principal; the one entry for every request. Refusals are the same whether or not the
// organization, workspace or entity exists.
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { StoredKey } from '../catalog/credentials.ts';
import { invalidCredential, missingCredential } from '../errors.ts';
import type { Operator, Owner, Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { hashCredential, isKey } from './api-key.ts';

export interface Authenticator {
  /** Looks the credential up anew, for the admin API. Throws 401. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /**
   * The principal of a data request, from memory when the workspace has not changed since the credential was looked
   * up; undefined when it must be looked up. Throws 401 without a credential.
   */
  recall(authorization: string | undefined, workspace: Workspace): Principal | undefined;
  /** Forgets nothing it need not: writes the last use of keys that were used. */
  flush(): Promise<void>;
  size(): number;
}

export interface AuthenticatorOptions {
  readonly findApiKey: (hash: Buffer) => Promise<StoredKey | undefined>;
  readonly touchApiKeys: (ids: readonly string[]) => Promise<void>;
  /** SHA-256 (hex) of the operator's key; undefined while it is not known yet. */
  readonly operatorHash: () => string | undefined;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

interface Verdict {
  readonly principal: Owner;
  readonly workspaceVersion: number;
  readonly expiresAt: number;
  /** When the last use was noted, milliseconds since 1970. */
  notedAt: number;
}

const MAX_VERDICTS = 10_000;
// `last_used_at` is for people who clean up keys; a minute is exact enough.
const NOTE_EVERY_MS = 60_000;
// Longer than any credential of ours; a JWT of a real provider is 1 to 4 kB.
const MAX_HEADER = 8192;
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

const OPERATOR: Operator = { kind: 'operator', credentialId: 'operator' };

export function makeAuthenticator(options: AuthenticatorOptions): Authenticator {
  // Keyed by the header as it came: one look-up from header to principal.
  const verdicts = new LRUCache<string, Verdict>({ max: MAX_VERDICTS });
  const used = new Set<string>();

  function note(verdict: Verdict, now: number): void {
    if (now - verdict.notedAt < NOTE_EVERY_MS) return;
    verdict.notedAt = now;
    if (used.size < MAX_VERDICTS) used.add(verdict.principal.credentialId.slice('key:'.length));
  }

  return {
    async authenticate(authorization) {
      const credential = credentialOf(authorization);
      if (isOperator(credential, options.operatorHash())) return OPERATOR;
      if (!isKey(credential)) throw invalidCredential();
      const key = await options.findApiKey(hashCredential(credential));
      const now = options.now();
      const expiresAt = key?.expiresAt ?? Number.POSITIVE_INFINITY;
      if (key === undefined || expiresAt <= now) {
        verdicts.delete(authorization as string);
        throw invalidCredential();
      }
      const principal: Owner = {
        kind: 'owner',
        permissions: key.permissions,
        workspaceId: key.workspaceId,
        credentialId: `key:${key.id}`,
      };
      const notedAt = verdicts.get(authorization as string)?.notedAt ?? 0;
      const verdict: Verdict = { principal, workspaceVersion: key.workspaceVersion, expiresAt, notedAt };
      verdicts.set(authorization as string, verdict);
      note(verdict, now);
      return principal;
    },
    recall(authorization, workspace) {
      const verdict = authorization === undefined ? undefined : verdicts.get(authorization);
      if (verdict === undefined) {
        credentialOf(authorization);
        return undefined;
      }
      const now = options.now();
      if (
        verdict.expiresAt <= now ||
        verdict.principal.workspaceId !== workspace.id ||
        verdict.workspaceVersion < Number(workspace.version)
      ) {
        return undefined;
      }
      note(verdict, now);
      return verdict.principal;
    },
    async flush() {
      if (used.size === 0) return;
      const ids = [...used];
      used.clear();
      await options.touchApiKeys(ids);
    },
    size: () => verdicts.size,
  };
}

/** The bearer credential (RFC 6750 section 2.1); 401 when there is none or the header is malformed. */
function credentialOf(authorization: string | undefined): string {
  if (authorization === undefined || authorization.trim() === '') throw missingCredential();
  const match = authorization.length > MAX_HEADER ? null : BEARER.exec(authorization);
  if (match === null) throw invalidCredential();
  return match[1] as string;
}

function isOperator(credential: string, operatorHash: string | undefined): boolean {
  return operatorHash !== undefined && timingSafeEqual(hashCredential(credential), Buffer.from(operatorHash, 'hex'));
}
