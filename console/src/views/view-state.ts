// State of a view, in the address bar and as the API stores it: filters, sort, columns, layout. The address holds all of it,
// so a link shows the same to others, whether or not they see the saved view.
import { getAll, type Search } from '../address.ts';
import type { View } from '../api/types.ts';
import { type ColumnLayout, DEFAULT_LAYOUT } from '../grid/columns.ts';
import { type ListQuery, parseListQuery, parseNames, toSearch } from '../records/list-query.ts';

export const LAYOUTS = ['grid', 'board', 'calendar', 'chart'] as const;
export type Layout = (typeof LAYOUTS)[number];

export const CHARTS = ['number', 'bars', 'line', 'table'] as const;
export type Chart = (typeof CHARTS)[number];

/** Members of a saved view that the address holds. */
export type ViewState = Pick<
  View,
  | 'filter'
  | 'or'
  | 'search'
  | 'sort'
  | 'expand'
  | 'columns'
  | 'pinned'
  | 'widths'
  | 'layout'
  | 'group'
  | 'summary'
  | 'chart'
>;

/** How the records are shown: the part of a view that is neither a query nor columns. */
export type Presentation = Pick<ViewState, 'layout' | 'group' | 'summary' | 'chart'>;

const find = <T extends string>(values: readonly T[], text: string | undefined): T | undefined =>
  values.find((value) => value === text);

/** Parses the presentation of an address; unknown values count as missing. */
export const parsePresentation = (search: Search): Presentation => ({
  layout: find(LAYOUTS, getAll(search, 'layout')[0]) ?? 'grid',
  group: parseNames(getAll(search, 'group')[0]),
  summary: parseNames(getAll(search, 'summary')[0]),
  chart: find(CHARTS, getAll(search, 'chart')[0]) ?? 'bars',
});

const joinNames = (names: readonly string[]): string | undefined => (names.length === 0 ? undefined : names.join(','));

/** Returns the parameters of an address for a presentation; those at their default are undefined. */
export const toPresentationSearch = ({ layout, group, summary, chart }: Presentation): Search => ({
  layout: layout === 'grid' ? undefined : layout,
  group: joinNames(group),
  summary: joinNames(summary),
  chart: chart === 'bars' ? undefined : chart,
});

/** Parses pins and widths of columns; undefined for those that the address does not hold. */
export function parseColumnState(search: Search): Partial<Pick<ColumnLayout, 'pinned' | 'widths'>> {
  const pinned = getAll(search, 'pinned')[0];
  const widths = getAll(search, 'widths')[0];
  return {
    ...(pinned === undefined ? {} : { pinned: parseNames(pinned) }),
    ...(widths === undefined ? {} : { widths: new Map(parseNames(widths).flatMap(parseWidth)) }),
  };
}

function parseWidth(text: string): readonly [string, number][] {
  const [, name = '', width] = /^(.+):(\d{1,4})$/.exec(text) ?? [];
  return width === undefined ? [] : [[name, Number(width)]];
}

/** Returns the parameters of an address for columns; those at their default are undefined. */
export const toColumnSearch = ({ visible, pinned, widths }: ColumnLayout): Search => ({
  fields: visible === undefined ? undefined : visible.join(','),
  pinned: pinned.join() === DEFAULT_LAYOUT.pinned.join() ? undefined : pinned.join(','),
  widths: joinNames([...widths].map(([name, width]) => `${name}:${width}`)),
});

/** Parses the state of an address. `layout`: its columns, which may come from the browser's memory. */
export function parseViewState(search: Search, columns: ColumnLayout): ViewState {
  const { chips, search: words, sort } = parseListQuery(search);
  const [expand] = getAll(search, 'expand');
  const texts = (kind: 'filter' | 'or') => chips.filter((chip) => chip.kind === kind).map(({ text }) => text);
  return {
    filter: texts('filter'),
    or: texts('or'),
    search: words,
    sort,
    expand: expand === undefined ? null : parseNames(expand),
    columns: columns.visible ?? null,
    pinned: columns.pinned,
    widths: Object.fromEntries(columns.widths),
    ...parsePresentation(search),
  };
}

/** Returns all parameters of the address of a view; undefined ones are removed. */
export function toViewSearch(id: number | undefined, view: ViewState): Search {
  const query: ListQuery = {
    chips: [
      ...view.filter.map((text) => ({ kind: 'filter', text }) as const),
      ...view.or.map((text) => ({ kind: 'or', text }) as const),
    ],
    search: view.search,
    sort: view.sort,
    expand: [],
  };
  const columns = {
    visible: view.columns ?? undefined,
    pinned: view.pinned,
    widths: new Map(Object.entries(view.widths)),
  };
  return {
    view: id === undefined ? undefined : String(id),
    page: undefined,
    ...toSearch(query),
    expand: view.expand?.join(','),
    ...toColumnSearch(columns),
    ...toPresentationSearch(view),
  };
}

/** Returns the members of a view that the address has changed; undefined if there are none. */
export function listChanges(view: ViewState, state: ViewState): Partial<ViewState> | undefined {
  const names = (Object.keys(state) as (keyof ViewState)[]).filter((name) => print(view[name]) !== print(state[name]));
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, state[name]]));
}

/** Prints a member for comparison, with the names of widths in order. */
const print = (member: unknown): string =>
  typeof member === 'object' && member !== null && !Array.isArray(member)
    ? JSON.stringify(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
    : JSON.stringify(member);

/** Returns the id of the saved view that the address is of. */
export function getViewId(search: Search): number | undefined {
  const text = getAll(search, 'view')[0] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
