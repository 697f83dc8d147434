// enum: one of the texts that the field lists.
import { listed } from '../../errors.ts';
import { done, fromString, isSameText, mistake } from './decoding.ts';
import type { Decoded, FieldType, TypeAttributes } from './field-type.ts';
import { collatedText, textSize } from './text.ts';

function memberOf(text: string, field: TypeAttributes): Decoded {
  const values = field.values ?? [];
  return values.includes(text) ? done(text) : mistake('NOT_IN_ENUM', `must be one of ${listed(values)}`);
}

export const enumeration: FieldType = {
  words: 'one of `values`',
  columnType: collatedText,
  bindType: 'text',
  json: 'string',
  schema: ({ values }) => ({ type: 'string', ...(values === undefined ? {} : { enum: values }) }),
  // One of its own values is taken.
  example: '',
  output: 'plain',
  decode: fromString('a string', memberOf),
  parseText: memberOf,
  cell: memberOf,
  equal: isSameText,
  placeholder: '',
  generated: null,
  attributes: ['values'],
  ordered: true,
  textual: true,
  comparable: true,
  size: textSize,
};
