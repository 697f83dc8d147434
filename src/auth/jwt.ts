// Parses a JSON Web Token in compact form strictly, without verifying it (RFC 7515 section 7.1, RFC 7519).
import { MAX_NESTING, nestingDepth, parseExact } from '../model/exact-json.ts';

export interface Jwt {
  readonly header: JwtHeader;
  /** Claims, in which numbers that a double would change keep their text, see model/exact-json.ts. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface JwtHeader {
  readonly alg: string;
  readonly kid: string | undefined;
  /** True when it has extensions that must be understood (`crit`). */
  readonly critical: boolean;
}

const BASE64URL = /^[A-Za-z0-9_-]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses a token, or returns undefined unless it has three parts, the first two JSON objects without duplicates. */
export function readJwt(token: string): Jwt | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every(isBase64Url)) return undefined;
  const [head, body] = parts as [string, string, string];
  const header = readObject(head);
  const claims = header === undefined ? undefined : readObject(body);
  if (header === undefined || claims === undefined) return undefined;
  const { alg, kid } = header;
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return undefined;
  return { header: { alg, kid, critical: Object.hasOwn(header, 'crit') }, claims };
}

function isBase64Url(text: string): boolean {
  return BASE64URL.test(text) && text.length % 4 !== 1;
}

function readObject(part: string): Record<string, unknown> | undefined {
  try {
    const text = utf8.decode(Buffer.from(part, 'base64url'));
    if (nestingDepth(text) > MAX_NESTING) return undefined;
    const value = parseExact(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || repeatsMember(text)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/**
 * True when an object in this JSON text has a duplicate member. RFC 7519 section 4 allows to reject such text or to use
 * the last one; the signer may have read the first, so it is rejected.
 */
function repeatsMember(text: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  // Matches member names with their colon, and brackets; nothing else matters in text that has been parsed.
  for (const [piece, name, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*(:?)|[{}[\]]/g)) {
    if (name !== undefined) {
      if (colon !== ':') continue;
      const names = open.at(-1);
      const member = JSON.parse(name) as string;
      if (names?.has(member)) return true;
      names?.add(member);
    } else if (piece === '{') open.push(new Set());
    else if (piece === '[') open.push(undefined);
    else open.pop();
  }
  return false;
}
