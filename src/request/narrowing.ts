// Selection within an expanded list: `<path>.size`, `.sort`, `.filter` and `.search` of a query string, or `narrow` of
// the body of `_query`. Syntax only: the paths are checked against the schema in plan/projection.ts.
import { badRequest, shorten } from '../errors.ts';
import type { FilterTree } from './filter.ts';
import { FILTER, type Input, integer, text, texts } from './forms.ts';
import { isRecord, readMembers } from './members.ts';
import { MAX_PATHS, splitPath } from './paths.ts';
import type { Texts } from './query-string.ts';
import { MAX_SEARCH, parseSearch, type SearchQuery } from './search.ts';
import { parseSort, type SortTerm } from './sort.ts';

/** Selection within the list at the end of a path of relations. */
export interface Narrowing {
  readonly path: readonly string[];
  readonly size: number | undefined;
  readonly sort: readonly SortTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
}

/** Forms of the parameters that expanded lists share with lists. */
export const NARROWING = {
  size: integer(1, ({ maxPageSize }) => maxPageSize),
  sort: texts('repeated', parseSort),
  filter: FILTER,
  search: text(parseSearch, { maxLength: MAX_SEARCH }),
};

type Part = keyof typeof NARROWING;

export const NARROWING_NAMES = Object.keys(NARROWING) as readonly Part[];

/** Parses the narrowings of a query string by their paths. */
export function parseNarrowings(byPath: ReadonlyMap<string, Texts>, input: Input): Narrowing[] {
  return [...byPath].map(([path, parts]) => {
    const at = (part: Part): Input => ({ ...input, name: `${path}.${part}` });
    return narrowing(splitPath('expand', path), (part) => {
      const values = parts.get(part);
      return values === undefined ? undefined : NARROWING[part].fromText(values, at(part));
    });
  });
}

/** Parses `{"items": {"size": 5, "sort": ["price,desc"]}, "items.product.tags": …}`; filters count with the query's. */
export function parseNarrow(value: unknown, input: Input): Narrowing[] {
  const { name } = input;
  if (!isRecord(value)) throw malformed(name, 'an object of paths, such as {"items": {"size": 5}}');
  const paths = Object.keys(value);
  if (paths.length > MAX_PATHS) throw badRequest('LIMIT_EXCEEDED', `${name} names more than ${MAX_PATHS} paths`);
  return paths.map((path) => {
    const names = splitPath(name, path);
    const own = `${name}.${path}`;
    if (!isRecord(value[path])) throw malformed(own, `an object with any of ${NARROWING_NAMES.join(', ')}`);
    const { members, has } = readMembers(value[path], NARROWING_NAMES, own);
    return narrowing(names, (part) =>
      has(part) ? NARROWING[part].fromJson(members[part], { ...input, name: `${own}.${part}` }) : undefined,
    );
  });
}

function narrowing(path: readonly string[], read: (part: Part) => unknown): Narrowing {
  const search = read('search') as SearchQuery | undefined;
  return {
    path,
    size: read('size') as number | undefined,
    sort: (read('sort') as SortTerm[] | undefined) ?? [],
    filter: read('filter') as FilterTree | undefined,
    ...(search === undefined ? {} : { search }),
  };
}

const malformed = (name: string, form: string): Error =>
  badRequest('INVALID_NARROWING', `${shorten(name)} must be ${form}`);
