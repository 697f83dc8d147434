// string and text: any Unicode, with a length when the field has one. They are one type of PostgreSQL; the difference
// is for people.
import { decoded, fromString, isSameText, mistake, parseString } from './decoding.ts';
import type { Decoded, FieldType, TypeAttributes } from './field-type.ts';

/** Collation of stored text, by which it sorts and folds case as Unicode says, whatever the database's default is. */
export const TEXT_COLLATION = 'und-x-icu';

// Texts up to this many characters do not make a record large.
const SHORT_TEXT = 10_000;

export const collatedText = (): string => `text collate "${TEXT_COLLATION}"`;

export const textSize = (field: TypeAttributes): 'fixed' | 'text' =>
  (field.maxLength ?? SHORT_TEXT + 1) > SHORT_TEXT ? 'text' : 'fixed';

function checkLength(value: string, field: TypeAttributes): Decoded {
  if (field.maxLength === undefined || value.length <= field.maxLength) return decoded(value);
  // Length counts characters (code points), as PostgreSQL's char_length does, and as maxLength of JSON Schema.
  let length = 0;
  for (const _ of value) length++;
  return length <= field.maxLength
    ? decoded(value)
    : mistake('TOO_LONG', `must have at most ${field.maxLength} characters, has ${length}`);
}

export const text: FieldType = {
  label: 'any Unicode',
  columnType: collatedText,
  bindType: 'text',
  json: 'string',
  schema: ({ maxLength }) => ({ type: 'string', ...(maxLength === undefined ? {} : { maxLength }) }),
  example: 'text',
  output: 'plain',
  decode: fromString('a string', parseString),
  parseText: parseString,
  cell: parseString,
  check: checkLength,
  equal: isSameText,
  placeholder: '',
  generated: null,
  attributes: ['maxLength'],
  ordered: true,
  textual: true,
  comparable: true,
  size: textSize,
};
