// A few values of each field type, as JSON text, in the order in which the type sorts them: what the matrices of types are
// made of. A type without its line does not compile.
import type { FieldTypeName } from '../../src/model/field-types.ts';

export interface TypeSample {
  /** Attributes of the field in the schema document. */
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Different values, the least first, as answers write them. */
  readonly values: readonly string[];
  /** JSON that no field of the type takes, and what is said of it. */
  readonly refused: readonly [json: string, code: string, message: string];
  /** A cell of a file that no field of the type takes, and its code; null where any text is a value. */
  readonly mistakenCell: readonly [cell: string, code: string] | null;
  /** Do `gt` and `between` mean something? */
  readonly isOrdered: boolean;
  /** Do `contains` and `matches`? */
  readonly isText: boolean;
  /** Can records be sorted by it? */
  readonly isSorted: boolean;
}

const WORDS = ['"a  b"', '"apple"', '"Öl"', '"zoo"'];
const ORDERED = { isOrdered: true, isText: false, isSorted: true } as const;
const TEXT = { isOrdered: true, isText: true, isSorted: true } as const;

export const TYPE_SAMPLES: Readonly<Record<FieldTypeName, TypeSample>> = {
  string: { values: WORDS, refused: ['1', 'TYPE_MISMATCH', 'must be a string'], mistakenCell: null, ...TEXT },
  text: { values: WORDS, refused: ['true', 'TYPE_MISMATCH', 'must be a string'], mistakenCell: null, ...TEXT },
  integer: {
    values: ['-2147483648', '-5', '0', '2147483647'],
    refused: ['1.5', 'TYPE_MISMATCH', 'must be an integer'],
    mistakenCell: ['1.0', 'TYPE_MISMATCH'],
    ...ORDERED,
  },
  bigint: {
    values: ['-9223372036854775808', '0', '9007199254740992', '9007199254740993'],
    refused: ['"x"', 'TYPE_MISMATCH', 'must be an integer, as a number or a numeric string'],
    mistakenCell: ['1e3', 'TYPE_MISMATCH'],
    ...ORDERED,
  },
  decimal: {
    values: ['-10', '0.1', '1.10', '123456789012345678901234567890.5'],
    refused: ['true', 'TYPE_MISMATCH', 'must be a number or a numeric string'],
    mistakenCell: ['1,50', 'TYPE_MISMATCH'],
    ...ORDERED,
  },
  float: {
    values: ['-1e+300', '0.1', '3', '1e+300'],
    refused: ['"1"', 'TYPE_MISMATCH', 'must be a number'],
    mistakenCell: ['NaN', 'TYPE_MISMATCH'],
    ...ORDERED,
  },
  boolean: {
    values: ['false', 'true'],
    refused: ['0', 'TYPE_MISMATCH', 'must be true or false'],
    mistakenCell: ['yes', 'TYPE_MISMATCH'],
    isOrdered: false,
    isText: false,
    isSorted: true,
  },
  date: {
    values: ['"1999-12-31"', '"2024-02-29"', '"2024-03-01"'],
    refused: ['"2023-02-29"', 'INVALID', 'must be a date such as 2026-01-31'],
    mistakenCell: ['31.12.1999', 'INVALID'],
    ...ORDERED,
  },
  datetime: {
    values: ['"1969-12-31T23:59:59Z"', '"2024-02-29T12:00:00Z"', '"2024-02-29T12:00:00.500Z"'],
    refused: ['1', 'TYPE_MISMATCH', 'must be a datetime string'],
    mistakenCell: ['noon', 'INVALID'],
    ...ORDERED,
  },
  time: {
    values: ['"00:00:00"', '"10:30:00"', '"10:30:01"', '"23:59:59"'],
    refused: ['"24:00:00"', 'INVALID', 'must be a time such as 12:00:00'],
    mistakenCell: ['7 am', 'INVALID'],
    ...ORDERED,
  },
  uuid: {
    values: ['"00000000-0000-4000-8000-000000000001"', '"ffffffff-ffff-4fff-bfff-ffffffffffff"'],
    refused: ['"x"', 'INVALID', 'must be a UUID'],
    mistakenCell: ['x', 'INVALID'],
    ...ORDERED,
  },
  json: {
    values: ['{"a": 1.50}', '[1]', '"text"', '0'],
    // JSON of any kind is a value; NUL is no text of PostgreSQL.
    refused: ['"\\u0000"', 'INVALID', 'must not contain NUL characters or lone surrogates'],
    mistakenCell: ['plain', 'INVALID'],
    isOrdered: false,
    isText: false,
    isSorted: false,
  },
  enum: {
    attributes: { values: ['mid', 'low', 'high'] },
    values: ['"high"', '"low"', '"mid"'],
    refused: ['"High"', 'NOT_IN_ENUM', 'must be one of mid, low, high'],
    mistakenCell: ['LOW', 'NOT_IN_ENUM'],
    ...TEXT,
  },
};
