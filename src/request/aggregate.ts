// `GET` and `POST …/_aggregate` -> AggregateRequest: which functions of which records, and how they are grouped. Both
// forms give the same. Syntax only: fields and types are checked in plan/aggregate.ts.
import { badRequest, shown } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { DATE_PARTS, type DatePart } from '../model/field-types.ts';
import { type FilterTree, MAX_NODES, parseFilters, parseFilterTree } from './filter.ts';
import { type Members, readMembers } from './members.ts';
import { parsePage, parseSize } from './page.ts';
import { collect, single } from './parameters.ts';
import { splitPath } from './paths.ts';
import { type SearchQuery, searchOf } from './search.ts';
import { parseSort, type SortTerm } from './sort.ts';
import { parseTimeZone } from './time-zone.ts';

export type AggregateFunction = 'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max';

export interface FunctionForm {
  /** True when it can be used without a field. */
  readonly alone: boolean;
  /** What the type of the field must have. */
  readonly needs: 'nothing' | 'number' | 'order';
}

export const FUNCTIONS: Readonly<Record<AggregateFunction, FunctionForm>> = {
  count: { alone: true, needs: 'nothing' },
  countDistinct: { alone: false, needs: 'nothing' },
  sum: { alone: false, needs: 'number' },
  avg: { alone: false, needs: 'number' },
  min: { alone: false, needs: 'order' },
  max: { alone: false, needs: 'order' },
};

export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as readonly AggregateFunction[];

export interface SelectTerm {
  /** As in the request and in the answer: `count`, `sum:total`, `max:customer.name`. */
  readonly name: string;
  readonly function: AggregateFunction;
  /** undefined: the records themselves. */
  readonly path: readonly string[] | undefined;
}

export interface GroupTerm {
  /** `status`, `customer.country`, `placedAt:month` */
  readonly name: string;
  readonly path: readonly string[];
  /** undefined: by the value itself. */
  readonly part: DatePart | undefined;
}

export interface AggregateRequest {
  readonly kind: 'aggregate';
  readonly select: readonly SelectTerm[];
  readonly group: readonly GroupTerm[];
  readonly filter: FilterTree | undefined;
  readonly search?: SearchQuery;
  /** A filter whose paths are names of functions, split at their dots. */
  readonly having: FilterTree | undefined;
  /** Their paths are names of groups or functions, split at their dots. */
  readonly sort: readonly SortTerm[];
  /** The time zone in which days, months, … begin. */
  readonly zone: string;
  readonly page: number;
  readonly size: number;
}

const PARAMETERS = ['select', 'group', 'tz', 'filter', 'or', 'search', 'having', 'sort', 'page', 'size'] as const;
const MEMBERS = ['select', 'group', 'tz', 'filter', 'search', 'having', 'sort', 'page', 'size'] as const;

export const MAX_FUNCTIONS = 20;
export const MAX_GROUPS = 5;
const DEFAULT_SIZE = 100;
export const MAX_SIZE = 1000;

/** The query string of GET …/_aggregate. */
export function parseAggregateRequest(query: string): AggregateRequest {
  const { values } = collect(query, PARAMETERS, false);
  const page = single(values, 'page');
  const size = single(values, 'size');
  const zone = single(values, 'tz');
  return checked({
    kind: 'aggregate',
    select: parseTerms('select', values.get('select') ?? [], MAX_FUNCTIONS, parseSelectTerm),
    group: parseTerms('group', values.get('group') ?? [], MAX_GROUPS, parseGroupTerm),
    filter: parseFilters(values.get('filter') ?? [], values.get('or') ?? []),
    ...searchOf(single(values, 'search')),
    having: parseFilters(values.get('having') ?? [], [], 'having'),
    sort: parseSort(values.get('sort') ?? []),
    zone: zone === undefined ? 'UTC' : parseTimeZone(zone),
    page: page === undefined ? 0 : parsePage(page),
    size: size === undefined ? DEFAULT_SIZE : parseSize('size', size, MAX_SIZE),
  });
}

/** The body of POST …/_aggregate. */
export function parseAggregateBody(body: unknown): AggregateRequest {
  const members = readMembers(body, MEMBERS);
  const { has, text, integer, strings } = members;
  return checked({
    kind: 'aggregate',
    select: parseTerms('select', strings('select'), MAX_FUNCTIONS, parseSelectTerm),
    group: parseTerms('group', strings('group'), MAX_GROUPS, parseGroupTerm),
    filter: has('filter') ? parseFilterTree(members.members.filter) : undefined,
    ...searchOf(has('search') ? members.text('search') : undefined),
    having: parseHaving(members),
    sort: parseSort(strings('sort')),
    zone: has('tz') ? parseTimeZone(text('tz')) : 'UTC',
    page: has('page') ? parsePage(integer('page')) : 0,
    size: has('size') ? parseSize('size', integer('size'), MAX_SIZE) : DEFAULT_SIZE,
  });
}

/** Conditions as the query string takes them, or nodes of a filter tree; all of them ANDed. */
function parseHaving({ has, members }: Members): FilterTree | undefined {
  if (!has('having')) return undefined;
  const entries: unknown = members.having;
  if (!Array.isArray(entries)) {
    throw badRequest('having must be an array of conditions, such as "count,gte,5" or {"field", "op", "value"}');
  }
  if (entries.length > MAX_NODES) throw badRequest(`having has more than ${MAX_NODES} nodes`);
  const texts = entries.filter((entry): entry is string => typeof entry === 'string');
  const nodes = entries.filter((entry) => typeof entry !== 'string');
  const plain = parseFilters(texts, [], 'having');
  const tree = nodes.length === 0 ? undefined : parseFilterTree({ and: nodes }, 'having');
  return plain !== undefined && tree !== undefined ? { kind: 'and', members: [plain, tree] } : (plain ?? tree);
}

/** `a,b` (several values are joined) -> terms; 400 for too many, and for two with one name. */
function parseTerms<T extends { readonly name: string }>(
  parameter: string,
  values: readonly string[],
  maximum: number,
  parse: (text: string) => T,
): T[] {
  const texts = values
    .slice(0, maximum + 1)
    .flatMap((value) => (value.trim() === '' ? [] : value.split(',', maximum + 1)));
  if (texts.length > maximum) throw badRequest(`${parameter} names more than ${maximum}`);
  const terms = texts.map((text) => parse(text.trim()));
  const names = new Set<string>();
  for (const { name } of terms) {
    if (names.has(name)) throw badRequest(`${parameter} names ${shown(name)} twice`);
    names.add(name);
  }
  return terms;
}

function parseSelectTerm(name: string): SelectTerm {
  const colon = name.indexOf(':');
  const word = colon < 0 ? name : name.slice(0, colon);
  const known = FUNCTION_NAMES.find((each) => each === word);
  if (known === undefined) {
    const suggestion = closest(word, FUNCTION_NAMES);
    throw badRequest(
      `Unknown function ${shown(word)} in select.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${FUNCTION_NAMES.join(', ')}, each with a field, such as sum:<field>`,
    );
  }
  if (colon < 0 && !FUNCTIONS[known].alone) throw badRequest(`select ${known} needs a field: ${known}:<field>`);
  return { name, function: known, path: colon < 0 ? undefined : splitPath('select', name.slice(colon + 1)) };
}

function parseGroupTerm(name: string): GroupTerm {
  const colon = name.indexOf(':');
  if (colon < 0) return { name, path: splitPath('group', name), part: undefined };
  const word = name.slice(colon + 1);
  const part = DATE_PARTS.find((each) => each === word);
  if (part === undefined) {
    const suggestion = closest(word, DATE_PARTS);
    throw badRequest(
      `Unknown part ${shown(word)} in group ${shown(name)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${DATE_PARTS.join(', ')}`,
    );
  }
  return { name, path: splitPath('group', name.slice(0, colon)), part };
}

/** Checks that concern several parameters. */
function checked(request: AggregateRequest): AggregateRequest {
  const { select, group } = request;
  if (select.length === 0) {
    throw badRequest(
      `select is missing: what to answer of each group, such as select=count,sum:<field>. Known: ${FUNCTION_NAMES.join(', ')}`,
    );
  }
  const double = select.find(({ name }) => group.some((term) => term.name === name));
  if (double !== undefined) {
    throw badRequest(
      `${shown(double.name)} is named by select and by group, and the answer can hold one of them${double.name === 'count' ? '; count:id counts the records, too' : ''}`,
    );
  }
  return request;
}
