// Path of the cursor in a document that may be incomplete. The scan reads from the beginning to the cursor only:
// brackets in JSON, and indentation in YAML.
import type { Format } from './text.ts';

export interface Cursor {
  /** Path of the object whose member name is typed, or of the value that is. */
  readonly path: readonly string[];
  readonly isName: boolean;
  /** Offset of the word at the cursor. */
  readonly from: number;
  /** Names of the object's members before the cursor. */
  readonly siblings: readonly string[];
}

interface Open {
  readonly isList: boolean;
  /** Name of the current member, as far as it is typed. */
  name: string | undefined;
  index: number;
  readonly names: string[];
}

const TOKEN = /"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns the path and word at an offset, or undefined where completion is impossible, such as in a comment. */
export function findCursor(text: string, offset: number, format: Format): Cursor | undefined {
  const before = text.slice(0, offset);
  const word = /["\w$-]*$/.exec(before)?.[0] ?? '';
  const from = offset - word.length;
  const rest = text.slice(0, from);
  return format === 'json' ? inBrackets(rest, [], from) : inYaml(rest, from);
}

/** Scans the brackets of a text that begins with a value. */
function inBrackets(text: string, above: readonly string[], from: number): Cursor | undefined {
  const open: Open[] = [];
  for (const [token] of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') open.push({ isList: token === '[', name: undefined, index: 0, names: [] });
    else if (token === '}' || token === ']') open.pop();
    else if (inner === undefined) continue;
    else if (token === ',') {
      inner.name = undefined;
      inner.index += 1;
    } else if (token !== ':' && !inner.isList && inner.name === undefined) {
      inner.name = token.replace(/^"|"$/g, '');
      inner.names.push(inner.name);
    }
  }
  const inner = open.at(-1);
  if (inner === undefined) return undefined;
  const outer = open.slice(0, -1).map(getStep);
  if (inner.isList) return { path: [...above, ...outer, String(inner.index)], isName: false, from, siblings: [] };
  if (inner.name === undefined) return { path: [...above, ...outer], isName: true, from, siblings: inner.names };
  return { path: [...above, ...outer, inner.name], isName: false, from, siblings: [] };
}

const getStep = ({ isList, name, index }: Open): string => (isList ? String(index) : (name ?? ''));

const LINE = /^( *)((?:- +)*)(?:("[^"]*"|'[^']*'|[^\s#:{["'][^:#]*?) *:(?: +(.*))?)?(.*)$/;

interface Level {
  readonly indent: number;
  readonly name: string;
}

function inYaml(text: string, from: number): Cursor | undefined {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  if (/(^|\s)#/.test(last)) return undefined;
  const levels: Level[] = [];
  const siblings = new Map<number, string[]>();
  for (const line of lines) follow(line, levels, siblings);
  const [, space = '', dashes = '', key, value = ''] = LINE.exec(last) ?? [];
  const indent = space.length + dashes.length;
  while ((levels.at(-1)?.indent ?? -1) >= indent) levels.pop();
  const above = [...levels.map(({ name }) => name), ...(dashes === '' ? [] : ['0'])];
  if (key !== undefined) {
    const path = [...above, unquote(key)];
    return /[{[]/.test(value) ? inBrackets(value, path, from) : { path, isName: false, from, siblings: [] };
  }
  if (/[{[]/.test(last)) return inBrackets(last.slice(indent), above, from);
  // The line begins with a name or is an entry of a list.
  return { path: above, isName: true, from, siblings: siblings.get(indent) ?? [] };
}

function follow(line: string, levels: Level[], siblings: Map<number, string[]>): void {
  const [, space = '', dashes = '', key] = LINE.exec(line) ?? [];
  if (key === undefined) return;
  const indent = space.length + dashes.length;
  while ((levels.at(-1)?.indent ?? -1) >= indent) levels.pop();
  for (const deeper of siblings.keys()) if (deeper > indent) siblings.delete(deeper);
  const name = unquote(key);
  siblings.set(indent, [...(siblings.get(indent) ?? []), name]);
  if (dashes !== '') levels.push({ indent: indent - 1, name: '0' });
  levels.push({ indent, name });
}

const unquote = (key: string): string => key.replace(/^["']|["']$/g, '');
