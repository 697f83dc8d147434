// One value of an import -> text of its column, or the mistake in it. As in the bodies of single writes, but more
// forgiving where files are: datetimes without a zone are UTC, booleans are what databases and spreadsheets write.

import { parseDateTime } from '../model/date-time.ts';
import type { Field } from '../model/entity.ts';
import { type Decoded, decodeValue, fieldType, parseStored } from '../model/field-types.ts';

/** A CSV cell that is not empty. */
export function decodeCell(field: Field, text: string): Decoded {
  switch (field.type) {
    case 'boolean':
      return parseStored(field, BOOLEANS.get(text.toLowerCase()) ?? text);
    case 'datetime':
      return dateTimeFrom(field, text);
    default:
      return field.role === 'id' ? checkedId(parseStored(field, text)) : parseStored(field, text);
  }
}

/** The value of a member of an NDJSON line, not null. */
export function decodeMember(field: Field, value: unknown): Decoded {
  if (field.type === 'datetime' && typeof value === 'string') return dateTimeFrom(field, value);
  const decoded = decodeValue(field, value);
  return field.role === 'id' ? checkedId(decoded) : decoded;
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['t', 'true'],
  ['1', 'true'],
  ['false', 'false'],
  ['f', 'false'],
  ['0', 'false'],
]);

/** `2026-01-31 12:00:00` is what databases print; with a T it is ISO 8601. */
const SQL_DATE_TIME = /^(\d{4}-\d{2}-\d{2}) (?=\d)/;

function dateTimeFrom(field: Field, text: string): Decoded {
  const time = parseDateTime(text.replace(SQL_DATE_TIME, '$1T'), true);
  if (time === undefined) {
    return { ok: false, code: 'INVALID', message: 'must be an ISO 8601 datetime such as 2026-01-31T12:00:00Z' };
  }
  return fieldType('datetime').check?.(time, field) ?? { ok: true, value: time };
}

function checkedId(decoded: Decoded): Decoded {
  if (!decoded.ok) return decoded;
  const id = BigInt(decoded.value);
  return id >= 1n && id <= BigInt(Number.MAX_SAFE_INTEGER)
    ? decoded
    : { ok: false, code: 'OUT_OF_RANGE', message: `must be from 1 to ${Number.MAX_SAFE_INTEGER}` };
}
