// JSON text -> value in pieces, for texts so long that reading them at once would keep everybody else waiting: 1 MB of
// numbers that need all their digits takes JSON.parse with its reviver 200 ms, and this reader 60 ms, in pieces of half
// a millisecond. Gives what parseExact() gives (a property test holds the two together).
import { exactNumber, MAX_NESTING } from './exact-json.ts';

/** Why a text was not read: it is not JSON, nests too deep, or its outermost object has too many members. */
export class JsonFault extends Error {
  readonly kind: 'syntax' | 'depth' | 'width';
  constructor(kind: 'syntax' | 'depth' | 'width') {
    super(kind);
    this.kind = kind;
  }
}

// Values and brackets between two pauses: some 50 to 200 µs.
const STEPS = 1000;

const SPACE = /[ \t\n\r]*/y;
// The characters of a string that need no backslash (RFC 8259 section 7).
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

type Container = unknown[] | Record<string, unknown>;

/**
 * Reads one JSON value (RFC 8259); of duplicate keys the last counts. Yields now and then, so that its caller can let
 * others run. `maxMembers`: of the outermost object. Throws JsonFault.
 */
export function* readJson(text: string, maxMembers: number): Generator<undefined, unknown> {
  const open: Container[] = [];
  const keys: string[] = [];
  let at = 0;
  let steps = 0;
  let members = 0;
  let key = '';

  const fault = (kind: JsonFault['kind'] = 'syntax'): JsonFault => new JsonFault(kind);
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? '';
    at += found.length;
    return found;
  };
  /** Skips white space and gives the code of the character after it, NaN at the end. */
  const next = (): number => {
    let code = text.charCodeAt(at);
    if (code === 0x20 || (code <= 0x0d && code >= 0x09)) {
      match(SPACE);
      code = text.charCodeAt(at);
    }
    return code;
  };
  const string = (): string => {
    const from = at++;
    const plain = match(PLAIN);
    if (text.charCodeAt(at) === 0x22) {
      at++;
      return plain;
    }
    do at = text.indexOf('"', at) + 1;
    while (at > 0 && isEscaped(text, at - 1));
    if (at === 0) throw fault();
    try {
      return JSON.parse(text.slice(from, at)) as string;
    } catch {
      throw fault();
    }
  };
  const word = (expected: string, value: unknown): unknown => {
    if (!text.startsWith(expected, at)) throw fault();
    at += expected.length;
    return value;
  };
  /** Reads the next key of the open object, and skips the colon. */
  const nextKey = (): void => {
    if (next() !== 0x22) throw fault();
    key = string();
    if (open.length === 1 && ++members > maxMembers) throw fault('width');
    if (next() !== 0x3a) throw fault();
    at++;
  };
  const put = (value: unknown): void => {
    const into = open[open.length - 1] as Container;
    if (Array.isArray(into)) into.push(value);
    else if (key === '__proto__') {
      Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
    } else into[key] = value;
  };
  const begin = (container: Container): void => {
    at++;
    open.push(container);
    keys.push(key);
    if (open.length > MAX_NESTING) throw fault('depth');
  };
  const end = (): Container => {
    at++;
    key = keys.pop() as string;
    return open.pop() as Container;
  };
  const scalar = (code: number): unknown => {
    if (code === 0x22) return string();
    if (code === 0x74) return word('true', true);
    if (code === 0x66) return word('false', false);
    if (code === 0x6e) return word('null', null);
    const source = match(NUMBER);
    if (source === '') throw fault();
    return exactNumber(source);
  };

  for (;;) {
    if (++steps % STEPS === 0) yield undefined;
    // A value begins here.
    const code = next();
    let value: unknown;
    if (code === 0x7b) {
      begin({});
      if (next() !== 0x7d) {
        nextKey();
        continue;
      }
      value = end();
    } else if (code === 0x5b) {
      begin([]);
      if (next() !== 0x5d) continue;
      value = end();
    } else value = scalar(code);
    // The value is complete, and so are the containers that end after it.
    for (;;) {
      if (open.length === 0) {
        next();
        if (at < text.length) throw fault();
        return value;
      }
      put(value);
      const isList = Array.isArray(open[open.length - 1]);
      const after = next();
      if (after === 0x2c) {
        at++;
        if (!isList) nextKey();
        break;
      }
      if (after !== (isList ? 0x5d : 0x7d)) throw fault();
      value = end();
    }
  }
}

/** True when the quote at `index` belongs to its string: after an odd number of backslashes. */
function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === 0x5c) first--;
  return (index - first) % 2 === 1;
}
