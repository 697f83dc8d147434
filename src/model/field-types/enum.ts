// enum: one of the texts that the field lists.
import { listNames } from '../../errors.ts';
import { decoded, fromString, isSameText, mistake } from './decoding.ts';
import type { Decoded, FieldType, TypeAttributes } from './field-type.ts';
import { collatedText, textSize } from './text.ts';

function decodeMember(text: string, field: TypeAttributes): Decoded {
  const values = field.values ?? [];
  return values.includes(text) ? decoded(text) : mistake('NOT_IN_ENUM', `must be one of ${listNames(values)}`);
}

export const enumeration: FieldType = {
  label: 'one of `values`',
  columnType: collatedText,
  bindType: 'text',
  json: 'string',
  schema: ({ values }) => ({ type: 'string', ...(values === undefined ? {} : { enum: values }) }),
  // The examples use one of its own values.
  example: '',
  output: 'plain',
  decode: fromString('a string', decodeMember),
  parseText: decodeMember,
  cell: decodeMember,
  equal: isSameText,
  placeholder: '',
  generated: null,
  attributes: ['values'],
  ordered: true,
  textual: true,
  comparable: true,
  size: textSize,
};
