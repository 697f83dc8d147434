// Reads a schema document from a file (YAML or JSON), and finds the line of a path in the document, for mistakes that the
// server reports.
import {
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type ScalarTag,
  stringify,
  visit as walkNodes,
} from 'yaml';
import { numberText, parseExact } from '../model/exact-json.ts';
import { CommandFailure, runtimeFailure } from './failure.ts';
import { type Io, readInput } from './io.ts';

export interface SchemaFile {
  readonly name: string;
  readonly document: unknown;
  /** Returns the line (from 1) of the deepest part of `path` that the file has, or null if it has none. */
  readonly getLine: (path: string) => number | null;
}

const SCHEMA = 'schema document: an object with "entities"';

/** Reads a schema file (or another `kind`); `-` is stdin. Throws a failure with the position of a syntax error. */
export async function readSchemaFile(
  io: Io,
  path: string,
  kind = SCHEMA,
  isKind: (document: unknown) => boolean = isObject,
): Promise<SchemaFile> {
  const name = path === '-' ? 'stdin' : path;
  const text = await readInput(io, path);
  return parseSchema(text.replace(/^\uFEFF/, ''), name, kind, isKind);
}

/** Parses YAML 1.2, a superset of JSON, with merge keys (<<); duplicate keys are mistakes. */
export function parseSchema(
  text: string,
  name: string,
  kind = SCHEMA,
  isKind: (document: unknown) => boolean = isObject,
): SchemaFile {
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const mistake = parsed.errors[0];
  if (mistake !== undefined) {
    const { line, col } = lines.linePos(mistake.pos[0]);
    throw runtimeFailure(`${name}:${line}:${col}: ${mistake.message}`);
  }
  preserveDigits(parsed);
  let document: unknown;
  try {
    document = parsed.toJS();
  } catch (error) {
    throw runtimeFailure(`${name}: ${(error as Error).message}`, undefined, error);
  }
  // An empty file is no null, which would remove what is in force.
  if (parsed.contents === null || !isKind(document)) throw runtimeFailure(`${name} holds no ${kind} is expected`);
  return { name, document, getLine: (path) => findLine(parsed.contents, path, lines) };
}

/** Writes numbers that a double would change with the digits of their source, which parseSchema() reads back. */
const EXACT_NUMBER: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'object' && numberText(value) !== undefined,
  // Reads nothing: the tags of YAML come next.
  test: /(?!)/,
  resolve: (text) => text,
  stringify: ({ value }) => numberText(value) ?? '',
};

/** Formats a schema document as YAML, for `schema show` and `schema apply`. */
export function schemaAsYaml(document: unknown): string {
  return stringify(document, null, { lineWidth: 0, customTags: (tags) => [EXACT_NUMBER, ...tags] }).trimEnd();
}

/** Rethrows an error with lines of the file in its details. `prefix`: path of the document in the body. */
export function rethrowWithLines(error: unknown, file: SchemaFile | undefined, prefix: readonly string[] = []): never {
  if (!(error instanceof CommandFailure) || error.failure.kind !== 'refused' || file === undefined) throw error;
  const { failure } = error;
  const details = failure.error.details?.map((detail) => {
    if (typeof detail.field !== 'string') return detail;
    const parts = pathParts(detail.field);
    const inFile = prefix.every((part, index) => parts[index] === part) ? parts.slice(prefix.length) : parts;
    const line = file.getLine(inFile.join('.'));
    return line === null ? detail : { ...detail, line };
  });
  throw new CommandFailure(
    { ...failure, error: { ...failure.error, ...(details === undefined ? {} : { details }) } },
    error.hints,
    error,
  );
}

/** Creates a failure with the line of `path` in a file. */
export function makeMistake(file: SchemaFile, path: string, message: string): CommandFailure {
  const line = file.getLine(path);
  return runtimeFailure(`${file.name}${line === null ? '' : `:${line}`}: ${message}`);
}

// Mistakes that a terminal shows at once.
const MAX_LISTED = 50;

/** Throws a failure with all mistakes of a file; returns if there are none. */
export function throwMistakes(file: SchemaFile, mistakes: readonly CommandFailure[]): void {
  const [first] = mistakes;
  if (first === undefined) return;
  if (mistakes.length === 1) throw first;
  const messages = mistakes.slice(0, MAX_LISTED).map(({ message }) => message);
  const more = mistakes.length > MAX_LISTED ? [`and ${mistakes.length - MAX_LISTED} more`] : [];
  const { failure } = runtimeFailure(`${file.name} has ${mistakes.length} mistakes`, { mistakes: messages });
  throw new CommandFailure(failure, [...messages, ...more]);
}

/** Returns true for an object of a file, and false for a number that is kept as text. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** Keeps the source text of numbers that a double would change, as in JSON (model/exact-json.ts). */
function preserveDigits(parsed: ReturnType<typeof parseDocument>): void {
  walkNodes(parsed, {
    Scalar(_key, node) {
      if (typeof node.value !== 'number' || node.source === undefined) return;
      if (node.source !== String(node.value) && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(node.source))
        node.value = parseExact(node.source);
    },
  });
}

function findLine(root: Node | null, path: string, lines: LineCounter): number | null {
  let node: unknown = root;
  let offset: number | undefined;
  for (const part of pathParts(path)) {
    if (isMap(node)) {
      const pair: unknown = node.items.find((item) => isScalar(item.key) && String(item.key.value) === part);
      if (!isPair(pair)) break;
      offset = (pair.key as Node).range?.[0];
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(part)] as Node | undefined;
      if (item === undefined) break;
      offset = item.range?.[0];
      node = item;
    } else break;
  }
  return offset === undefined ? null : lines.linePos(offset).line;
}

/** Splits a path; `a.b[0].c`, `a.b.0.c` and `/a/b/0/c` are the same. */
const pathParts = (path: string): readonly string[] => path.split(/[./[\]]+/).filter((part) => part !== '');
