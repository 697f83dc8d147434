// Query of the record picker for a typed text, and the labels of records. Pure.
import { stringifySearch } from '../address.ts';
import { getId, getMember, type RecordValue } from './value.ts';

/** Number of candidates that can be read at a glance; typing narrows them. */
const MOST = 20;

/** Longest label in characters, for one line. */
const LONGEST = 100;

/** Returns whether a text is an id. The API's end at 2^63 - 1; one digit less is never too large. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);

/**
 * Prints the query of the candidates: their label contains the text, or it is their id; without a text all of them, by
 * label. `label`: the field that names a record, if there is one. Returns undefined if no record can match.
 */
export function printRecordSearch(label: string | undefined, text: string): string | undefined {
  const typed = text.trim();
  const conditions = [
    ...(isId(typed) ? [`id,eq,${typed}`] : []),
    ...(label === undefined || typed === '' ? [] : [`${label},contains,${typed}`]),
  ];
  if (typed !== '' && conditions.length === 0) return undefined;
  return stringifySearch({
    or: conditions.length === 0 ? undefined : conditions.map((one) => one.replaceAll(';', '\\;')).join(';'),
    // An exact id comes before labels that contain its digits.
    sort: isId(typed) || label === undefined ? 'id' : label,
    fields: label === undefined ? 'id' : `id,${label}`,
    expand: '',
    count: 'none',
    preview: String(LONGEST),
    size: String(MOST),
  });
}

/** Returns the label of a record, or its id. */
export function getRecordLabel(record: RecordValue, label: string | undefined): string {
  const value = label === undefined ? undefined : getMember(record, label);
  return typeof value === 'string' && value !== '' ? value : `record ${getId(record)}`;
}
