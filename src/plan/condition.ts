// ConditionTree -> Condition: resolves names in the schema, decodes values by the field's type, and turns relations into
// "some related record". Throws 400 for what does not exist or does not fit. Filters of requests (predicate.ts) and
// grants (scan.ts) differ in the records to which their relations lead.
import { badRequest, shorten, unknownName } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import { type Decoded, type FieldType, fieldType, parseStored } from '../model/field-types.ts';
import type { GrantValue } from '../model/grant.ts';
import { makeClaimUse } from '../model/granted.ts';
import {
  type ConditionTree,
  FILTER_OPERATORS,
  type FilterOperator,
  OPERATORS,
  type OperatorForm,
} from '../model/operators.ts';
import { isToOne, type Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import type { FilterValue } from '../request/filter.ts';
import { claimOperand, type Operand, valueOperand, valuesOperand } from './operand.ts';
import type { Search } from './search.ts';

export interface Comparison {
  readonly kind: 'compare';
  readonly field: Field;
  readonly operator: FilterOperator;
  readonly operands: readonly Operand[];
  /** Whether there are too many substrings, or too long ones, to search a long text without a pause. */
  readonly isExpensive?: boolean;
}

/** `L`: the way from a record to linked ones. */
export type Condition<L> =
  | { readonly kind: 'and' | 'or'; readonly members: readonly Condition<L>[] }
  /** Negation, which is true where the member is false or unknown. */
  | { readonly kind: 'not'; readonly member: Condition<L> }
  | Comparison
  /** Full-text search on the words of the record. */
  | { readonly kind: 'search'; readonly search: Search; readonly isShielded: boolean }
  /** Test that some linked record satisfies the member. */
  | { readonly kind: 'exists'; readonly link: L; readonly member: Condition<L> };

/** Entities of the paths, and the links of their relations. */
export interface Links<L> extends Pick<Workspace, 'entities' | 'slug'> {
  readonly link: (relation: Relation) => L;
}

type Value = FilterValue | GrantValue;

// Each step of a path is a subquery; longer paths are mistakes or attacks.
export const MAX_PATH_LENGTH = 6;

/** Plans a condition; constants among its members need no SQL. */
export function planCondition<L>(tree: ConditionTree<Value>, entity: Entity, links: Links<L>): Condition<L> {
  switch (tree.kind) {
    case 'and':
    case 'or':
      return group(
        tree.kind,
        tree.members.map((member) => planCondition(member, entity, links)),
      );
    case 'not': {
      const member = planCondition(tree.member, entity, links);
      if (isConstant(member)) return member.kind === 'and' ? NOTHING : EVERYTHING;
      return { kind: 'not', member };
    }
    case 'compare':
      return planComparison(tree.path, tree.operator, tree.values, entity, links);
    default:
      return tree satisfies never;
  }
}

/** An empty `and` is true, an empty `or` false. */
export const EVERYTHING = { kind: 'and', members: [] } as const;
const NOTHING = { kind: 'or', members: [] } as const;

export function isConstant<L>(predicate: Condition<L>): predicate is Extract<Condition<L>, { kind: 'and' | 'or' }> {
  return (predicate.kind === 'and' || predicate.kind === 'or') && predicate.members.length === 0;
}

/** Combines the members; constants among them need no SQL. */
export function group<L>(kind: 'and' | 'or', members: readonly Condition<L>[]): Condition<L> {
  if (members.some((member) => isConstant(member) && member.kind !== kind))
    return kind === 'and' ? NOTHING : EVERYTHING;
  const remaining = members.filter((member) => !isConstant(member));
  return remaining.length === 1 ? (remaining[0] as Condition<L>) : { kind, members: remaining };
}

function planComparison<L>(
  path: readonly string[],
  operator: FilterOperator,
  values: readonly Value[],
  entity: Entity,
  links: Links<L>,
): Condition<L> {
  if (path.length > MAX_PATH_LENGTH)
    throw badRequest(
      'INVALID_PATH',
      `filter ${shorten(path.join('.'))} crosses more than ${MAX_PATH_LENGTH - 1} relations`,
    );
  const [name = '', ...rest] = path;
  if (rest.length === 0) return compare(getField(entity, name, 'filter'), operator, values, path);
  const relation = getRelation(entity, name);
  const target = getEntity(links, relation.entity);
  const denied = OPERATORS[operator].denies;
  if (denied !== null && isToOne(relation) && isToOnePath(target, rest, links)) {
    const member = planComparison(rest, denied, values, target, links);
    return { kind: 'not', member: { kind: 'exists', link: links.link(relation), member } };
  }
  return {
    kind: 'exists',
    link: links.link(relation),
    member: planComparison(rest, operator, values, target, links),
  };
}

function isToOnePath(entity: Entity, path: readonly string[], links: Links<unknown>): boolean {
  let level = entity;
  for (const name of path.slice(0, -1)) {
    const relation = getRelation(level, name);
    if (!isToOne(relation)) return false;
    level = getEntity(links, relation.entity);
  }
  return true;
}

function compare(
  field: Field,
  operator: FilterOperator,
  values: readonly Value[],
  path: readonly string[],
): Comparison {
  const type = fieldType(field.type);
  const allowed = FILTER_OPERATORS.filter((candidate) => HAS[OPERATORS[candidate].needs](type));
  if (!allowed.includes(operator)) {
    throw badRequest(
      'OPERATOR_NOT_APPLICABLE',
      `Filter operator ${operator} does not apply to ${path.join('.')} of type ${field.type}. Known: ${allowed.join(', ')}`,
    );
  }
  return { kind: 'compare', field, operator, operands: planOperands(field, operator, values, path) };
}

function planOperands(
  field: Field,
  operator: FilterOperator,
  values: readonly Value[],
  path: readonly string[],
): readonly Operand[] {
  const isMany = OPERATORS[operator].arity === 'many';
  const operands = values.map((value): Operand | string => {
    if (value.kind === 'now') return { kind: 'now', type: fieldType(field.type).bindType };
    if (value.kind === 'claim') return claimOperand(makeClaimUse(value.claim, operator, field));
    return decode(field, operator, value, path);
  });
  const texts = operands.filter((operand) => typeof operand === 'string');
  // A list is one array, so that one statement text serves any number of values.
  if (isMany && texts.length === operands.length) return [valuesOperand(field, texts)];
  return [...operands, ...(texts.length === 0 ? [] : buildPatterns(field, operator, texts))].map((operand) =>
    typeof operand === 'string' ? valueOperand(field, operand) : operand,
  );
}

// The beginning or end of a long substring is enough to find the rows, and PostgreSQL cannot interrupt `like`
// (sql/like.ts): on a text of ten million characters one takes a second at worst.
const PATTERN_LENGTH = 32;
const head = (part: string): string => escapePattern([...part].slice(0, PATTERN_LENGTH).join(''));
const tail = (part: string): string => escapePattern([...part].slice(-PATTERN_LENGTH).join(''));
const escapePattern = (part: string): string => part.replaceAll(/[\\%_]/g, '\\$&');

const PATTERNS: Readonly<Partial<Record<FilterOperator, (part: string) => string>>> = {
  contains: (part) => `%${head(part)}%`,
  startsWith: (part) => `${head(part)}%`,
  endsWith: (part) => `%${tail(part)}`,
  ieq: (part) => `${head(part)}%`,
};

export const isPart = (one: { readonly kind: string }): one is Comparison =>
  one.kind === 'compare' && Object.hasOwn(PATTERNS, (one as Comparison).operator);

// The index holds trigrams of letters and digits. For shorter texts it would return every record.
const FINDABLE = /[\p{L}\p{Nd}]{3}/u;

/** Returns the patterns of `like` by which a substring index finds the value, or none without such an index. */
function buildPatterns(field: Field, operator: FilterOperator, [text = '']: readonly string[]): readonly string[] {
  const pattern = PATTERNS[operator];
  if (pattern === undefined || !field.hasPartsIndex) return [];
  const likePattern = pattern(text);
  return FINDABLE.test(likePattern) ? [likePattern] : [];
}

/** Tests whether a field of the type has what an operator needs. */
const HAS: Readonly<Record<OperatorForm['needs'], (type: FieldType) => boolean>> = {
  nothing: () => true,
  order: (type) => type.ordered,
  text: (type) => type.textual,
};

function decode(
  field: Field,
  operator: FilterOperator,
  value: Exclude<Value, { kind: 'claim' | 'now' }>,
  path: readonly string[],
): string {
  const type = fieldType(field.type);
  // A substring of an enum value is any text.
  const { value: kind, maxLength } = OPERATORS[operator];
  const valueType = kind === 'part' ? fieldType('text') : type;
  const read: Decoded =
    value.kind === 'text' ? valueType.parseText(value.text, field) : valueType.decode(value.value, field);
  const decoded = read.ok && maxLength !== undefined ? parseStored({ type: 'text', maxLength }, read.value) : read;
  if (decoded.ok) return decoded.value;
  // The + of an offset is a space in a query string unless it is written as %2B.
  const hint =
    value.kind === 'text' && / \d\d(:?\d\d)?$/.test(value.text) && type.output === 'datetime'
      ? ' (in a URL, write + as %2B)'
      : '';
  throw badRequest('INVALID_FILTER_VALUE', `Filter value for ${path.join('.')} ${decoded.message}${hint}`);
}

/** Returns the field of that name, or throws 400 with the names that exist. */
export function getField(entity: Entity, name: string, parameter: string): Field {
  const field = entity.fields.get(name);
  if (field !== undefined) return field;
  if (entity.relations.has(name)) {
    throw badRequest(
      'INVALID_PATH',
      `${parameter}: ${name} is a relation of ${entity.name}; name a field of it, such as ${name}.id`,
    );
  }
  throw unknownName('field', name, entity.name, closest(name, entity.fields.keys()), entity.fields.keys());
}

/** Returns the relation of that name, or throws 400 with the names that exist. */
export function getRelation(entity: Entity, name: string): Relation {
  const relation = entity.relations.get(name);
  if (relation !== undefined) return relation;
  throw unknownName('relation', name, entity.name, closest(name, entity.relations.keys()), entity.relations.keys());
}
