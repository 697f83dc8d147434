// Completions at a position of a document, by its JSON Schema: member names, enum values, entities of the draft.
import type { Json } from '../api/json.ts';
import { type Cursor, findCursor } from './cursor.ts';
import { listEntityNames } from './edits.ts';
import { asText, asTexts, getAt, isList, isObject, listMembers } from './json-value.ts';
import { type Format, parseText } from './text.ts';

export interface Completion {
  readonly label: string;
  readonly apply: string;
  readonly detail?: string;
  readonly info?: string;
  readonly type: 'property' | 'enum';
}

export interface Completions {
  /** Offset of the completed word. */
  readonly from: number;
  readonly options: readonly Completion[];
}

/** Returns the completions at an offset, or undefined if the JSON Schema has none. */
export function complete(text: string, offset: number, format: Format, shape: Json): Completions | undefined {
  const cursor = findCursor(text, offset, format);
  if (cursor === undefined) return undefined;
  const options = cursor.isName ? completeNames(cursor, shape, format) : completeValues(cursor, shape, format, text);
  return options.length === 0 ? undefined : { from: cursor.from, options };
}

/** Returns the part of the JSON Schema for a path, or undefined if it has none. */
function findSubschema(shape: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = shape;
  for (const name of path) {
    if (getAt(current, ['type']) === 'array' || getAt(current, ['items']) !== undefined)
      current = getAt(current, ['items']);
    else current = getAt(current, ['properties', name]) ?? getAdditional(current);
    if (current === undefined) return undefined;
  }
  return current;
}

function getAdditional(shape: Json | undefined): Json | undefined {
  const additional = getAt(shape, ['additionalProperties']);
  return isObject(additional) ? additional : undefined;
}

function completeNames({ path, siblings }: Cursor, shape: Json, format: Format): readonly Completion[] {
  return listMembers(getAt(findSubschema(shape, path), ['properties']))
    .filter(([name]) => !siblings.includes(name))
    .map(([name, of]) => ({
      label: name,
      apply: format === 'json' ? `${JSON.stringify(name)}: ` : `${name}: `,
      info: asText(getAt(of, ['description'])),
      type: 'property',
    }));
}

function completeValues({ path }: Cursor, shape: Json, format: Format, text: string): readonly Completion[] {
  const of = findSubschema(shape, path);
  const values = getAt(of, ['enum']);
  const word = (value: Json): Completion => {
    const label = typeof value === 'string' ? value : JSON.stringify(value);
    return { label, apply: format === 'json' ? JSON.stringify(value) : label, type: 'enum' };
  };
  if (isList(values)) return values.map(word);
  if (getAt(of, ['type']) === 'boolean') return [true, false].map(word);
  const isEntity = path[2] === 'relations' && (path[4] === 'entity' || path[4] === 'through');
  return isEntity ? listEntities(text, format).map(word) : [];
}

/** Lists the entities of a text, which may be incomplete. */
function listEntities(text: string, format: Format): readonly string[] {
  const { value } = parseText(format, text);
  if (value !== undefined) return listEntityNames(value);
  return asTexts([...text.matchAll(/^ {2}"?([A-Za-z]\w*)"?:/gm)].map(([, name = '']) => name));
}
