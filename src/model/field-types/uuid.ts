// uuid: 128 bits, in lower case with hyphens.
import { decoded, fixedSize, fromString, invalid, isSameText } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const uuidFrom = (text: string): Decoded => (UUID.test(text) ? decoded(text.toLowerCase()) : invalid('must be a UUID'));

export const uuid: FieldType = {
  label: null,
  columnType: () => 'uuid',
  bindType: 'uuid',
  json: 'string',
  schema: () => ({ type: 'string', format: 'uuid' }),
  example: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  output: 'plain',
  decode: fromString('a UUID string', uuidFrom),
  parseText: uuidFrom,
  cell: uuidFrom,
  equal: isSameText,
  placeholder: '00000000-0000-0000-0000-000000000000',
  generated: { word: 'uuid', expression: 'gen_random_uuid()', varies: true },
  attributes: [],
  ordered: true,
  textual: false,
  comparable: true,
  extremesByText: true,
  size: fixedSize,
};
