// boolean: true or false; in files also the forms of databases and spreadsheets.
import { decoded, fixedSize, isSameText, wrongType } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

const CELLS: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['t', 'true'],
  ['1', 'true'],
  ['false', 'false'],
  ['f', 'false'],
  ['0', 'false'],
]);

const truthFrom = (text: string): Decoded =>
  text === 'true' || text === 'false' ? decoded(text) : wrongType('true or false');

export const boolean: FieldType = {
  label: null,
  columnType: () => 'bool',
  bindType: 'bool',
  json: 'boolean',
  schema: () => ({ type: 'boolean' }),
  example: true,
  output: 'plain',
  decode: (value) => (typeof value === 'boolean' ? decoded(String(value)) : wrongType('true or false')),
  parseText: truthFrom,
  cell: (text) => truthFrom(CELLS.get(text.toLowerCase()) ?? text),
  equal: isSameText,
  placeholder: 'false',
  generated: null,
  attributes: [],
  ordered: false,
  textual: false,
  comparable: true,
  size: fixedSize,
};
