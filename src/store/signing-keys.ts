// The keys that sign internal tokens, in the control tables: one key signs, older ones verify until their tokens have
// expired.
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { WriteActivity } from './activity.ts';

/** Members of a JSON Web Key (RFC 7517), all text. */
export type StoredJwk = Readonly<Record<string, string>>;

export interface StoredSigningKey {
  readonly kid: string;
  readonly publicJwk: StoredJwk;
  /** Private half of the key that signs; null for keys that only verify. */
  readonly privateJwk: StoredJwk | null;
  /** Longest lifetime of the tokens that it signs or has signed. */
  readonly tokenLifetimeSeconds: number;
  /** Whether it has signed for the maximum time. */
  readonly isDue: boolean;
  readonly createdAt: Date;
  readonly rotatedAt: Date | null;
  /** Time at which the last token has expired and the key is no longer published; null for the key that signs. */
  readonly expiresAt: Date | null;
}

export interface SigningKeyToStore {
  readonly kid: string;
  readonly publicJwk: StoredJwk;
  readonly privateJwk: StoredJwk;
  readonly tokenLifetimeSeconds: number;
}

/**
 * Reason for a new key: there is none; the present one is old; on request; or on request, revoking all tokens as well.
 */
export type Rotation =
  | { readonly kind: 'first' }
  | { readonly kind: 'due'; readonly afterSeconds: number }
  | { readonly kind: 'now' }
  | { readonly kind: 'revoke' };

// A process may sign with a key up to a second after another has rotated it, and clocks differ.
const GRACE_SECONDS = 60;

const EXPIRES_AT = sql`k.rotated_at + make_interval(secs => k.token_lifetime_seconds + ${GRACE_SECONDS}::float8)`;

/**
 * Loads the key that signs, if there is one, and the keys that still verify; newest first. `dueAfterSeconds` 0: never
 * due.
 */
export async function loadSigningKeys(db: Database, dueAfterSeconds: number): Promise<readonly StoredSigningKey[]> {
  return db.query<StoredSigningKey>(
    toQuery(sql`select k.kid, k.public_jwk as "publicJwk", k.private_jwk as "privateJwk",
  k.token_lifetime_seconds as "tokenLifetimeSeconds",
  ${dueAfterSeconds}::float8 > 0 and k.created_at <= now() - make_interval(secs => ${dueAfterSeconds}::float8) as "isDue",
  k.created_at as "createdAt", k.rotated_at as "rotatedAt", ${EXPIRES_AT} as "expiresAt"
from wda.signing_key k where k.rotated_at is null or now() < ${EXPIRES_AT} order by k.id desc`),
  );
}

/**
 * Raises the lifetime of the key's tokens before a key first signs in this process. Returns false if the key does not
 * exist.
 */
export async function raiseTokenLifetime(db: Database, kid: string, seconds: number): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`update wda.signing_key set token_lifetime_seconds = greatest(token_lifetime_seconds, ${seconds})
where kid = ${kid} returning kid`),
  );
  return rows.length > 0;
}

/**
 * Makes `key` the one that signs, unless the present one is not due, or another process was first. The replaced key
 * loses its private half and verifies until its tokens have expired; with `revoke` it is deleted at once, in every
 * process. `writeActivity` runs in the same transaction.
 */
export async function rotateSigningKey(
  db: Database,
  key: SigningKeyToStore,
  rotation: Rotation,
  writeActivity?: WriteActivity,
): Promise<void> {
  const age = rotation.kind === 'due' ? rotation.afterSeconds : 0;
  const replaces = rotation.kind !== 'first';
  await db.transaction(async (session) => {
    // Two statements, as the index that allows one signing key must see the old one removed before the new one is
    // inserted. A second process waits here for the first, then has no key to replace, and its insert does nothing.
    await session.query(
      toQuery(sql`update wda.signing_key set rotated_at = now(), private_jwk = null
where rotated_at is null and ${replaces}::bool and (${age}::float8 = 0 or created_at <= now() - make_interval(secs => ${age}::float8))`),
    );
    await session.query(
      toQuery(sql`insert into wda.signing_key (kid, public_jwk, private_jwk, token_lifetime_seconds)
values (${key.kid}, ${JSON.stringify(key.publicJwk)}, ${JSON.stringify(key.privateJwk)}, ${key.tokenLifetimeSeconds})
on conflict ((true)) where rotated_at is null do nothing`),
    );
    if (rotation.kind === 'revoke') {
      await session.query(toQuery(sql`delete from wda.signing_key where rotated_at is not null`));
      await session.query(
        toQuery(sql`update wda.workspace w set version = version + 1
where exists (select from wda.oauth_client c where c.workspace_id = w.id)`),
      );
    } else await session.query(toQuery(sql`delete from wda.signing_key k where now() >= ${EXPIRES_AT}`));
    await writeActivity?.(session);
  });
}
