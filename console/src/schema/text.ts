// Schema document as text, YAML or JSON: parsed with the positions of its members, printed, and rewritten with
// unchanged parts as they were.
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  Pair,
  parseDocument,
  Scalar,
  visit as walk,
  YAMLMap,
  YAMLSeq,
} from 'yaml';
import { Digits, type Json, parseExact } from '../api/json.ts';
import { findSyntaxError } from './json-syntax.ts';
import { isList, isObject, isSame, listMembers, type Path } from './json-value.ts';

export type Format = 'yaml' | 'json';

/** Offsets into the text. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface TextProblem extends Range {
  readonly message: string;
}

export interface ParsedText {
  /** Value, or undefined if the text cannot be parsed. */
  readonly value: Json | undefined;
  readonly problems: readonly TextProblem[];
  /** Range of the member at a path, or of its nearest existing parent. */
  readonly findRange: (path: Path) => Range;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;
// Limit of aliases, which may make a small text a large document.
const MAX_ALIASES = 1000;

/** YAML tag for numbers that keep their digits. */
const digitsTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: NUMBER,
  identify: (value: unknown) => value instanceof Digits,
  resolve: (text: string) => new Digits(text),
  stringify: ({ value }: { value: unknown }) => String(value),
} as const;

const OPTIONS = {
  customTags: (tags: readonly unknown[]) => [digitsTag, ...tags] as never,
  prettyErrors: false,
  logLevel: 'silent' as const,
};

/** Parses a text of either format; one parser reads both, as JSON is YAML. */
export function parseText(format: Format, text: string): ParsedText {
  const document = parseDocument(text, OPTIONS);
  const findRange = (path: Path): Range => locate(document, path, text.length);
  const problems = format === 'json' ? listJsonProblems(document, text) : listYamlProblems(document);
  if (problems.length > 0) return { value: undefined, problems, findRange };
  try {
    const value = format === 'json' ? parseExact(text) : (document.toJS({ maxAliasCount: MAX_ALIASES }) as Json);
    if (isObject(value)) return { value, problems: [], findRange };
    return { value: undefined, problems: [{ message: 'must be an object', from: 0, to: text.length }], findRange };
  } catch (thrown) {
    return {
      value: undefined,
      problems: [{ message: (thrown as Error).message, from: 0, to: text.length }],
      findRange,
    };
  }
}

const listYamlProblems = (document: Document.Parsed): readonly TextProblem[] =>
  document.errors.map(({ message, pos: [from, to] }) => ({
    message: message.replace(/ at line [\s\S]*$/, ''),
    from,
    to,
  }));

/** Lists syntax errors, and duplicate names, which JSON.parse ignores. */
function listJsonProblems(document: Document.Parsed, text: string): readonly TextProblem[] {
  const mistake = findSyntaxError(text);
  if (mistake !== undefined)
    return [{ message: mistake.message, from: mistake.at, to: Math.min(mistake.at + 1, text.length) }];
  return document.errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    .map(({ message, pos: [from, to] }) => ({ message, from, to }));
}

function locate({ contents }: Document.Parsed, path: Path, end: number): Range {
  let range: Range = { from: 0, to: Math.min(1, end) };
  let node: unknown = contents;
  for (const name of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === name);
      if (pair === undefined) return range;
      if (isScalar(pair.key) && pair.key.range != null) range = { from: pair.key.range[0], to: pair.key.range[1] };
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(name)];
      const { range: place } = (node ?? {}) as { range?: [number, number, number] };
      if (place === undefined) return range;
      range = { from: place[0], to: place[1] };
    } else return range;
  }
  return range;
}

/** Prints a value in the usual style, with small objects on one line and a final line break. */
export function printText(format: Format, value: Json): string {
  if (format === 'json') return `${printJson(value, '')}\n`;
  const document = parseDocument('', OPTIONS);
  document.contents = createNode(document, value) as never;
  return printYaml(document);
}

/** Returns the text with another value; in YAML unchanged parts keep comments, quotes and order. */
export function rewriteText(format: Format, text: string, value: Json): string {
  const { value: before } = parseText(format, text);
  if (format === 'json' || before === undefined) return printText(format, value);
  if (isSame(before, value)) return text;
  const document = parseDocument(text, OPTIONS);
  document.contents = syncNode(document, document.contents, value) as never;
  return printYaml(document);
}

const printYaml = (document: Document): string => document.toString({ lineWidth: 0 });

const WIDTH = 100;

function createNode(document: Document, value: Json): unknown {
  const node = document.createNode(value, { aliasDuplicateObjects: false });
  walk(node as never, {
    Collection(_, one, ancestors) {
      const depth = ancestors.filter((above) => above instanceof YAMLMap || above instanceof YAMLSeq).length;
      const whole = one.toJS(document as never, { maxAliasCount: MAX_ALIASES }) as Json;
      one.flow = isSmall(whole, depth === 0 ? node === one && !isOutline(whole) : true);
      return one.flow ? walk.SKIP : undefined;
    },
  });
  return node;
}

/** Returns whether a value is flat and fits on one line. */
const isSmall = (value: Json, mayBeFlow: boolean): boolean =>
  mayBeFlow && isFlat(value) && printJson(value, '').length <= WIDTH;

const isFlat = (value: Json): boolean => {
  const parts = isObject(value) ? Object.values(value) : isList(value) ? value : [];
  return parts.every(
    (one) => !isObject(one) && (!isList(one) || one.every((entry) => !isObject(entry) && !isList(entry))),
  );
};

/** Returns whether a value is an entity or the document, whose members are always on separate lines. */
const isOutline = (value: Json): boolean =>
  isObject(value) && ['entities', 'fields', 'relations', 'indexes'].some((name) => Object.hasOwn(value, name));

function printJson(value: Json, indent: string): string {
  if (!isObject(value) && !isList(value)) return value instanceof Digits ? value.text : JSON.stringify(value);
  const inner = `${indent}  `;
  const flat = isFlat(value);
  const parts = isObject(value)
    ? listMembers(value).map(([name, one]) => `${JSON.stringify(name)}: ${printJson(one, inner)}`)
    : value.map((one) => printJson(one, inner));
  const [open, close] = isObject(value) ? ['{', '}'] : ['[', ']'];
  if (parts.length === 0) return open + close;
  const line = `${open}${parts.join(', ')}${close}`;
  if (flat && indent.length + line.length <= WIDTH) return line;
  return `${open}\n${parts.map((one) => inner + one).join(',\n')}\n${indent}${close}`;
}

/** Updates a node to the value; nodes with an equal value stay with their comments. */
function syncNode(document: Document, node: unknown, value: Json): unknown {
  const before = (node as { toJS?: (document: Document, options: object) => Json } | null)?.toJS?.(document, {
    maxAliasCount: MAX_ALIASES,
  });
  if (isSame(before, value)) return node;
  if (isMap(node) && isObject(value)) {
    syncMembers(document, node, value);
    return node;
  }
  if (isSeq(node) && isList(value)) {
    node.items = value.map((one, index) =>
      index < node.items.length ? syncNode(document, node.items[index], one) : createNode(document, one),
    );
    return node;
  }
  const next = createNode(document, value);
  if (isScalar(node) && isScalar(next)) {
    if (node.comment != null) next.comment = node.comment;
    if (node.commentBefore != null) next.commentBefore = node.commentBefore;
  }
  return next;
}

const readKey = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

function syncMembers(document: Document, map: YAMLMap, value: { readonly [name: string]: Json }): void {
  const entries = Object.entries(value);
  const pairs = new Map((map.items as Pair[]).map((pair) => [readKey(pair), pair]));
  const removedNames = [...pairs.keys()].filter((name) => !Object.hasOwn(value, name));
  const addedNames = entries.filter(([name]) => !pairs.has(name)).map(([name]) => name);
  const [old, renamed] = [removedNames[0], addedNames[0]];
  const isRenaming =
    removedNames.length === 1 &&
    addedNames.length === 1 &&
    [...pairs.keys()].indexOf(old as string) === Object.keys(value).indexOf(renamed as string);
  map.items = entries.map(([name, one]) => {
    const pair = pairs.get(isRenaming && name === renamed ? (old as string) : name);
    if (pair === undefined) return new Pair(document.createNode(name), createNode(document, one)) as never;
    if (readKey(pair) !== name) {
      const key = new Scalar(name);
      if (isScalar(pair.key) && pair.key.commentBefore != null) key.commentBefore = pair.key.commentBefore;
      pair.key = key;
    }
    pair.value = syncNode(document, pair.value, one);
    return pair as never;
  });
  // An empty `{}` that gets its first members becomes a block.
  if (pairs.size === 0) map.flow = isSmall(value, !isOutline(value));
}
