// JSON text -> value in pieces, for texts so long that reading them at once would keep everybody else waiting: 1 MB of
// numbers that need all their digits takes JSON.parse with its reviver 200 ms, and this reader 60 ms, in pieces of half
// a millisecond. Gives what parseExact() gives (a property test holds the two together).
import { exactNumber, MAX_NESTING } from './exact-json.ts';

/** Why a text was not read: it is not JSON, nests too deep, an object has too many members, or it holds too many values. */
export class JsonFault extends Error {
  readonly kind: 'syntax' | 'depth' | 'width' | 'number';
  constructor(kind: JsonFault['kind']) {
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

/** By their first character. */
const WORDS: ReadonlyMap<number, { readonly text: string; readonly value: unknown }> = new Map(
  [true, false, null].map((value) => [String(value).charCodeAt(0), { text: String(value), value }]),
);

type Container = unknown[] | Record<string, unknown>;

export interface JsonLimits {
  /** Members of one object, at this depth and above it: 1 is the outermost. */
  readonly maxMembers: number;
  readonly depth: number;
  /** Values, objects and arrays in all. */
  readonly maxValues: number;
}

/** For texts whose length is bounded otherwise. */
export const UNLIMITED: JsonLimits = {
  maxMembers: Number.POSITIVE_INFINITY,
  depth: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
};

// Of an object at any depth: a larger one takes seconds wherever all its names are asked for.
const MOST_MEMBERS = 100_000;

/**
 * Reads one JSON value (RFC 8259); of duplicate keys the last counts. Yields now and then, so that its caller can let
 * others run. Throws JsonFault.
 */
export function* readJson(text: string, { maxMembers, depth, maxValues }: JsonLimits): Generator<undefined, unknown> {
  const open: Container[] = [];
  const keys: string[] = [];
  const counts: number[] = [];
  let at = 0;
  let steps = 0;
  let members = 0;
  let key = '';

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
    if (at === 0) throw new JsonFault('syntax');
    try {
      return JSON.parse(text.slice(from, at)) as string;
    } catch {
      throw new JsonFault('syntax');
    }
  };
  /** Reads the next key of the open object, and skips the colon. */
  const nextKey = (): void => {
    if (next() !== 0x22) throw new JsonFault('syntax');
    key = string();
    if (++members > (open.length <= depth ? maxMembers : MOST_MEMBERS)) throw new JsonFault('width');
    if (next() !== 0x3a) throw new JsonFault('syntax');
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
    counts.push(members);
    members = 0;
    if (open.length > MAX_NESTING) throw new JsonFault('depth');
  };
  const end = (): Container => {
    at++;
    key = keys.pop() as string;
    members = counts.pop() as number;
    return open.pop() as Container;
  };
  const scalar = (code: number): unknown => {
    if (code === 0x22) return string();
    const word = WORDS.get(code);
    if (word !== undefined) {
      if (!text.startsWith(word.text, at)) throw new JsonFault('syntax');
      at += word.text.length;
      return word.value;
    }
    const source = match(NUMBER);
    if (source === '') throw new JsonFault('syntax');
    return exactNumber(source);
  };

  for (;;) {
    if (++steps % STEPS === 0) yield undefined;
    if (steps > maxValues) throw new JsonFault('number');
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
        if (at < text.length) throw new JsonFault('syntax');
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
      if (after !== (isList ? 0x5d : 0x7d)) throw new JsonFault('syntax');
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
