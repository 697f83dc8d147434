// Query of the record picker for a typed text, and the columns next to the labels. Pure.
import { stringifySearch } from '../address.ts';
import type { EntityDocument } from '../api/schema.ts';
import { type ColumnType, listColumns, type RecordColumn } from './fields.ts';
import { getLabel, listLabelPaths } from './record-label.ts';

/** Number of candidates that can be read at a glance; typing narrows them. */
const MOST = 20;

/** Longest value in characters, for one line. */
const LONGEST = 100;

// Most words of a text, and most fields that each is searched in.
const MOST_WORDS = 5;
const MOST_SEARCHED = 8;

const HINTS = 2;
const HINT_TYPES: readonly ColumnType[] = ['string', 'enum', 'date', 'decimal', 'integer', 'bigint'];

/** Returns whether a text is an id. The API's end at 2^63 - 1; one digit less is never too large. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);

/** Lists the columns that tell records with the same label apart: two at most, unique texts and searchable ones first. */
export function listHintColumns(entity: EntityDocument | undefined): readonly RecordColumn[] {
  if (entity === undefined) return [];
  const label = listLabelPaths(getLabel(entity));
  const getRank = ({ field }: RecordColumn): number =>
    field?.unique === true ? 0 : field?.searchable === true ? 1 : 2;
  return listColumns(entity)
    .filter(({ name, type, field }) => field !== undefined && !label.includes(name) && HINT_TYPES.includes(type))
    .sort((one, other) => getRank(one) - getRank(other))
    .slice(0, HINTS);
}

/** Lists the texts that a typed word is searched in: those of the label, the searchable ones, and those next to the label. */
function listSearched(entity: EntityDocument): readonly string[] {
  const names = [
    ...listLabelPaths(getLabel(entity)),
    ...[...entity.fields.values()].filter(({ searchable }) => searchable === true).map(({ name }) => name),
    ...listHintColumns(entity).map(({ name }) => name),
  ];
  const isText = (name: string): boolean => /^(string|text)$/.test(String(entity.fields.get(name)?.type));
  return [...new Set(names)].filter(isText).slice(0, MOST_SEARCHED);
}

/**
 * Prints the query of the candidates: each word of the text is in one of their texts, or the text is their id; without a
 * text all of them, by label. Returns undefined if no record can match.
 */
export function printRecordSearch(entity: EntityDocument | undefined, text: string): string | undefined {
  if (entity === undefined) return undefined;
  const typed = text.trim();
  const searched = listSearched(entity);
  const groups = typed
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS)
    .map((word) => [
      ...(isId(typed) ? [`id,eq,${typed}`] : []),
      ...searched.map((name) => `${name},contains,${word.replace(/[\\;]/g, '\\$&')}`),
    ]);
  if (groups.some((group) => group.length === 0)) return undefined;
  const label = listLabelPaths(getLabel(entity));
  return stringifySearch({
    or: groups.map((group) => group.join(';')),
    // An exact id comes before texts that contain its digits.
    sort: isId(typed) ? 'id' : (label[0] ?? 'id'),
    fields: ['id', ...label, ...listHintColumns(entity).map(({ name }) => name)].join(','),
    expand: '',
    count: 'none',
    preview: String(LONGEST),
    size: String(MOST),
  });
}
