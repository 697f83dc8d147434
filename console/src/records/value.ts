// Conversion of record values to text and back. Digits stay as they are; null, the empty text and no value are three
// things.
import { Digits, type Json, parseExact, stringifyExact } from '../api/json.ts';
import { formatLocal, formatOffset, parseDateTime, type TimeZone } from '../format/datetime.ts';
import type { ColumnType, RecordColumn } from './fields.ts';

/** Record as the API sent it. Its names may be `constructor`, so only own properties are read. */
export type RecordValue = { readonly [name: string]: Json };

export function getMember(record: RecordValue, name: string): Json | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

export const getId = (record: RecordValue): string => String(getMember(record, 'id'));

/** Formats a value for display; null and a missing value are empty, which the caller distinguishes. */
export function formatValue(value: Json | undefined, type: ColumnType, zone: TimeZone): string {
  if (type === 'datetime' && typeof value === 'string')
    return `${formatLocal(value, zone)} ${formatOffset(value, zone)}`;
  return formatPlain(value, type);
}

/** Formats a value for an editor: times without their zone, which the editor displays. */
export const formatForEditing = (value: Json | undefined, type: ColumnType, zone: TimeZone): string =>
  type === 'datetime' && typeof value === 'string' ? formatLocal(value, zone) : formatPlain(value, type);

/** Formats a value for a copy, as the API has it; null for null. */
export const formatForCopy = (value: Json | undefined, type: ColumnType): string | null =>
  value === null || value === undefined ? null : formatPlain(value, type);

function formatPlain(value: Json | undefined, type: ColumnType): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string' && type !== 'json') return value;
  return stringifyExact(value);
}

/** Result of parsing typed text. `isDoubtful`: the server will reject it with a message. */
export type ParsedValue =
  | { readonly kind: 'value'; readonly value: Json; readonly isDoubtful?: boolean }
  | { readonly kind: 'mistake'; readonly message: string };

const accept = (of: Json): ParsedValue => ({ kind: 'value', value: of });
const acceptDoubtful = (of: Json): ParsedValue => ({ kind: 'value', value: of, isDoubtful: true });

const NUMBER = /^([+-]?)0*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/i;
const YES = new Set(['true', 'yes', '1']);
const NO = new Set(['false', 'no', '0']);

/**
 * Parses a text for a column. Empty text is the empty text for `string` and `text`, and null for all others; a time
 * without a zone is in that of the page.
 */
export function parseValue(
  text: string,
  { type, field }: Pick<RecordColumn, 'type' | 'field'>,
  zone: TimeZone,
): ParsedValue {
  if (type === 'string' || type === 'text') return accept(text);
  const trimmed = text.trim();
  if (trimmed === '') return accept(null);
  switch (type) {
    case 'json':
      return parseJsonText(trimmed);
    case 'boolean':
      return YES.has(trimmed.toLowerCase())
        ? accept(true)
        : NO.has(trimmed.toLowerCase())
          ? accept(false)
          : acceptDoubtful(text);
    case 'integer':
    case 'relation':
    case 'id':
      return /^[+-]?\d+$/.test(trimmed) ? accept(parseDigits(trimmed)) : acceptDoubtful(text);
    case 'bigint':
    case 'decimal':
    case 'float':
      return NUMBER.test(trimmed) ? accept(parseDigits(trimmed)) : acceptDoubtful(text);
    case 'datetime': {
      const moment = parseDateTime(trimmed, zone);
      return moment === undefined ? acceptDoubtful(text) : accept(moment);
    }
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? accept(trimmed) : acceptDoubtful(text);
    case 'time':
      return /^\d{2}:\d{2}(:\d{2})?$/.test(trimmed) ? accept(trimmed) : acceptDoubtful(text);
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(trimmed) ? accept(trimmed) : acceptDoubtful(text);
    case 'enum':
      return listEnumValues(field).includes(trimmed) ? accept(trimmed) : acceptDoubtful(text);
    default:
      return acceptDoubtful(text);
  }
}

function parseJsonText(text: string): ParsedValue {
  try {
    return accept(parseExact(text));
  } catch {
    return { kind: 'mistake', message: 'is not JSON' };
  }
}

/** Normalizes a number for JSON: without a plus and without leading zeros. */
function parseDigits(text: string): Digits {
  const parts = NUMBER.exec(text);
  return new Digits(parts === null ? text : `${parts[1] === '-' ? '-' : ''}${parts[2]}`);
}

export const listEnumValues = (field: RecordColumn['field']): readonly string[] =>
  Array.isArray(field?.values) ? field.values.filter((one): one is string => typeof one === 'string') : [];

/** Returns whether a number or a text exceeds the limits of its field, so that the server will reject it. */
export function isOutOfRange(value: Json, field: RecordColumn['field']): boolean {
  if (value === null) return field?.required === true;
  const size =
    value instanceof Digits ? Number(value.text) : typeof value === 'string' ? [...value].length : Number.NaN;
  const [least, most] = value instanceof Digits ? [field?.min, field?.max] : [field?.minLength, field?.maxLength];
  return (least != null && size < Number(String(least))) || (most != null && size > Number(String(most)));
}

/** Returns whether two values are equal for the API: digits by their text, others by their JSON. */
export const isSameValue = (one: Json | undefined, other: Json | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && stringifyExact(one) === stringifyExact(other));
