// datetime: a point in time in UTC to the millisecond, `yyyy-mm-ddThh:mm:ssZ`.
import { parseDateTime } from '../date-time.ts';
import { checkIso, decoded, fixedSize, fromString, invalid, isSameText } from './decoding.ts';
import { DATE_PARTS, type Decoded, type FieldType } from './field-type.ts';

const dateTimeFrom = (text: string): Decoded => {
  const time = parseDateTime(text);
  return time === undefined
    ? invalid('must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z')
    : decoded(time);
};

/** Databases print `2026-01-31 12:00:00`; with a T it is ISO 8601. */
const SQL_DATE_TIME = /^(\d{4}-\d{2}-\d{2}) (?=\d)/;

/** Reads a text without a zone as UTC. */
const cellFrom = (text: string): Decoded => {
  const time = parseDateTime(text.replace(SQL_DATE_TIME, '$1T'), true);
  return time === undefined ? invalid('must be an ISO 8601 datetime such as 2026-01-31T12:00:00Z') : decoded(time);
};

export const datetime: FieldType = {
  label: 'UTC, milliseconds',
  columnType: () => 'timestamptz(3)',
  bindType: 'timestamptz',
  json: 'string',
  schema: () => ({ type: 'string', format: 'date-time' }),
  example: '2026-01-31T12:00:00Z',
  output: 'datetime',
  decode: fromString('a datetime string', dateTimeFrom),
  parseText: dateTimeFrom,
  cell: cellFrom,
  check: checkIso,
  equal: isSameText,
  placeholder: '1970-01-01T00:00:00Z',
  generated: { word: 'now', expression: 'now()', varies: false },
  attributes: ['min', 'max'],
  ordered: true,
  textual: false,
  comparable: true,
  parts: DATE_PARTS,
  size: fixedSize,
};
