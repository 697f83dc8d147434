// A schema document in a file, YAML or JSON. Takes a path, gives the document as the API takes it, and finds the line of
// the file that a path of the document stands on, so that a mistake the server reports can be pointed at.
import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, stringify, visit } from 'yaml';
import { numberText, parseExact } from '../model/exact-json.ts';
import { CommandFailure, runtimeFailure } from './failure.ts';
import { type Io, readInput } from './io.ts';

export interface SchemaFile {
  readonly name: string;
  readonly document: unknown;
  /** Line (from 1) of the deepest part of `path` that the file has; null when it has none of it. */
  readonly getLine: (path: string) => number | null;
}

const SCHEMA = 'schema document: an object with "entities"';

/** Reads a schema file (or another `kind`); `-` is stdin. Throws a failure that names the place of a syntax error. */
export async function readSchemaFile(io: Io, path: string, kind = SCHEMA): Promise<SchemaFile> {
  const name = path === '-' ? 'stdin' : path;
  const text = await readInput(io, path);
  return parseSchema(text.replace(/^\uFEFF/, ''), name, kind);
}

/** Parses YAML 1.2, of which JSON is a part; duplicate keys are mistakes, merge keys (<<) are understood. */
export function parseSchema(text: string, name: string, kind = SCHEMA): SchemaFile {
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
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw runtimeFailure(`${name} holds no ${kind} is expected`);
  return { name, document, getLine: (path) => findLine(parsed.contents, path, lines) };
}

/** A schema document as YAML, as `schema show` prints it and `schema apply` takes it. */
export function schemaAsYaml(document: unknown): string {
  return stringify(
    document,
    (_key, value) => {
      const number = typeof value === 'object' ? numberText(value) : undefined;
      if (number === undefined) return value;
      return /^-?\d+$/.test(number) ? BigInt(number) : number;
    },
    { lineWidth: 0 },
  ).trimEnd();
}

/** Rethrows a refusal with the lines of the file in front of its details. `prefix` is where the document sits in the body. */
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

/** A failure about the place of a file that `path` names, with its line. */
export function makeMistake(file: SchemaFile, path: string, message: string): CommandFailure {
  const line = file.getLine(path);
  return runtimeFailure(`${file.name}${line === null ? '' : `:${line}`}: ${message}`);
}

/** Whether a value of a file is an object, and no number that is kept as text. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** Numbers that a double would change keep their source text, as in JSON (model/exact-json.ts). */
function preserveDigits(parsed: ReturnType<typeof parseDocument>): void {
  visit(parsed, {
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

/** `a.b[0].c`, `a.b.0.c` and `/a/b/0/c` name the same place. */
const pathParts = (path: string): readonly string[] => path.split(/[./[\]]+/).filter((part) => part !== '');
