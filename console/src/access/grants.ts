// Grants of a schema document as the editor changes them: JSON values of which it keeps what it does not know. Pure.
import { describeGrant } from '../../../src/model/grant-words.ts';
import { Digits, type Json, parseExact, stringifyExact } from '../api/json.ts';
import { type ColumnType, isNumeric } from '../records/fields.ts';
import { listOperatorsFor, listText, operatorNamed, splitList } from '../records/filter.ts';
import { asText, asTexts, isList, isObject, type JsonObject, listMembers } from '../schema/json-value.ts';

/** Grants of an entity in the order of the document; null: it is open to every user. */
export type Grants = readonly JsonObject[] | null;

export const OPERATIONS = ['read', 'create', 'update', 'delete', 'history'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Words for the ways in which an entity is limited. */
export const ACCESS_WORDS = {
  open: 'open to every user',
  rowRules: 'row rules',
  grants: 'grants',
  closed: 'closed to users',
} as const;

export const NEW_GRANT: JsonObject = { can: ['read'] };

/** Returns the grants of a response; null if there are none. */
export const readGrants = (value: Json | undefined): Grants => (isList(value) ? value.filter(isObject) : null);

/** Returns the roles of a grant; none for every user. */
export const getRoles = ({ role }: JsonObject): readonly string[] =>
  typeof role === 'string' ? [role] : asTexts(role);

/** Returns the member `role` for these roles, or undefined for every user. */
export const toRole = (roles: readonly string[]): Json | undefined =>
  roles.length === 0 ? undefined : roles.length === 1 ? (roles[0] as string) : roles;

/** Returns the grants of users with these roles alone, in a form that every user has: no token needs to name the roles. */
export const selectGrants = (grants: Grants, roles: readonly string[]): Grants =>
  grants === null
    ? null
    : grants
        .filter((grant) => getRoles(grant).length === 0 || getRoles(grant).some((role) => roles.includes(role)))
        .map(({ role: _, ...grant }) => grant);

/** Moves the grant at an index by one position. */
export function moveGrant(grants: readonly JsonObject[], from: number, by: -1 | 1): readonly JsonObject[] {
  const next = [...grants];
  const [one] = next.splice(from, 1);
  if (one !== undefined) next.splice(from + by, 0, one);
  return next;
}

export type NodeKind = 'and' | 'or' | 'not' | 'compare';

/** Returns the kind of a node of a `where`. */
export function getKind(node: Json): NodeKind {
  const names = listMembers(node).map(([name]) => name);
  const [only, ...others] = names;
  return others.length === 0 && (only === 'and' || only === 'or' || only === 'not') ? only : 'compare';
}

/** Returns the members of a group, or the node itself as the only one. */
export function listParts(node: Json): readonly Json[] {
  const kind = getKind(node);
  const parts = kind === 'and' || kind === 'or' ? (node as JsonObject)[kind] : undefined;
  return parts === undefined ? [node] : isList(parts) ? parts : [];
}

/** Returns a group of these nodes, or undefined without any. One node needs no group. */
export function toGroup(kind: 'and' | 'or', parts: readonly Json[]): Json | undefined {
  const [only, ...others] = parts;
  if (only === undefined) return undefined;
  return others.length === 0 ? only : { [kind]: parts };
}

/** Operators of filters that grants have not. */
const NO_GRANT_OPERATORS = new Set(['matches']);

export const listGrantOperators = (type: ColumnType) =>
  listOperatorsFor(type).filter(({ name }) => !NO_GRANT_OPERATORS.has(name));

/** Returns the comparison with another operator, whose value keeps its form where it can. */
export function setOperator(node: JsonObject, op: string): JsonObject {
  const takes = operatorNamed(op)?.takes ?? 'one';
  const { value = '', ...rest } = node;
  const values = isList(value) ? value : [value];
  const isClaim = getSource(value) === 'claim';
  if (takes === 'none') return { field: rest.field ?? '', op };
  const next: Json =
    takes === 'one'
      ? (values[0] ?? '')
      : takes === 'two'
        ? [values[0] ?? '', values[1] ?? '']
        : isClaim || isList(value)
          ? value
          : values;
  return { ...rest, op, value: next };
}

/** Where a value comes from. */
export type Source = 'value' | 'claim' | 'now' | 'null';

export function getSource(value: Json | undefined): Source {
  if (value === null) return 'null';
  if (!isObject(value)) return 'value';
  return Object.hasOwn(value, 'claim') ? 'claim' : Object.hasOwn(value, 'now') ? 'now' : 'value';
}

/** Returns a first value of a source. */
export function startValue(source: Source): Json {
  if (source === 'null') return null;
  return source === 'claim' ? { claim: '' } : source === 'now' ? { now: true } : '';
}

export const getClaim = (value: Json | undefined): string => (isObject(value) ? asText(value.claim) : '');

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns the value that was typed for a column; a text that does not fit stays, and the server refuses it. */
export function parseLiteral(text: string, type: ColumnType): Json {
  const trimmed = text.trim();
  if (isNumeric(type) || type === 'relation') return NUMBER.test(trimmed) ? new Digits(trimmed) : text;
  if (type === 'boolean') return trimmed === 'true' ? true : trimmed === 'false' ? false : text;
  if (type !== 'json') return text;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

export const formatLiteral = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : stringifyExact(value);

/** Parses the values of `in` and `nin`, separated by commas. */
export const parseLiterals = (text: string, type: ColumnType): readonly Json[] =>
  text === '' ? [] : splitList(text).map((part) => parseLiteral(part, type));

export const formatLiterals = (value: Json | undefined): string =>
  isList(value) ? listText(value.map(formatLiteral)) : '';

/** Lists the claims that row rules and grants of a document name, and those that every token has. */
export function listClaims(document: Json | undefined): readonly string[] {
  const claims = new Set<string>();
  const collect = (value: Json): void => {
    if (isList(value)) for (const one of value) collect(one);
    else if (isObject(value)) {
      for (const [name, one] of Object.entries(value)) {
        if (name === 'claim' && typeof one === 'string' && one !== '') claims.add(one);
        else collect(one);
      }
    }
  };
  for (const [, entity] of listMembers(isObject(document) ? document.entities : undefined))
    if (isObject(entity)) collect([entity.rowRules ?? null, entity.grants ?? null]);
  return [...claims, ...['sub', 'email'].filter((name) => !claims.has(name))];
}

type ModelGrant = Parameters<typeof describeGrant>[0];
type ModelWhere = NonNullable<ModelGrant['where']>;
type ModelValue = ModelWhere extends infer W
  ? W extends { readonly values: readonly (infer V)[] }
    ? V
    : never
  : never;

/** Returns a grant in words, as reports and plans have it. What is not filled in yet is shown as `…`. */
export function sayGrant(grant: JsonObject, entity: string): string {
  const { can, where, fields, write, set } = grant;
  const roles = getRoles(grant);
  return describeGrant(
    {
      roles: roles.length === 0 ? null : roles,
      can: new Set(asTexts(can)) as unknown as ModelGrant['can'],
      where: where === undefined ? null : toModelWhere(where),
      fields: fields === undefined ? null : asTexts(fields),
      write: write === undefined ? null : asTexts(write),
      set: new Map(listMembers(set).map(([name, value]) => [name || '…', toModelValue(value)])),
    },
    entity,
  );
}

function toModelWhere(node: Json): ModelWhere {
  const kind = getKind(node);
  if (kind === 'and' || kind === 'or') return { kind, members: listParts(node).map(toModelWhere) };
  if (kind === 'not') return { kind, member: toModelWhere((node as JsonObject).not ?? null) };
  const { field, op, value } = isObject(node) ? node : {};
  const operator = asText(op);
  const values = operatorNamed(operator)?.takes === 'none' ? [] : isList(value) ? value : [value ?? ''];
  return {
    kind: 'compare',
    path: (asText(field) || '…').split('.'),
    operator: (operatorNamed(operator)?.name ?? 'eq') as never,
    values: values.map(toModelValue),
  };
}

function toModelValue(value: Json): ModelValue {
  const source = getSource(value);
  if (source === 'now') return { kind: 'now' };
  if (source === 'claim') return { kind: 'claim', claim: getClaim(value) || '…' };
  return { kind: 'literal', value: toPlain(value) };
}

/** Returns a value whose numbers keep their digits where the browser can print them. */
function toPlain(value: Json): unknown {
  if (!(value instanceof Digits)) return value;
  const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => object };
  return rawJSON?.(value.text) ?? Number(value.text);
}
