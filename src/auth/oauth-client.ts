// OAuth clients: a public id and a secret of 256 random bits each. Only the SHA-256 of a secret is stored; with that
// much randomness a slow hash would add nothing.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { hashCredential } from './api-key.ts';

export interface NewOAuthClient {
  readonly clientId: string;
  /** The secret, shown once. */
  readonly clientSecret: string;
  readonly secretHash: Buffer;
}

const ID_FORM = /^wdac_[A-Za-z0-9_-]{22}$/;

export function makeOAuthClient(): NewOAuthClient {
  const clientSecret = `wdas_${randomBytes(32).toString('base64url')}`;
  return {
    clientId: `wdac_${randomBytes(16).toString('base64url')}`,
    clientSecret,
    secretHash: hashCredential(clientSecret),
  };
}

/** True when the text has the form of a client id. Other text is rejected without asking the database. */
export function isClientId(text: string): boolean {
  return ID_FORM.test(text);
}

/** True for the right secret. `hash`: its SHA-256, hex. */
export function isSecret(secret: string, hash: string): boolean {
  return timingSafeEqual(hashCredential(secret), Buffer.from(hash, 'hex'));
}
