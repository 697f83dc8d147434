// The body of `_query` -> ListRequest: what the query string of a list says, as JSON.
import { type FilterCount, parseFilterTree } from './filter.ts';
import { readMembers } from './members.ts';
import { parseNarrow, type RequestLimits } from './narrowing.ts';
import { DEFAULT_PAGE_SIZE, parseCountMode, parseCursor, parsePage, parseSize } from './page.ts';
import { parseExpand, parseFields } from './paths.ts';
import { type ListRequest, pageAndAfter, toldOf } from './record-request.ts';
import { searchOf } from './search.ts';
import { parseSort } from './sort.ts';

const QUERY_MEMBERS = [
  'page',
  'size',
  'sort',
  'expand',
  'fields',
  'count',
  'after',
  'filter',
  'narrow',
  'search',
  'versions',
  'preview',
] as const;

/** The body of POST …/{entity}/_query. */
export function parseQueryBody(body: unknown, limits: RequestLimits): ListRequest {
  const { has, members, text, integer, strings } = readMembers(body, QUERY_MEMBERS);
  const count: FilterCount = { conditions: 0, nodes: 0 };
  const filter = has('filter') ? parseFilterTree(members.filter, 'filter', count) : undefined;
  if (has('page') && has('after')) throw pageAndAfter();
  return {
    kind: 'list',
    selection: {
      expand: has('expand') ? parseExpand(strings('expand')) : undefined,
      fields: has('fields') ? (parseFields(strings('fields')) ?? 'all') : undefined,
      narrowings: has('narrow') ? parseNarrow(members.narrow, count, limits) : [],
    },
    page: has('page') ? parsePage(integer('page')) : 0,
    size: has('size')
      ? parseSize('size', integer('size'), limits.maxPageSize)
      : Math.min(DEFAULT_PAGE_SIZE, limits.maxPageSize),
    after: has('after') ? parseCursor(text('after')) : undefined,
    count: has('count') ? parseCountMode(text('count')) : 'exact',
    sort: parseSort(strings('sort')),
    filter,
    ...searchOf(has('search') ? text('search') : undefined),
    ...toldOf(
      has('versions') ? flagText(members.versions) : undefined,
      has('preview') ? integer('preview') : undefined,
    ),
  };
}

/** A flag of a body as the query string has it. */
const flagText = (value: unknown): string => (typeof value === 'boolean' ? String(value) : JSON.stringify(value));
