// `GET` and `POST …/_aggregate` -> AggregateRequest: functions to compute, records and groups. Both forms have the same
// result. Syntax only: fields and types are checked in plan/aggregate.ts.
import { badRequest, shorten } from '../errors.ts';
import { FUNCTION_NAMES, type GroupTerm, type SelectTerm } from './aggregate-terms.ts';
import { combineFilters, type FilterTree } from './filter.ts';
import { readBody, readQuery, type Values } from './read-parameters.ts';
import type { SearchQuery } from './search.ts';
import type { SortTerm } from './sort.ts';

export interface AggregateRequest {
  readonly kind: 'aggregate';
  readonly select: readonly SelectTerm[];
  readonly group: readonly GroupTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
  /** Filter whose paths are names of functions, split at their dots. */
  readonly having: FilterTree | undefined;
  /** Sort terms whose paths are names of groups or functions, split at their dots. */
  readonly sort: readonly SortTerm[];
  /** Time zone in which days, months, … begin. */
  readonly zone: string;
  readonly page: number;
  readonly size: number;
}

const DEFAULT_SIZE = 100;

/** Parses the query string of GET …/_aggregate. */
export const parseAggregateRequest = (query: string): AggregateRequest =>
  aggregateRequest(readQuery('aggregate', query));

/** Parses the body of POST …/_aggregate. */
export const parseAggregateBody = (body: unknown): AggregateRequest => aggregateRequest(readBody('summarize', body));

type AggregateValues = Pick<Values<'aggregate', 'query'>, keyof Values<'aggregate', 'query'>>;

function aggregateRequest(values: AggregateValues): AggregateRequest {
  const { select = [], group = [], filter, or, having, sort = [], tz = 'UTC', page = 0, size = DEFAULT_SIZE } = values;
  const { search } = values;
  return checkRequest({
    kind: 'aggregate',
    select,
    group,
    filter: combineFilters(filter, or),
    ...(search === undefined ? {} : { search }),
    having,
    sort,
    zone: tz,
    page,
    size,
  });
}

/** Checks combinations of parameters. */
function checkRequest(request: AggregateRequest): AggregateRequest {
  const { select, group } = request;
  if (select.length === 0) {
    throw badRequest(
      'INVALID_AGGREGATE',
      `select is missing: what to answer of each group, such as select=count,sum:<field>. Known: ${FUNCTION_NAMES.join(', ')}`,
    );
  }
  const double = select.find(({ name }) => group.some((term) => term.name === name));
  if (double !== undefined) {
    throw badRequest(
      'INVALID_AGGREGATE',
      `${shorten(double.name)} is named by select and by group, and the answer can hold one of them${double.name === 'count' ? '; count:id counts the records, too' : ''}`,
    );
  }
  return request;
}
