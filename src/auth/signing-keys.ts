// The keys of internal tokens as one process knows them: the one to sign with, the ones to verify with, the set to
// publish. Stored keys are read again while they are used, and as directory/process-registry.ts demands.
import { setTimeout as sleep } from 'node:timers/promises';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose';
import type { WriteActivity } from '../store/activity.ts';
import type { Rotation, SigningKeyToStore, StoredJwk, StoredSigningKey } from '../store/signing-keys.ts';

/** RFC 7518 section 3.4: signatures of 64 bytes, keys that any verifier takes. */
export const SIGNING_ALGORITHM = 'ES256';

/** Where the keys are kept. */
export interface SigningKeyStore {
  readonly load: () => Promise<readonly StoredSigningKey[]>;
  readonly rotate: (key: SigningKeyToStore, rotation: Rotation, writeActivity?: WriteActivity) => Promise<void>;
  /** False when the key is gone. */
  readonly raiseTokenLifetime: (kid: string, seconds: number) => Promise<boolean>;
}

export interface SigningKeysOptions {
  readonly store: SigningKeyStore;
  readonly tokenLifetimeSeconds: number;
  /** A key that has signed for this long is replaced when the next token is asked for; 0: never. */
  readonly rotateAfterSeconds: number;
  /**
   * For a request that came at `arrival`: what answers it must have been read at this time or later; infinite: read
   * first.
   */
  readonly validFrom: (arrivedAt: number) => number;
  readonly refreshValidity: () => Promise<unknown>;
  /** Milliseconds, never going back. */
  readonly now: () => number;
}

export interface SigningKey {
  readonly kid: string;
  readonly privateJwk: StoredJwk;
}

export interface SigningKeys {
  /** The key that signs; made when there is none, replaced when it is due. */
  signingKey(): Promise<SigningKey>;
  /** The public key of this id; undefined when no process knows it. */
  verificationKey(kid: string): Promise<CryptoKey | undefined>;
  /** What verifies, newest first; public halves are in it, private ones must not leave. */
  list(): Promise<readonly StoredSigningKey[]>;
  /** Makes another key sign from now on. With `revoke` the tokens of all older keys end. `note` is written with it. */
  rotate(revoke: boolean, writeActivity?: WriteActivity): Promise<void>;
}

interface LoadedKeys {
  readonly stored: readonly StoredSigningKey[];
  readonly byKid: ReadonlyMap<string, CryptoKey>;
  /** When reading began. */
  readonly startedAt: number;
}

// Keys up to this age are used without a new reading: with the time that a reading takes, well below the second that is
// promised.
const FRESH_MS = 500;
// Between two readings for unknown key ids. A token with one waits for the next one instead of being refused, so that a new key
// is known to whoever asks, and a flood of made-up ids costs four readings a second and no more.
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

  /** The keys as they stand now or later: a reading that begins after this call, shared by all who wait for it. */
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
      // Another process can take the key away between two statements only by a rotation, which leaves one.
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
  // RFC 7638: the id of a key follows from the key, so no two keys share one.
  return { kid: await calculateJwkThumbprint(publicJwk), publicJwk, privateJwk, tokenLifetimeSeconds };
}
