// Query of a list: its parameters in the address bar, and the requests that fetch it.
import { getAll, type Search, stringifySearch } from '../address.ts';
import type { Chip } from './filter.ts';
import type { COUNT_MODES, ListParameter } from './request-tables.generated.ts';

export interface ListQuery {
  /** Parameters `filter` and `or`, in the order of the address. */
  readonly chips: readonly Chip[];
  readonly search: string;
  /** Sort keys such as `total,desc`; the first is the most important. */
  readonly sort: readonly string[];
  readonly expand: readonly string[];
}

/** Number of records of a window, which is one request. */
export const WINDOW_SIZE = 100;

/** Length in characters above which the server truncates values; opening one fetches it whole. */
export const PREVIEW_LENGTH = 200;

/** Parses the query of an address. */
export function parseListQuery(search: Search): ListQuery {
  return {
    chips: [
      ...getAll(search, 'filter').map((text): Chip => ({ kind: 'filter', text })),
      ...getAll(search, 'or').map((text): Chip => ({ kind: 'or', text })),
    ],
    search: getAll(search, 'search')[0] ?? '',
    sort: getAll(search, 'sort'),
    expand: parseNames(getAll(search, 'expand')[0]),
  };
}

const many = (values: readonly string[]): string | readonly string[] | undefined =>
  values.length === 0 ? undefined : values.length === 1 ? values[0] : values;

/** Returns the parameters of an address for a query; those at their default are undefined. */
export function toSearch({ chips, search, sort, expand }: ListQuery): ListSearch {
  const texts = (kind: Chip['kind']) => chips.filter((chip) => chip.kind === kind).map(({ text }) => text);
  return {
    filter: many(texts('filter')),
    or: many(texts('or')),
    search: search === '' ? undefined : search,
    sort: many(sort),
    expand: expand.length === 0 ? undefined : expand.join(','),
  };
}

/** Parses a comma-separated list of names: `fields` and `expand`. */
export const parseNames = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

export const isFiltered = ({ chips, search }: ListQuery): boolean => chips.length > 0 || search !== '';

/** Parameters of a list; the compiler checks their names. */
type ListSearch = Readonly<Partial<Record<ListParameter, Search[string]>>>;

/** Returns the parameters that choose and sort the records, for lists, totals and exports alike. */
export const toFilterSearch = (query: ListQuery): ListSearch => {
  const { filter, or, search, sort } = toSearch(query);
  return { filter, or, search, sort };
};

export interface WindowParameters {
  /** Index of the window, from 0. */
  readonly window: number;
  /** Cursor of the window before it, if known. */
  readonly after: string | undefined;
  /** Names of `id` and the visible columns. */
  readonly fields: readonly string[];
  readonly count: (typeof COUNT_MODES)[number];
}

/** Prints the query string of a window, with versions for writes and with long values truncated. */
export const printWindowSearch = (query: ListQuery, { window, after, fields, count }: WindowParameters): string =>
  stringifySearch({
    ...toFilterSearch(query),
    size: String(WINDOW_SIZE),
    ...(after === undefined ? { page: String(window) } : { after }),
    expand: query.expand.join(','),
    fields: fields.join(','),
    count,
    versions: 'true',
    preview: String(PREVIEW_LENGTH),
  } satisfies ListSearch);

/** Returns the sort after a click on a column header: ascending, descending, none. With `isAdded` other keys stay. */
export function nextSort(sort: readonly string[], name: string, isAdded: boolean): readonly string[] {
  const direction = getSortDirection(sort, name);
  const others = isAdded ? sort.filter((key) => key.split(',')[0] !== name) : [];
  if (direction === 'descending') return others;
  return [...others, direction === undefined ? name : `${name},desc`];
}

/** Returns the sort direction of a column. */
export function getSortDirection(sort: readonly string[], name: string): 'ascending' | 'descending' | undefined {
  const key = sort.find((one) => one.split(',')[0] === name);
  return key === undefined ? undefined : key.split(',')[1] === 'desc' ? 'descending' : 'ascending';
}
