// Builds list requests: the body of `_query`, or an equivalent query string if there is one.
import { OPERATORS, type Takes } from './operators.generated.ts';

/** Node of the filter tree of `_query`. */
export type Tree =
  | { readonly and: readonly Tree[] }
  | { readonly or: readonly Tree[] }
  | { readonly not: Tree }
  | { readonly field: string; readonly op: string; readonly value?: unknown };

type Members = Readonly<Record<string, unknown>>;

/** Query without the types of a schema. */
export interface LooseQuery {
  readonly fields?: readonly string[] | undefined;
  readonly expand?: Readonly<Record<string, true | LooseQuery>> | undefined;
  readonly filter?: Members | undefined;
  readonly sort?: string | readonly string[] | undefined;
  readonly [other: string]: unknown;
}

/** List without its selection: the filter as a tree, the sort as an array. */
export interface ListBody {
  readonly sort?: readonly string[];
  readonly filter?: Tree;
  readonly [other: string]: unknown;
}

/** Body of `_query`. It always has `expand` and `fields`, so that no setting of the workspace changes the response. */
export interface QueryBody extends ListBody {
  readonly expand: readonly string[];
  readonly fields: readonly string[];
  readonly narrow: Readonly<Record<string, ListBody>>;
}

export function toBody({ fields, expand, ...list }: LooseQuery): QueryBody {
  return { ...select(fields, expand), ...toList(list) };
}

export function toList({ filter, sort, ...rest }: LooseQuery): ListBody {
  const conditions = toTrees(filter ?? {}, '');
  return {
    ...rest,
    ...(sort === undefined ? {} : { sort: [sort].flat() as string[] }),
    ...(conditions.length === 0 ? {} : { filter: both(conditions) }),
  };
}

/** Returns the members that have a value, as strings. */
export const toTexts = (members: Members): [name: string, value: string][] =>
  Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));

const both = (conditions: readonly Tree[]): Tree =>
  conditions.length === 1 ? (conditions[0] as Tree) : { and: conditions };

/** Collects columns and relations. Every level has columns when one of them does; `*` is all columns of a level. */
function select(
  fields: LooseQuery['fields'],
  expand: LooseQuery['expand'],
): Pick<QueryBody, 'expand' | 'fields' | 'narrow'> {
  const paths: string[] = [];
  const names: string[] = [];
  const narrow: Record<string, ListBody> = {};
  let isChosen = false;
  const walk = (prefix: string, { fields: own, expand: deeper = {} }: LooseQuery): void => {
    const relations = Object.entries(deeper);
    if (own !== undefined) isChosen = true;
    if (own?.length === 0 && relations.length === 0) throw new TypeError('fields names no column');
    names.push(...(own ?? ['*']).map((name) => prefix + name));
    for (const [relation, part] of relations) {
      const path = prefix + relation;
      paths.push(path);
      const { fields: inner, expand: innermost, ...list } = part === true ? ({} as LooseQuery) : part;
      if (Object.keys(list).length > 0) narrow[path] = toList(list);
      walk(`${path}.`, { fields: inner, expand: innermost });
    }
  };
  walk('', { fields, expand });
  return { expand: paths, fields: isChosen ? names : [], narrow };
}

const getTakes = (name: string): Takes | undefined => (Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined);

const isObject = (value: unknown): value is Members =>
  // Neither a list nor a date.
  Object.prototype.toString.call(value) === '[object Object]';

/** Converts `{ status: 'open', customer: { name: { contains: 'a' } }, $or: […] }` to conditions that must all hold. */
function toTrees(filter: Members, prefix: string): Tree[] {
  return Object.entries(filter).flatMap(([name, value]): Tree[] => {
    // Ignoring it would match more records than intended.
    if (value === undefined) throw new TypeError(`filter: ${prefix}${name} is undefined`);
    if (name === '$and') return (value as Members[]).flatMap((one) => toTrees(one, prefix));
    if (name === '$or') return [{ or: (value as Members[]).map((one) => both(toTrees(one, prefix))) }];
    if (name === '$not') return [{ not: both(toTrees(value as Members, prefix)) }];
    const field = prefix + name;
    if (value === null) return [{ field, op: 'isNull' }];
    if (!isObject(value)) return [{ field, op: 'eq', value }];
    return Object.entries(value).flatMap(([key, operand]) => {
      // The object of a column has operators; that of a relation has columns with objects, or values whose name is no operator.
      const takes = getTakes(key);
      const isOperator = isObject(operand) ? takes === 'any' : takes !== undefined;
      if (!isOperator || operand === undefined) return toTrees({ [key]: operand }, `${field}.`);
      return [takes === 'none' ? { field, op: key } : { field, op: key, value: operand }];
    });
  });
}

/** Converts a body to the query string of a GET, or undefined if only a body can express it. */
export function toQuery({ expand, fields, narrow, ...list }: QueryBody): URLSearchParams | undefined {
  const query = toListQuery(list);
  query?.append('expand', expand.join());
  query?.append('fields', fields.join());
  for (const [path, part] of Object.entries(narrow)) {
    const narrowing = toListQuery(part);
    if (narrowing === undefined || narrowing.has('or')) return undefined;
    for (const [name, value] of narrowing) query?.append(`${path}.${name}`, value);
  }
  return query;
}

/** Builds the query string of a list without its selection, for `_export`, or undefined if only a body can express it. */
export function toListQuery({ filter, sort = [], ...rest }: ListBody): URLSearchParams | undefined {
  const query = new URLSearchParams();
  for (const node of filter === undefined ? [] : 'and' in filter ? filter.and : [filter]) {
    const group =
      'or' in node ? node.or.map((one) => toText(one, /[\\;]/g, /[\\,;]/g)) : [toText(node, undefined, /[\\,]/g)];
    if (group.length === 0 || group.includes(undefined)) return undefined;
    query.append('or' in node ? 'or' : 'filter', group.join(';'));
  }
  for (const one of sort) query.append('sort', one);
  for (const [name, value] of toTexts(rest)) query.append(name, value);
  return query;
}

/** Throws where only a body can express a filter. */
export function inUrl(query: URLSearchParams | undefined): URLSearchParams {
  if (query !== undefined) return query;
  throw new TypeError('This filter does not fit into a URL: conditions do, and one $or');
}

/** Builds the query string of a feed of changes, whose lists are separated by commas. */
export function toFeedQuery({ fields, types, entities, ...input }: LooseQuery): URLSearchParams {
  const query = inUrl(toListQuery(toList(input)));
  for (const [name, value] of toTexts({ fields, types, entities })) query.append(name, value);
  return query;
}

/**
 * Formats a condition as `<path>,<operator>,<value>`, or undefined if its value has no equal text. `ofValue` and
 * `ofList`: characters to escape in a value and in one of a list.
 */
function toText(node: Tree, ofValue: RegExp | undefined, ofList: RegExp): string | undefined {
  if (!('field' in node)) return undefined;
  const { field, op, value } = node;
  if (value === undefined) return `${field},${op}`;
  const isList = /two|many/.test(getTakes(op) as Takes);
  const values = isList ? (value as readonly unknown[]) : [value];
  // No text is an empty list.
  if (values.length === 0 || values.some((one) => typeof one === 'object')) return undefined;
  const escaped = isList ? ofList : ofValue;
  const texts = values.map((one) => (escaped === undefined ? String(one) : String(one).replace(escaped, '\\$&')));
  return `${field},${op},${texts.join()}`;
}
