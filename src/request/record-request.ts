// A data API request as a value: HTTP syntax -> RecordRequest. Knows no schema; checks form only.
import { badRequest } from '../errors.ts';
import { combineFilters, type FilterTree } from './filter.ts';
import type { RequestLimits } from './forms.ts';
import type { Narrowing } from './narrowing.ts';
import { type CountMode, type Cursor, DEFAULT_PAGE_SIZE } from './page.ts';
import type { ExpandTree, FieldTree } from './paths.ts';
import { readBody, readQuery, type Values } from './read-parameters.ts';
import type { SearchQuery } from './search.ts';
import type { SortTerm } from './sort.ts';

/** Selection of members of each record. `undefined`: not in the request, so that defaults apply. */
export interface Selection {
  readonly expand: ExpandTree | undefined;
  /** `'all'`: requested explicitly with an empty `fields=`. */
  readonly fields: FieldTree | 'all' | undefined;
  /** `<path>.size`, `.sort`, `.filter`, `.search` of expanded lists. */
  readonly narrowings: readonly Narrowing[];
}

interface ListValues extends Values<'list', 'query'>, Pick<Values<'query', 'body'>, 'narrow'> {}

/** Parameters without a default pass unchanged: `search`, `versions`, `preview`, … */
type PlainParameters = Omit<
  ListValues,
  'page' | 'size' | 'after' | 'count' | 'sort' | 'filter' | 'or' | 'expand' | 'fields' | 'narrow'
>;

export interface ListRequest extends PlainParameters {
  readonly kind: 'list';
  readonly selection: Selection;
  readonly page: number;
  readonly size: number;
  readonly after: Cursor | undefined;
  readonly count: CountMode;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
}

export interface ReadRequest {
  readonly kind: 'read';
  readonly selection: Selection;
}

/** An export: a list without pages. */
export interface ExportRequest {
  readonly kind: 'export';
  readonly format: 'csv' | 'ndjson';
  /** Whether CSV escapes texts that look like formulas. */
  readonly formulas: 'keep' | 'escape';
  /** Whether labels of related records follow their references. */
  readonly labels: boolean;
  readonly fields: FieldTree | undefined;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
  readonly changes?: boolean;
}

/** Parses the query string of GET …/{entity}. */
export const parseListRequest = (query: string, limits: RequestLimits): ListRequest =>
  listRequest(readQuery('list', query, limits), limits);

/** Parses the body of POST …/{entity}/_query: the query string of a list, as JSON. */
export const parseQueryBody = (body: unknown, limits: RequestLimits): ListRequest =>
  listRequest(readBody('query', body, limits), limits);

function listRequest(values: ListValues, { maxPageSize }: RequestLimits): ListRequest {
  const {
    page = 0,
    size,
    after,
    count = 'exact',
    sort = [],
    filter,
    or,
    expand,
    fields,
    narrow,
    ...plainParameters
  } = values;
  return {
    kind: 'list',
    selection: toSelection({ expand, fields, narrow }),
    page,
    size: size ?? Math.min(DEFAULT_PAGE_SIZE, maxPageSize),
    after,
    count,
    sort,
    filter: combineFilters(filter, or),
    ...plainParameters,
  };
}

/** Parses the query string of GET …/{entity}/{id}. */
export const parseReadRequest = (query: string, limits: RequestLimits): ReadRequest => ({
  kind: 'read',
  selection: toSelection(readQuery('read', query, limits)),
});

const toSelection = ({ expand, fields, narrow = [] }: Selected): Selection => ({ expand, fields, narrowings: narrow });

type Selected = { readonly [K in 'expand' | 'fields' | 'narrow']?: ListValues[K] | undefined };

/** Parses the query string of GET …/{entity}/_export. */
export function parseExportRequest(query: string): ExportRequest {
  const {
    format = 'csv',
    formulas = 'keep',
    labels = false,
    fields,
    sort = [],
    filter,
    or,
    search,
    changes,
  } = readQuery('export', query);
  if (formulas === 'escape' && format !== 'csv')
    throw badRequest('PARAMETER_CONFLICT', 'formulas=escape is for format=csv');
  return {
    kind: 'export',
    format,
    formulas,
    labels,
    fields,
    sort,
    filter: combineFilters(filter, or),
    ...(search === undefined ? {} : { search }),
    ...(changes === undefined ? {} : { changes }),
  };
}
