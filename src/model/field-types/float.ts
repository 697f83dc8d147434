// float: numbers of 64 bits, as most languages have them.
import { isNumber } from '../decimal.ts';
import { numberText } from '../exact-json.ts';
import { checkNumber, decoded, fixedSize, numberBounds, outOfRange, wrongType } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

function floatFrom(text: string): Decoded {
  if (!isNumber(text)) return wrongType('a number');
  const number = Number(text);
  // Digits beyond the 17th are rounded, as everywhere with doubles; a value that is lost altogether is refused.
  const isLost = !Number.isFinite(number) || (number === 0 && /[1-9]/.test(text.replace(/e.*/i, '')));
  return !isLost ? decoded(Object.is(number, -0) ? '-0' : String(number)) : outOfRange('must fit into a 64-bit float');
}

export const float: FieldType = {
  label: '64 bit',
  columnType: () => 'float8',
  bindType: 'float8',
  json: 'number',
  schema: (field) => ({ type: 'number', format: 'double', ...numberBounds(field) }),
  example: 1.5,
  output: 'plain',
  decode: (value) => {
    const text = numberText(value);
    return text === undefined ? wrongType('a number') : floatFrom(text);
  },
  parseText: floatFrom,
  cell: floatFrom,
  check: checkNumber,
  // Treats -0 and 0 as equal.
  equal: (one, other) => Number(one) === Number(other),
  summing: { by: 'text', digits: () => undefined },
  placeholder: '0',
  generated: null,
  attributes: ['min', 'max'],
  ordered: true,
  textual: false,
  comparable: true,
  size: fixedSize,
};
