// Values of records as text, and text as values. Digits stay as they are; null, the empty text and no value are three things.
import { Digits, type Json, parseExact, stringifyExact } from '../api/json.ts';
import { momentOf, momentText, type ZoneName, zoneText } from '../format/datetime.ts';
import type { ColumnType, RecordColumn } from './fields.ts';

/** A record as the API sent it. Its names may be `constructor`: own properties alone are read. */
export type RecordValue = { readonly [name: string]: Json };

export function memberOf(record: RecordValue, name: string): Json | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

export const idOf = (record: RecordValue): string => String(memberOf(record, 'id'));

/** A value of a column as it is shown; null and what was not asked for are empty, and told apart by who shows them. */
export function shownText(value: Json | undefined, type: ColumnType, zone: ZoneName): string {
  if (type === 'datetime' && typeof value === 'string') return `${momentText(value, zone)} ${zoneText(value, zone)}`;
  return plainText(value, type);
}

/** A value as an editor begins with it: moments without their zone, which stands beside the editor. */
export const editText = (value: Json | undefined, type: ColumnType, zone: ZoneName): string =>
  type === 'datetime' && typeof value === 'string' ? momentText(value, zone) : plainText(value, type);

/** A value as it is copied: as the API has it; null for null. */
export const copyText = (value: Json | undefined, type: ColumnType): string | null =>
  value === null || value === undefined ? null : plainText(value, type);

function plainText(value: Json | undefined, type: ColumnType): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string' && type !== 'json') return value;
  return stringifyExact(value);
}

/** What typed text means. `isDoubtful`: the server will refuse it, and say why in its words. */
export type Typed =
  | { readonly kind: 'value'; readonly value: Json; readonly isDoubtful?: boolean }
  | { readonly kind: 'mistake'; readonly message: string };

const value = (of: Json): Typed => ({ kind: 'value', value: of });
const doubtful = (of: Json): Typed => ({ kind: 'value', value: of, isDoubtful: true });

const NUMBER = /^([+-]?)0*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/i;
const YES = new Set(['true', 'yes', '1']);
const NO = new Set(['false', 'no', '0']);

/**
 * The value of a text for a column. Empty text is the empty text for `string` and `text`, and null for all others; a moment
 * without a zone is one of the page's.
 */
export function typedValue(text: string, { type, field }: Pick<RecordColumn, 'type' | 'field'>, zone: ZoneName): Typed {
  if (type === 'string' || type === 'text') return value(text);
  const trimmed = text.trim();
  if (trimmed === '') return value(null);
  switch (type) {
    case 'json':
      return jsonOf(trimmed);
    case 'boolean':
      return YES.has(trimmed.toLowerCase())
        ? value(true)
        : NO.has(trimmed.toLowerCase())
          ? value(false)
          : doubtful(text);
    case 'integer':
    case 'relation':
    case 'id':
      return /^[+-]?\d+$/.test(trimmed) ? value(digitsOf(trimmed)) : doubtful(text);
    case 'bigint':
    case 'decimal':
    case 'float':
      return NUMBER.test(trimmed) ? value(digitsOf(trimmed)) : doubtful(text);
    case 'datetime': {
      const moment = momentOf(trimmed, zone);
      return moment === undefined ? doubtful(text) : value(moment);
    }
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? value(trimmed) : doubtful(text);
    case 'time':
      return /^\d{2}:\d{2}(:\d{2})?$/.test(trimmed) ? value(trimmed) : doubtful(text);
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(trimmed) ? value(trimmed) : doubtful(text);
    case 'enum':
      return enumValues(field).includes(trimmed) ? value(trimmed) : doubtful(text);
    default:
      return doubtful(text);
  }
}

function jsonOf(text: string): Typed {
  try {
    return value(parseExact(text));
  } catch {
    return { kind: 'mistake', message: 'is not JSON' };
  }
}

/** As JSON writes numbers: without a plus and without zeros before the digits. */
function digitsOf(text: string): Digits {
  const parts = NUMBER.exec(text);
  return new Digits(parts === null ? text : `${parts[1] === '-' ? '-' : ''}${parts[2]}`);
}

export const enumValues = (field: RecordColumn['field']): readonly string[] =>
  Array.isArray(field?.values) ? field.values.filter((one): one is string => typeof one === 'string') : [];

/** Whether two values are the same to the API: digits by their text, the rest by what JSON says. */
export const isSameValue = (one: Json | undefined, other: Json | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && stringifyExact(one) === stringifyExact(other));
