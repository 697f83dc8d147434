// The records that a picker offers: which are asked for by what was typed, and what they are called. Pure.
import { stringifySearch } from '../address.ts';
import { getId, getMember, type RecordValue } from './value.ts';

/** Candidates that can be read at a glance; typing narrows them. */
const MOST = 20;

/** Length of a label, which stands on one line. */
const LONGEST = 100;

/** An id of the API, which ends at 2^63 - 1; one digit less is never too large. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);

/**
 * The query of the list of candidates: their label holds what was typed, or their id is it; all of them, by their label, for no
 * text. `label`: the field by which people know a record, where there is one. undefined: none can fit.
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

/** Label of a record, or its id. */
export function getRecordLabel(record: RecordValue, label: string | undefined): string {
  const value = label === undefined ? undefined : getMember(record, label);
  return typeof value === 'string' && value !== '' ? value : `record ${getId(record)}`;
}
