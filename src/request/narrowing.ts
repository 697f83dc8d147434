// What of an expanded list is shown: `<path>.size`, `.sort`, `.filter` and `.search` of a query string, or `narrow` of the
// body of `_query`. Syntax only: the paths are checked against the schema in plan/projection.ts.
import { badRequest, shown } from '../errors.ts';
import { type FilterCount, type FilterTree, parseFilters, parseFilterTree } from './filter.ts';
import { isRecord, readMembers } from './members.ts';
import { parseSize } from './page.ts';
import { type Collected, single } from './parameters.ts';
import { MAX_PATHS, splitPath } from './paths.ts';
import { type SearchQuery, searchOf } from './search.ts';
import { parseSort, type SortTerm } from './sort.ts';

export interface RequestLimits {
  readonly maxPageSize: number;
}

/** What is shown of the list at the end of a path of relations. */
export interface Narrowing {
  readonly path: readonly string[];
  readonly size: number | undefined;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
}

/** The narrowings of a query string, as collect() gives them. */
export function parseNarrowings(narrowings: Collected['narrowings'], { maxPageSize }: RequestLimits): Narrowing[] {
  return [...narrowings].map(([path, parts]) => {
    const size = single(parts, 'size', `${path}.size`);
    return {
      path: splitPath('expand', path),
      size: size === undefined ? undefined : parseSize(`${path}.size`, size, maxPageSize),
      sort: parseSort(parts.get('sort') ?? []),
      filter: parseFilters(parts.get('filter') ?? [], []),
      ...searchOf(single(parts, 'search', `${path}.search`), `${path}.search`),
    };
  });
}

const MEMBERS = ['size', 'sort', 'filter', 'search'] as const;

/** `{"items": {"size": 5, "sort": ["price,desc"]}, "items.product.tags": …}`; the filters are counted with the query's. */
export function parseNarrow(value: unknown, count: FilterCount, { maxPageSize }: RequestLimits): Narrowing[] {
  if (!isRecord(value)) throw malformed('narrow', 'an object of paths, such as {"items": {"size": 5}}');
  const paths = Object.keys(value);
  if (paths.length > MAX_PATHS) throw badRequest(`narrow names more than ${MAX_PATHS} paths`);
  return paths.map((path) => {
    const names = splitPath('narrow', path);
    const name = `narrow.${path}`;
    if (!isRecord(value[path])) throw malformed(name, `an object with any of ${MEMBERS.join(', ')}`);
    const { members, has, integer, strings, text } = readMembers(value[path], MEMBERS, name, `${name}.`);
    return {
      path: names,
      size: has('size') ? parseSize(`${name}.size`, integer('size'), maxPageSize) : undefined,
      sort: parseSort(strings('sort')),
      filter: has('filter') ? parseFilterTree(members.filter, `${name}.filter`, count) : undefined,
      ...searchOf(has('search') ? text('search') : undefined, `${name}.search`),
    };
  });
}

const malformed = (name: string, form: string): Error => badRequest(`${shown(name)} must be ${form}`);
