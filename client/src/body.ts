// What is asked of a list, as the body of `_query`, and as a query string where one can say the same.
import { OPERATORS, type Takes } from './operators.generated.ts';

/** A node of the filter tree of `_query`. */
export type Tree =
  | { readonly and: readonly Tree[] }
  | { readonly or: readonly Tree[] }
  | { readonly not: Tree }
  | { readonly field: string; readonly op: string; readonly value?: unknown };

type Members = Readonly<Record<string, unknown>>;

/** What requests are made of, without the types of a schema. */
export interface LooseQuery {
  readonly fields?: readonly string[] | undefined;
  readonly expand?: Readonly<Record<string, true | LooseQuery>> | undefined;
  readonly filter?: Members | undefined;
  readonly sort?: string | readonly string[] | undefined;
  readonly [other: string]: unknown;
}

/** A list without its selection: the filter as a tree, the sort as an array. */
export interface ListBody {
  readonly sort?: readonly string[];
  readonly filter?: Tree;
  readonly [other: string]: unknown;
}

/** The body of `_query`. `expand` and `fields` are always said, so that no setting of the workspace changes the answer. */
export interface QueryBody extends ListBody {
  readonly expand: readonly string[];
  readonly fields: readonly string[];
  readonly narrow: Readonly<Record<string, ListBody>>;
}

export function bodyOf({ fields, expand, ...list }: LooseQuery): QueryBody {
  return { ...select(fields, expand), ...listOf(list) };
}

export function listOf({ filter, sort, ...rest }: LooseQuery): ListBody {
  const conditions = conditionsOf(filter ?? {}, '');
  return {
    ...rest,
    ...(sort === undefined ? {} : { sort: [sort].flat() as string[] }),
    ...(conditions.length === 0 ? {} : { filter: both(conditions) }),
  };
}

/** The members that have a value, as texts. */
export const given = (members: Members): [name: string, value: string][] =>
  Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));

const both = (conditions: readonly Tree[]): Tree =>
  conditions.length === 1 ? (conditions[0] as Tree) : { and: conditions };

/** Every level says its columns when one of them does; `*` is all columns of a level. */
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
      if (Object.keys(list).length > 0) narrow[path] = listOf(list);
      walk(`${path}.`, { fields: inner, expand: innermost });
    }
  };
  walk('', { fields, expand });
  return { expand: paths, fields: isChosen ? names : [], narrow };
}

const takesOf = (name: string): Takes | undefined => (Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined);

const isObject = (value: unknown): value is Members =>
  // Neither a list nor a date.
  Object.prototype.toString.call(value) === '[object Object]';

/** `{ status: 'open', customer: { name: { contains: 'a' } }, $or: […] }` as conditions that must all hold. */
function conditionsOf(filter: Members, prefix: string): Tree[] {
  return Object.entries(filter).flatMap(([name, value]): Tree[] => {
    // Left out, it would find more than was meant.
    if (value === undefined) throw new TypeError(`filter: ${prefix}${name} is undefined`);
    if (name === '$and') return (value as Members[]).flatMap((one) => conditionsOf(one, prefix));
    if (name === '$or') return [{ or: (value as Members[]).map((one) => both(conditionsOf(one, prefix))) }];
    if (name === '$not') return [{ not: both(conditionsOf(value as Members, prefix)) }];
    const field = prefix + name;
    if (value === null) return [{ field, op: 'isNull' }];
    if (!isObject(value)) return [{ field, op: 'eq', value }];
    return Object.entries(value).flatMap(([key, operand]) => {
      // A column has operators, and a relation has columns with an object each, or a value where the name is no operator.
      const takes = takesOf(key);
      const isOperator = isObject(operand) ? takes === 'any' : takes !== undefined;
      if (!isOperator || operand === undefined) return conditionsOf({ [key]: operand }, `${field}.`);
      return [takes === 'none' ? { field, op: key } : { field, op: key, value: operand }];
    });
  });
}

/** The same as the query string of GET; undefined where only a body can say it. */
export function queryOf({ expand, fields, narrow, ...list }: QueryBody): URLSearchParams | undefined {
  const query = listQueryOf(list);
  query?.append('expand', expand.join());
  query?.append('fields', fields.join());
  for (const [path, part] of Object.entries(narrow)) {
    const narrowing = listQueryOf(part);
    if (narrowing === undefined || narrowing.has('or')) return undefined;
    for (const [name, value] of narrowing) query?.append(`${path}.${name}`, value);
  }
  return query;
}

/** A list without its selection, as for `_export`. */
export function listQueryOf({ filter, sort = [], ...rest }: ListBody): URLSearchParams | undefined {
  const query = new URLSearchParams();
  for (const node of filter === undefined ? [] : 'and' in filter ? filter.and : [filter]) {
    const group = 'or' in node ? node.or.map(textOf) : [textOf(node)];
    if (group.length === 0 || group.includes(undefined)) return undefined;
    if (!('or' in node)) query.append('filter', group[0] as string);
    // A backslash before a semicolon would be taken for an escape.
    else if (group.some((text) => /\\(?!,)/.test(text as string))) return undefined;
    else query.append('or', group.map((text) => text?.replaceAll(';', '\\;')).join(';'));
  }
  for (const one of sort) query.append('sort', one);
  for (const [name, value] of given(rest)) query.append(name, value);
  return query;
}

/** A condition as `<path>,<operator>,<value>`; undefined for a value that has no text, or another one there. */
function textOf(node: Tree): string | undefined {
  if (!('field' in node)) return undefined;
  const { field, op, value } = node;
  if (value === undefined) return `${field},${op}`;
  if (!/two|many/.test(takesOf(op) as Takes)) return typeof value === 'object' ? undefined : `${field},${op},${value}`;
  const values = value as readonly unknown[];
  // No value is no list, and a backslash before a comma would be taken for an escape.
  if (values.length === 0 || values.some((one) => typeof one === 'object' || String(one).includes('\\')))
    return undefined;
  return `${field},${op},${values.map((one) => String(one).replaceAll(',', '\\,')).join()}`;
}
