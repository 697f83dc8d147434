// FilterTree -> Predicate: resolves names in the schema, decodes values by the field's type, and turns relations into
// "some related record". Throws 400 for what does not exist or does not fit.
import { badRequest, shorten, unknownName } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import { type Decoded, type FieldType, fieldType, parseStored } from '../model/field-types.ts';
import { isToOne, type Relation } from '../model/relation.ts';
import type { FilterTree, FilterValue } from '../request/filter.ts';
import { FILTER_OPERATORS, type FilterOperator, OPERATORS, type OperatorForm } from '../request/operators.ts';
import { buildLink, getTarget, type Link, type PlanContext } from './link.ts';
import { type Operand, valueOperand, valuesOperand } from './operand.ts';
import { hidesRows } from './scan.ts';
import type { Search } from './search.ts';

export type Predicate =
  | { readonly kind: 'and' | 'or'; readonly members: readonly Predicate[] }
  /** Negation, which is true where the member is false or unknown. */
  | { readonly kind: 'not'; readonly member: Predicate }
  | {
      readonly kind: 'compare';
      readonly field: Field;
      readonly operator: FilterOperator;
      readonly operands: readonly Operand[];
      /** Whether there are too many substrings, or too long ones, to search a long text without a pause. */
      readonly isExpensive?: boolean;
    }
  /** Full-text search on the words of the record. */
  | { readonly kind: 'search'; readonly search: Search }
  /** Test that some linked record satisfies the member. */
  | { readonly kind: 'exists'; readonly link: Link; readonly member: Predicate };

// Each step of a path is a subquery; longer paths are mistakes or attacks.
export const MAX_PATH_LENGTH = 6;

/** Plans the filter and the search of a list; returns undefined if every record satisfies both. */
export function planFilter(
  tree: FilterTree | undefined,
  entity: Entity,
  context: PlanContext,
  search?: Search,
): Predicate | undefined {
  const filter = tree === undefined ? EVERYTHING : markExpensiveParts(planPredicate(tree, entity, context));
  const predicate = search === undefined ? filter : group('and', [filter, { kind: 'search', search }]);
  return isConstant(predicate) && predicate.kind === 'and' ? undefined : predicate;
}

export function planPredicate(tree: FilterTree, entity: Entity, context: PlanContext): Predicate {
  switch (tree.kind) {
    case 'and':
    case 'or':
      return group(
        tree.kind,
        tree.members.map((member) => planPredicate(member, entity, context)),
      );
    case 'not': {
      const member = planPredicate(tree.member, entity, context);
      if (isConstant(member)) return member.kind === 'and' ? NOTHING : EVERYTHING;
      return { kind: 'not', member };
    }
    case 'compare':
      return planComparison(tree.path, tree.operator, tree.values, entity, context);
    default:
      return tree satisfies never;
  }
}

// Substrings that PostgreSQL searches on its own, possibly in several processes.
const MAX_CHEAP_PARTS = 10;
const MAX_CHEAP_LENGTH = 100;

/** Returns the predicate with the substrings marked that sql/like.ts searches in pieces. */
function markExpensiveParts(predicate: Predicate): Predicate {
  const isMany = countParts(predicate) > MAX_CHEAP_PARTS;
  function mark(one: Predicate): Predicate {
    if (one.kind === 'and' || one.kind === 'or') return { ...one, members: one.members.map(mark) };
    if (one.kind === 'not' || one.kind === 'exists') return { ...one, member: mark(one.member) };
    return isPart(one) && (isMany || getPartLength(one) > MAX_CHEAP_LENGTH) ? { ...one, isExpensive: true } : one;
  }
  return mark(predicate);
}

type Comparison = Extract<Predicate, { kind: 'compare' }>;

const isPart = (one: Predicate): one is Comparison => one.kind === 'compare' && Object.hasOwn(PATTERNS, one.operator);

const getPartLength = ({ operands: [part] }: Comparison): number =>
  part?.kind === 'value' && part.value !== null ? part.value.length : 0;

function countParts(predicate: Predicate): number {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.members.reduce((sum, member) => sum + countParts(member), 0);
  if (predicate.kind === 'not' || predicate.kind === 'exists') return countParts(predicate.member);
  return isPart(predicate) ? 1 : 0;
}

/** An empty `and` is true, an empty `or` false. */
const EVERYTHING: Predicate = { kind: 'and', members: [] };
const NOTHING: Predicate = { kind: 'or', members: [] };

function isConstant(predicate: Predicate): predicate is Extract<Predicate, { kind: 'and' | 'or' }> {
  return (predicate.kind === 'and' || predicate.kind === 'or') && predicate.members.length === 0;
}

/** Combines the members; constants among them need no SQL. */
function group(kind: 'and' | 'or', members: readonly Predicate[]): Predicate {
  if (members.some((member) => isConstant(member) && member.kind !== kind))
    return kind === 'and' ? NOTHING : EVERYTHING;
  const remaining = members.filter((member) => !isConstant(member));
  return remaining.length === 1 ? (remaining[0] as Predicate) : { kind, members: remaining };
}

/** Returns whether the predicate contains a search. */
export function hasSearch(predicate: Predicate): boolean {
  return predicate.kind === 'search' || (predicate.kind === 'and' && predicate.members.some(hasSearch));
}

/** Returns whether the predicate depends on records of an entity of which the principal may not see all. */
export function crossesHidden(predicate: Predicate): boolean {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.members.some(crossesHidden);
    case 'not':
      return crossesHidden(predicate.member);
    case 'exists': {
      const { link, member } = predicate;
      return hidesRows(link.scan) || (link.kind === 'through' && hidesRows(link.through)) || crossesHidden(member);
    }
    case 'search':
    case 'compare':
      return false;
    default:
      return predicate satisfies never;
  }
}

function planComparison(
  path: readonly string[],
  operator: FilterOperator,
  values: readonly FilterValue[],
  entity: Entity,
  context: PlanContext,
): Predicate {
  if (path.length > MAX_PATH_LENGTH)
    throw badRequest(
      'INVALID_PATH',
      `filter ${shorten(path.join('.'))} crosses more than ${MAX_PATH_LENGTH - 1} relations`,
    );
  const [name = '', ...rest] = path;
  if (rest.length === 0) return compare(getField(entity, name, 'filter'), operator, values, path);
  const relation = getRelation(entity, name);
  const target = getTarget(relation, context);
  const denied = OPERATORS[operator].denies;
  if (denied !== null && isToOne(relation) && isToOnePath(target, rest, context)) {
    const member = planComparison(rest, denied, values, target, context);
    return { kind: 'not', member: { kind: 'exists', link: buildLink(relation, context), member } };
  }
  return {
    kind: 'exists',
    link: buildLink(relation, context),
    member: planComparison(rest, operator, values, target, context),
  };
}

function isToOnePath(entity: Entity, path: readonly string[], context: PlanContext): boolean {
  let level = entity;
  for (const name of path.slice(0, -1)) {
    const relation = getRelation(level, name);
    if (!isToOne(relation)) return false;
    level = getTarget(relation, context);
  }
  return true;
}

function compare(
  field: Field,
  operator: FilterOperator,
  values: readonly FilterValue[],
  path: readonly string[],
): Predicate {
  const type = fieldType(field.type);
  const allowed = FILTER_OPERATORS.filter((candidate) => HAS[OPERATORS[candidate].needs](type));
  if (!allowed.includes(operator)) {
    throw badRequest(
      'OPERATOR_NOT_APPLICABLE',
      `Filter operator ${operator} does not apply to ${path.join('.')} of type ${field.type}. Known: ${allowed.join(', ')}`,
    );
  }
  const texts = values.map((value) => decode(field, operator, value, path));
  const pattern = buildPatterns(field, operator, texts);
  // A list is one array, so that one statement text serves any number of values.
  const operands =
    OPERATORS[operator].arity === 'many'
      ? [valuesOperand(field, texts)]
      : [...texts, ...pattern].map((text) => valueOperand(field, text));
  return { kind: 'compare', field, operator, operands };
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

function decode(field: Field, operator: FilterOperator, value: FilterValue, path: readonly string[]): string {
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
