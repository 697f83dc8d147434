// Caches the keys of internal tokens: the one to sign with, the ones to verify with, the set to publish. Stored keys
// are reloaded while they are used, and as store/process-registry.ts requires.
import { setTimeout as sleep } from 'node:timers/promises';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose';
import type { WriteActivity } from '../store/activity.ts';
import type { Rotation, SigningKeyToStore, StoredJwk, StoredSigningKey } from '../store/signing-keys.ts';

/** RFC 7518 section 3.4: signatures of 64 bytes, keys that any verifier supports. */
export const SIGNING_ALGORITHM = 'ES256';

/** Store of the keys. */
export interface SigningKeyStore {
  readonly load: () => Promise<readonly StoredSigningKey[]>;
  readonly rotate: (key: SigningKeyToStore, rotation: Rotation, writeActivity?: WriteActivity) => Promise<void>;
  /** Raises the token lifetime of a key; false when the key does not exist any more. */
  readonly raiseTokenLifetime: (kid: string, seconds: number) => Promise<boolean>;
}

export interface SigningKeysOptions {
  readonly store: SigningKeyStore;
  readonly tokenLifetimeSeconds: number;
  /** Age at which a signing key is replaced for the next token; 0: never. */
  readonly rotateAfterSeconds: number;
  /** Earliest load time of keys that may serve a request from `arrivedAt`, or Infinity if they must be loaded first. */
  readonly validFrom: (arrivedAt: number) => number;
  readonly refreshValidity: () => Promise<unknown>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface SigningKey {
  readonly kid: string;
  readonly privateJwk: StoredJwk;
}

export interface SigningKeys {
  /** Returns the signing key; creates it when there is none, and replaces it when it is due. */
  signingKey(): Promise<SigningKey>;
  /** Returns the public key of this id, or undefined if no process knows it. */
  verificationKey(kid: string): Promise<CryptoKey | undefined>;
  /** Lists the keys that verify, newest first, with their private halves, which must not leave the server. */
  list(): Promise<readonly StoredSigningKey[]>;
  /** Makes another key sign from now on, and writes the activity. With `revoke` the tokens of all older keys end. */
  rotate(revoke: boolean, writeActivity?: WriteActivity): Promise<void>;
}

interface LoadedKeys {
  readonly stored: readonly StoredSigningKey[];
  readonly byKid: ReadonlyMap<string, CryptoKey>;
  /** Start of the load. */
  readonly startedAt: number;
}

// Keys up to this age are used without a reload: with the duration of a reload, well below the promised second.
const FRESH_MS = 500;
// Pause between two reloads for unknown key ids. A token with one waits for the next reload and is not rejected at
// once, so that every process accepts a new key, and a flood of made-up ids costs four reloads a second and no more.
const UNKNOWN_PAUSE_MS = 250;

export function makeSigningKeys(options: SigningKeysOptions): SigningKeys {
  const { store, now, tokenLifetimeSeconds, rotateAfterSeconds } = options;
  let cached: LoadedKeys = { stored: [], byKid: new Map(), startedAt: Number.NEGATIVE_INFINITY };
  let lastStart = Number.NEGATIVE_INFINITY;
  let running: Promise<LoadedKeys> | undefined;
  let next: Promise<LoadedKeys> | undefined;

  async function read(): Promise<LoadedKeys> {
    const startedAt = now();
    lastStart = startedAt;
    const stored = await store.load();
    const byKid = new Map<string, CryptoKey>();
    for (const { kid, publicJwk } of stored) {
      byKid.set(kid, cached.byKid.get(kid) ?? ((await importJWK({ ...publicJwk }, SIGNING_ALGORITHM)) as CryptoKey));
    }
    cached = { stored, byKid, startedAt };
    return cached;
  }

  /** Loads the current keys: a load that starts after this call, shared by all waiting callers. */
  function reload(pauseMs = 0): Promise<LoadedKeys> {
    next ??= (async () => {
      await running?.catch(() => undefined);
      const pause = lastStart + pauseMs - now();
      if (pause > 0) await sleep(pause);
      next = undefined;
      running = read();
      return running;
    })();
    return next;
  }

  async function getFresh(): Promise<LoadedKeys> {
    const arrivedAt = now();
    for (;;) {
      const since = Math.max(options.validFrom(arrivedAt), arrivedAt - FRESH_MS);
      if (cached.startedAt >= since) return cached;
      await (since === Number.POSITIVE_INFINITY ? options.refreshValidity() : reload());
    }
  }

  async function replace(rotation: Rotation, writeActivity?: WriteActivity): Promise<LoadedKeys> {
    await store.rotate(await makeKey(tokenLifetimeSeconds), rotation, writeActivity);
    return reload();
  }

  return {
    async signingKey() {
      let key = findSigningKey(await getFresh());
      if (key === undefined) key = findSigningKey(await replace({ kind: 'first' }));
      else if (key.isDue) key = findSigningKey(await replace({ kind: 'due', afterSeconds: rotateAfterSeconds }));
      if (key !== undefined && key.tokenLifetimeSeconds < tokenLifetimeSeconds) {
        await store.raiseTokenLifetime(key.kid, tokenLifetimeSeconds);
        key = findSigningKey(await reload());
      }
      // Only a rotation in another process can remove the key between two statements, and it leaves a new one.
      if (key === undefined) throw new Error('there is no signing key');
      return { kid: key.kid, privateJwk: key.privateJwk as StoredJwk };
    },
    async verificationKey(kid) {
      const requestedAt = now();
      let keys = await getFresh();
      if (!keys.byKid.has(kid) && keys.startedAt < requestedAt) keys = await reload(UNKNOWN_PAUSE_MS);
      return keys.byKid.get(kid);
    },
    list: async () => (await getFresh()).stored,
    async rotate(revoke, writeActivity) {
      await replace({ kind: revoke ? 'revoke' : 'now' }, writeActivity);
    },
  };
}

function findSigningKey({ stored }: LoadedKeys): StoredSigningKey | undefined {
  return stored.find((key) => key.privateJwk !== null);
}

async function makeKey(tokenLifetimeSeconds: number): Promise<SigningKeyToStore> {
  const { publicKey, privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const publicJwk = (await exportJWK(publicKey)) as StoredJwk;
  const privateJwk = (await exportJWK(privateKey)) as StoredJwk;
  // RFC 7638: the id of a key is its thumbprint, so it is unique.
  return { kid: await calculateJwkThumbprint(publicJwk), publicJwk, privateJwk, tokenLifetimeSeconds };
}
