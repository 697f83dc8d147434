// A data API request as a value: HTTP syntax -> RecordRequest. Knows no schema; everything here is checked for form only.
import { badRequest, shown } from '../errors.ts';
import { type FilterTree, parseFilters } from './filter.ts';
import { type Narrowing, parseNarrowings, type RequestLimits } from './narrowing.ts';
import {
  type CountMode,
  type Cursor,
  DEFAULT_PAGE_SIZE,
  parseCountMode,
  parseCursor,
  parsePage,
  parsePreview,
  parseSize,
  parseVersions,
} from './page.ts';
import { collect, single } from './parameters.ts';
import { type ExpandTree, type FieldTree, parseExpand, parseFields } from './paths.ts';
import { type SearchQuery, searchOf } from './search.ts';
import { parseSort, type SortTerm } from './sort.ts';

/** What to show of each record. `undefined`: not in the request, so that defaults apply. */
export interface Selection {
  readonly expand: ExpandTree | undefined;
  /** `'all'`: asked for explicitly with an empty `fields=`. */
  readonly fields: FieldTree | 'all' | undefined;
  /** `<path>.size`, `.sort`, `.filter`, `.search` of expanded lists. */
  readonly narrowings: readonly Narrowing[];
}

export interface ListRequest {
  readonly kind: 'list';
  readonly selection: Selection;
  readonly page: number;
  readonly size: number;
  readonly after: Cursor | undefined;
  readonly count: CountMode;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
  /** True: the answer has the version of each record. */
  readonly versions?: boolean;
  /** Characters that long values are cut to. */
  readonly preview?: number;
}

export interface ReadRequest {
  readonly kind: 'read';
  readonly selection: Selection;
}

/** An export: a list without pages. */
export interface ExportRequest {
  readonly kind: 'export';
  readonly format: 'csv' | 'ndjson';
  /** Of CSV: whether texts that look like formulas are escaped. */
  readonly formulas: 'keep' | 'escape';
  readonly fields: FieldTree | undefined;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
}

const READ_PARAMETERS = ['expand', 'fields'] as const;
const LIST_PARAMETERS = [
  'page',
  'size',
  'sort',
  'filter',
  'or',
  'search',
  'expand',
  'fields',
  'count',
  'after',
  'versions',
  'preview',
] as const;
const EXPORT_PARAMETERS = ['format', 'formulas', 'filter', 'or', 'search', 'sort', 'fields'] as const;

/** The query string of GET …/{entity}. */
export function parseListRequest(query: string, limits: RequestLimits): ListRequest {
  const { values, narrowings } = collect(query, LIST_PARAMETERS, true);
  const page = single(values, 'page');
  const after = single(values, 'after');
  if (page !== undefined && after !== undefined) throw pageAndAfter();
  const size = single(values, 'size');
  const count = single(values, 'count');
  return {
    kind: 'list',
    selection: selectionOf(values, narrowings, limits),
    page: page === undefined ? 0 : parsePage(page),
    size:
      size === undefined
        ? Math.min(DEFAULT_PAGE_SIZE, limits.maxPageSize)
        : parseSize('size', size, limits.maxPageSize),
    after: after === undefined ? undefined : parseCursor(after),
    count: count === undefined ? 'exact' : parseCountMode(count),
    sort: parseSort(values.get('sort') ?? []),
    filter: parseFilters(values.get('filter') ?? [], values.get('or') ?? []),
    ...searchOf(single(values, 'search')),
    ...toldOf(single(values, 'versions'), single(values, 'preview')),
  };
}

/** The query string of GET …/{entity}/{id}. */
export function parseReadRequest(query: string, limits: RequestLimits): ReadRequest {
  const { values, narrowings } = collect(query, READ_PARAMETERS, true);
  return { kind: 'read', selection: selectionOf(values, narrowings, limits) };
}

/** The query string of GET …/{entity}/_export. */
export function parseExportRequest(query: string): ExportRequest {
  const { values } = collect(query, EXPORT_PARAMETERS, false);
  const format = single(values, 'format') ?? 'csv';
  if (format !== 'csv' && format !== 'ndjson') throw badRequest(`Unknown format ${shown(format)}. Known: csv, ndjson`);
  const formulas = single(values, 'formulas') ?? 'keep';
  if (formulas !== 'keep' && formulas !== 'escape') {
    throw badRequest(`Unknown value ${shown(formulas)} of formulas. Known: keep, escape`);
  }
  if (formulas === 'escape' && format !== 'csv') throw badRequest('formulas=escape is for format=csv');
  return {
    kind: 'export',
    format,
    formulas,
    fields: parseFields(values.get('fields') ?? []),
    sort: parseSort(values.get('sort') ?? []),
    filter: parseFilters(values.get('filter') ?? [], values.get('or') ?? []),
    ...searchOf(single(values, 'search')),
  };
}

/** `versions` and `preview`, if they are given. */
export function toldOf(
  versions: string | undefined,
  preview: string | undefined,
): Pick<ListRequest, 'versions' | 'preview'> {
  return {
    ...(versions === undefined ? {} : { versions: parseVersions(versions) }),
    ...(preview === undefined ? {} : { preview: parsePreview(preview) }),
  };
}

export function pageAndAfter(): Error {
  return badRequest('page and after do not go together: after continues from a cursor');
}

function selectionOf(
  values: ReadonlyMap<string, readonly string[]>,
  narrowings: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>,
  limits: RequestLimits,
): Selection {
  const expand = values.get('expand');
  const fields = values.get('fields');
  return {
    expand: expand === undefined ? undefined : parseExpand(expand),
    fields: fields === undefined ? undefined : (parseFields(fields) ?? 'all'),
    narrowings: parseNarrowings(narrowings, limits),
  };
}
