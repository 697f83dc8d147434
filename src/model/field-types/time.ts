// time: a time of the day without a zone, `hh:mm:ss`.
import { checkIso, decoded, fixedSize, fromString, invalid, isSameText } from './decoding.ts';
import type { Decoded, FieldType } from './field-type.ts';

// PostgreSQL accepts 24:00 and a second 60; no clock shows them.
const TIME = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;

const timeFrom = (text: string): Decoded => {
  const match = TIME.exec(text);
  if (match === null) return invalid('must be a time such as 12:00:00');
  return decoded(match[2] === undefined ? `${text}:00` : text);
};

export const time: FieldType = {
  label: 'of the day, seconds, no zone',
  columnType: () => 'time(0)',
  bindType: 'time',
  json: 'string',
  // The format `time` of JSON Schema requires a zone.
  schema: () => ({ type: 'string', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$' }),
  example: '12:00:00',
  output: 'plain',
  decode: fromString('a time string', timeFrom),
  parseText: timeFrom,
  cell: timeFrom,
  check: checkIso,
  equal: isSameText,
  placeholder: '00:00:00',
  // A cast would round the last half second of a day to 24:00:00.
  generated: { word: 'now', expression: "date_trunc('second', now() at time zone 'UTC')::time", varies: false },
  attributes: ['min', 'max'],
  ordered: true,
  textual: false,
  comparable: true,
  size: fixedSize,
};
