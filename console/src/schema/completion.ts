// What can stand at a place of a document, by its JSON Schema: names of members, words of enumerations, entities of the draft.
import type { Json } from '../api/json.ts';
import { type Cursor, cursorAt } from './cursor.ts';
import { entityNames } from './edits.ts';
import { at, isList, isObject, listOf, membersOf, textOf } from './json-value.ts';
import { type Format, parseText } from './text.ts';

export interface Completion {
  readonly label: string;
  readonly apply: string;
  readonly detail?: string;
  readonly info?: string;
  readonly type: 'property' | 'enum';
}

export interface Completions {
  /** Where what is completed begins. */
  readonly from: number;
  readonly options: readonly Completion[];
}

/** The choices at an offset of the text; undefined when the JSON Schema says nothing of it. */
export function completionsAt(text: string, offset: number, format: Format, shape: Json): Completions | undefined {
  const cursor = cursorAt(text, offset, format);
  if (cursor === undefined) return undefined;
  const options = cursor.isName ? namesOf(cursor, shape, format) : wordsOf(cursor, shape, format, text);
  return options.length === 0 ? undefined : { from: cursor.from, options };
}

/** The part of the JSON Schema that is about a path. */
function shapeAt(shape: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = shape;
  for (const name of path) {
    if (at(current, ['type']) === 'array' || at(current, ['items']) !== undefined) current = at(current, ['items']);
    else current = at(current, ['properties', name]) ?? additionalOf(current);
    if (current === undefined) return undefined;
  }
  return current;
}

function additionalOf(shape: Json | undefined): Json | undefined {
  const additional = at(shape, ['additionalProperties']);
  return isObject(additional) ? additional : undefined;
}

function namesOf({ path, siblings }: Cursor, shape: Json, format: Format): readonly Completion[] {
  return membersOf(at(shapeAt(shape, path), ['properties']))
    .filter(([name]) => !siblings.includes(name))
    .map(([name, of]) => ({
      label: name,
      apply: format === 'json' ? `${JSON.stringify(name)}: ` : `${name}: `,
      info: textOf(at(of, ['description'])),
      type: 'property',
    }));
}

function wordsOf({ path }: Cursor, shape: Json, format: Format, text: string): readonly Completion[] {
  const of = shapeAt(shape, path);
  const values = at(of, ['enum']);
  const word = (value: Json): Completion => {
    const label = typeof value === 'string' ? value : JSON.stringify(value);
    return { label, apply: format === 'json' ? JSON.stringify(value) : label, type: 'enum' };
  };
  if (isList(values)) return values.map(word);
  if (at(of, ['type']) === 'boolean') return [true, false].map(word);
  const isEntity = path[2] === 'relations' && (path[4] === 'entity' || path[4] === 'through');
  return isEntity ? entitiesIn(text, format).map(word) : [];
}

/** The entities of a text that may be in the middle of a change. */
function entitiesIn(text: string, format: Format): readonly string[] {
  const { value } = parseText(format, text);
  if (value !== undefined) return entityNames(value);
  return listOf([...text.matchAll(/^ {2}"?([A-Za-z]\w*)"?:/gm)].map(([, name = '']) => name));
}
