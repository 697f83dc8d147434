// The header Idempotency-Key -> the key (draft-ietf-httpapi-idempotency-key-header). Form only.
import { badRequest } from '../errors.ts';

const MAX_KEY = 255;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Returns the key without the quotes of a structured field; throws 400 when it is malformed. */
export function parseIdempotencyKey(header: string): string {
  const text = header.trim();
  const key = /^"(.*)"$/.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
  if (key.length > MAX_KEY || !VISIBLE.test(key)) {
    throw badRequest('INVALID_HEADER', `Idempotency-Key must be 1 to ${MAX_KEY} visible ASCII characters`);
  }
  return key;
}
