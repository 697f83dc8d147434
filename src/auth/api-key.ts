// API keys: `wda_` + 256 random bits + a checksum, so that junk is rejected without asking the database. Only the
// SHA-256 of a key is stored, and keys are looked up by it.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface NewKey {
  /** The secret, shown once. */
  readonly key: string;
  /** First characters, by which people recognise the key. */
  readonly prefix: string;
  readonly hash: Buffer;
}

export const KEY_PREFIX = 'wda_';

const FORM = /^wda_([A-Za-z0-9_-]{43})([0-9a-f]{8})$/;

export function makeKey(): NewKey {
  const secret = randomBytes(32).toString('base64url');
  const key = `wda_${secret}${checksum(secret)}`;
  return { key, prefix: key.slice(0, 12), hash: hashCredential(key) };
}

/** True when the text has the form of a key, checksum included. */
export function isKey(text: string): boolean {
  const match = FORM.exec(text);
  return match !== null && checksum(match[1] as string) === match[2];
}

export function hashCredential(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function checksum(secret: string): string {
  return crc32(secret).toString(16).padStart(8, '0');
}
