// json: any JSON value, with the digits of its numbers.
import { MAX_NESTING, nestingDepth, parseExact } from '../exact-json.ts';
import { checkJson } from '../json-digits.ts';
import { invalid, isSameText, outOfRange } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

export const EXPANDS_TOO_MUCH = 'has numbers that are more than a million characters longer without their exponents';

function jsonFrom(value: unknown): Decoded {
  const check = checkJson(value);
  if (check.ok) return { ok: true, value: JSON.stringify(value), expandedBytes: check.expandedBytes };
  switch (check.mistake) {
    case 'text':
      return invalid('must not contain NUL characters or lone surrogates');
    case 'digits':
      return outOfRange('must not hold a number with more than 1000 digits before or after the point');
    case 'growth':
      return outOfRange(EXPANDS_TOO_MUCH);
    default:
      return check.mistake satisfies never;
  }
}

function jsonFromText(text: string): Decoded {
  if (text.length > MAX_NESTING && nestingDepth(text) > MAX_NESTING) {
    return invalid(`must not be nested more than ${MAX_NESTING} levels deep`);
  }
  try {
    return jsonFrom(parseExact(text));
  } catch {
    return invalid('must be JSON');
  }
}

export const json: FieldType = {
  label: null,
  columnType: () => 'jsonb',
  bindType: 'jsonb',
  json: 'any',
  // Without `type`, generators and viewers would show nothing.
  schema: () => ({ description: 'Any JSON value: object, array, text, number, true, false or null.' }),
  example: { key: 'value' },
  output: 'plain',
  decode: jsonFrom,
  parseText: jsonFromText,
  cell: jsonFromText,
  // Never used: row rules do not compare json, as two equal values may have different texts.
  equal: isSameText,
  placeholder: 'null',
  generated: null,
  attributes: [],
  ordered: false,
  textual: false,
  comparable: false,
  size: () => 'printed',
};
