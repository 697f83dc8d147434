// date: a day of the calendar, `yyyy-mm-dd`.
import { parseDate } from '../date-time.ts';
import { checkIso, decoded, fixedSize, fromString, invalid, isSameText } from './decoding.ts';
import { DATE_PARTS, type Decoded, type FieldType } from './field-type.ts';

const dateFrom = (text: string): Decoded => {
  const day = parseDate(text);
  return day === undefined ? invalid('must be a date such as 2026-01-31') : decoded(day);
};

export const date: FieldType = {
  label: null,
  columnType: () => 'date',
  bindType: 'date',
  json: 'string',
  schema: () => ({ type: 'string', format: 'date' }),
  example: '2026-01-31',
  output: 'plain',
  decode: fromString('a date string', dateFrom),
  parseText: dateFrom,
  cell: dateFrom,
  check: checkIso,
  equal: isSameText,
  placeholder: '1970-01-01',
  generated: { word: 'now', expression: "(now() at time zone 'UTC')::date", varies: false },
  attributes: ['min', 'max'],
  ordered: true,
  textual: false,
  comparable: true,
  parts: DATE_PARTS.filter((part) => part !== 'hour'),
  size: fixedSize,
};
