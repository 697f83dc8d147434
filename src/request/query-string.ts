// Parses the raw query string -> parameters in order, strictly: refuses malformed encodings and unknown parameters, and
// guesses nothing. Knows no parameter by name.
import { badRequest, repeatedParameter, unknownParameter } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { isStorable } from '../model/exact-json.ts';

export interface Parameter {
  readonly name: string;
  readonly value: string;
}

// The server accepts 16 KiB of headers; more parameters than this are a mistake.
const MAX_PARAMETERS = 200;

/** Splits and decodes `a=b&c=d` (application/x-www-form-urlencoded: `+` is a space). Throws 400. */
export function parseQueryString(raw: string): Parameter[] {
  if (raw === '') return [];
  const pairs = raw.split('&').filter((pair) => pair !== '');
  if (pairs.length > MAX_PARAMETERS) throw badRequest('LIMIT_EXCEEDED', `More than ${MAX_PARAMETERS} query parameters`);
  return pairs.map((pair) => {
    const at = pair.indexOf('=');
    return at < 0
      ? { name: decode(pair), value: '' }
      : { name: decode(pair.slice(0, at)), value: decode(pair.slice(at + 1)) };
  });
}

const HAS_IGNORED = /(?:^|&)(?:_|%5f)/i;

/**
 * Returns the query string without the parameters whose names start with `_`, which mean nothing and must not create
 * more cache entries.
 */
export function toCacheKey(query: string): string {
  if (!HAS_IGNORED.test(query)) return query;
  return query
    .split('&')
    .filter((pair) => !HAS_IGNORED.test(pair))
    .join('&');
}

function decode(text: string): string {
  const decoded = decodePart(text.replaceAll('+', ' '));
  if (decoded === undefined || !isStorable(decoded)) {
    throw badRequest(
      'MALFORMED_QUERY',
      'The query string is malformed: a parameter does not decode as UTF-8 text without NUL',
    );
  }
  return decoded;
}

/** Percent-decodes UTF-8 (RFC 3986 section 2.1), or returns undefined if it is malformed. */
export function decodePart(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Values of parameters by their names. */
export type Texts = ReadonlyMap<string, readonly string[]>;

/** Returns the parameters of a request that takes only `allowed` ones, each at most once. */
export function parseParameters(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const { values } = collect(query, allowed);
  return new Map([...values].map(([name, texts]) => [name, single(texts, name)]));
}

/** Builds the error for a parameter that is not allowed. */
export type ToUnknownParameter = (name: string, allowed: readonly string[]) => Error;

const toUnknownParameter: ToUnknownParameter = (name, allowed) =>
  unknownParameter(name, closest(name, allowed), allowed);

/** Collects the parameters of a request; `pathNames`: names that may follow the path of a relation, as in `items.size`. */
export function collect(
  query: string,
  allowed: readonly string[],
  pathNames: readonly string[] = [],
  toError = toUnknownParameter,
): { readonly values: Texts; readonly byPath: ReadonlyMap<string, Texts> } {
  const values = new Map<string, string[]>();
  const byPath = new Map<string, Map<string, string[]>>();
  for (const { name, value } of parseQueryString(query)) {
    if (allowed.includes(name)) append(values, name, value);
    else if (!name.startsWith('_')) {
      const point = name.lastIndexOf('.');
      const part = name.slice(point + 1);
      if (point < 1 || !pathNames.includes(part)) throw toError(name, allowed);
      const path = name.slice(0, point);
      const parts = byPath.get(path) ?? new Map<string, string[]>();
      append(parts, part, value);
      byPath.set(path, parts);
    }
  }
  return { values, byPath };
}

function append(map: Map<string, string[]>, name: string, value: string): void {
  const values = map.get(name);
  if (values === undefined) map.set(name, [value]);
  else values.push(value);
}

/** Returns the value of a parameter that may be given once. */
export function single(texts: readonly string[], name: string): string {
  if (texts.length > 1) throw repeatedParameter(name);
  return texts[0] as string;
}
