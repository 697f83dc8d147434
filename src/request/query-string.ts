// The raw query string -> parameters in order, strictly: what does not decode is refused, nothing is guessed.
// Knows no parameter by name.
import { badRequest } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';

export interface Parameter {
  readonly name: string;
  readonly value: string;
}

// The server takes 16 KiB of headers; nobody needs a thousand parameters in them.
const MAX_PARAMETERS = 200;

/** Splits and decodes `a=b&c=d` (application/x-www-form-urlencoded: `+` is a space). Throws 400. */
export function parseQueryString(raw: string): Parameter[] {
  if (raw === '') return [];
  const pairs = raw.split('&').filter((pair) => pair !== '');
  if (pairs.length > MAX_PARAMETERS) throw badRequest(`More than ${MAX_PARAMETERS} query parameters`);
  return pairs.map((pair) => {
    const at = pair.indexOf('=');
    return at < 0
      ? { name: decode(pair), value: '' }
      : { name: decode(pair.slice(0, at)), value: decode(pair.slice(at + 1)) };
  });
}

const HAS_IGNORED = /(?:^|&)(?:_|%5f)/i;

/**
 * The query string without the parameters whose names start with `_`, which mean nothing: they must not make new
 * entries in what is remembered of requests by their query string.
 */
export function wordsOf(query: string): string {
  if (!HAS_IGNORED.test(query)) return query;
  return query
    .split('&')
    .filter((pair) => !HAS_IGNORED.test(pair))
    .join('&');
}

function decode(text: string): string {
  const decoded = decodePart(text.replaceAll('+', ' '));
  if (decoded === undefined || !isStorable(decoded)) {
    throw badRequest('The query string is malformed: a parameter does not decode as UTF-8 text without NUL');
  }
  return decoded;
}

/** Percent-decodes UTF-8 (RFC 3986 section 2.1); undefined when malformed. */
export function decodePart(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
