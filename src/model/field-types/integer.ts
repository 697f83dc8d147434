// integer and bigint: whole numbers of 32 and of 64 bits.
import { formatDecimal, MAX_INT64, parseDecimal } from '../decimal.ts';
import { exactNumber, numberText } from '../exact-json.ts';
import { checkNumber, decoded, fixedSize, isSameText, numberBounds, outOfRange, wrongType } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

interface Width {
  readonly min: bigint;
  readonly max: bigint;
  readonly label: string;
  /** Format of the OpenAPI format registry. */
  readonly format: string;
}

const INT4: Width = { min: -2147483648n, max: 2147483647n, label: '32 bit', format: 'int32' };
const INT8: Width = { min: -MAX_INT64 - 1n, max: MAX_INT64, label: '64 bit', format: 'int64' };

function integerFrom(text: string, width: Width): Decoded {
  const decimal = parseDecimal(text);
  if (decimal === undefined)
    return /^[+-]?[\d.]+([eE][+-]?\d+)?$/.test(text) ? refuseWidth(width) : wrongType('an integer');
  if (decimal.fraction !== '') return wrongType('an integer');
  if (decimal.integer.length > 19) return refuseWidth(width);
  const plain = formatDecimal(decimal);
  const value = BigInt(plain);
  return value < width.min || value > width.max ? refuseWidth(width) : decoded(plain);
}

const refuseWidth = (width: Width): Decoded => outOfRange(`must fit into ${width.label}s`);

const PLAIN_INTEGER = /^[+-]?\d+$/;

function makeIntegerType(width: Width): Omit<FieldType, 'columnType' | 'bindType' | 'decode'> {
  const parse = (text: string): Decoded =>
    PLAIN_INTEGER.test(text) ? integerFrom(text, width) : wrongType('an integer');
  const bounds = { minimum: exactNumber(String(width.min)), maximum: exactNumber(String(width.max)) };
  return {
    label: width.label,
    json: 'number',
    schema: (field) => ({ type: 'integer', format: width.format, ...bounds, ...numberBounds(field) }),
    example: 1,
    output: 'plain',
    parseText: parse,
    cell: parse,
    check: checkNumber,
    equal: isSameText,
    summing: { by: 'plain', digits: () => 0 },
    placeholder: '0',
    generated: null,
    attributes: ['min', 'max'],
    ordered: true,
    textual: false,
    comparable: true,
    size: fixedSize,
  };
}

export const integer: FieldType = {
  ...makeIntegerType(INT4),
  columnType: () => 'int4',
  bindType: 'int4',
  decode: (value) => {
    const text = numberText(value);
    return text === undefined ? wrongType('an integer') : integerFrom(text, INT4);
  },
};

// Clients whose numbers have 53 bits may write it as a string.
export const bigint: FieldType = {
  ...makeIntegerType(INT8),
  takesDigits: true,
  columnType: () => 'int8',
  bindType: 'int8',
  decode: (value) => {
    const text = numberText(value) ?? (typeof value === 'string' && PLAIN_INTEGER.test(value) ? value : undefined);
    return text === undefined ? wrongType('an integer, as a number or a numeric string') : integerFrom(text, INT8);
  },
};
