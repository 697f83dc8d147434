// AggregateRequest -> AggregatePlan: resolves names, checks functions against the types of their fields, and joins the
// tables of to-one paths by scan(). Fields of their own name the columns of the grouped rows, so that having, sort and
// response work as they do for records.
import { badRequest, listNames, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import {
  type DatePart,
  FIELD_TYPE_NAMES,
  type FieldType,
  type FieldTypeName,
  fieldType,
} from '../model/field-types.ts';
import type { AggregateRequest } from '../request/aggregate.ts';
import {
  type AggregateFunction,
  FUNCTION_NAMES,
  FUNCTIONS,
  type FunctionForm,
  type GroupTerm,
  type SelectTerm,
} from '../request/aggregate-terms.ts';
import type { FilterTree } from '../request/filter.ts';
import type { SortTerm } from '../request/sort.ts';
import type { Link, PlanContext } from './link.ts';
import { numberOperand, type Operand, textOperand } from './operand.ts';
import { followToOne } from './ordering.ts';
import { type Predicate, planFilter, shieldScan } from './predicate.ts';
import { type Scan, scan } from './scan.ts';
import { planSearch } from './search.ts';
import { boundSteps } from './steps.ts';

/** A joined table: the record that is linked to the record of another join, or of the entity itself. */
export interface Join {
  /** Index among the joins, or null for the entity itself. */
  readonly from: number | null;
  readonly link: Link;
}

/** A column to aggregate or to group by; `join` as in Join. */
export interface Source {
  readonly join: number | null;
  readonly field: Field;
}

/** A field of the grouped rows: `name` is the name in the response, `column` an internal one. */
export type GroupedField = Field;

export interface GroupKey {
  readonly source: Source;
  readonly part: DatePart | undefined;
  readonly field: GroupedField;
}

export interface Aggregated {
  readonly function: AggregateFunction;
  /** Column of the function, or undefined if it counts the records. */
  readonly source: Source | undefined;
  readonly field: GroupedField;
}

export interface AggregatePlan {
  readonly kind: 'aggregate';
  readonly scan: Scan;
  readonly joins: readonly Join[];
  readonly groups: readonly GroupKey[];
  readonly functions: readonly Aggregated[];
  readonly predicate: Predicate | undefined;
  /** Condition on the fields of the grouped rows, to which `order` applies, too. */
  readonly having: Predicate | undefined;
  readonly order: readonly { readonly field: GroupedField; readonly direction: 'asc' | 'desc' }[];
  readonly zone: Operand;
  readonly page: number;
  readonly offset: Operand;
  readonly size: number;
}

/** Additional fraction digits of an average over those of its field, and the most of them. */
export const MORE_DIGITS = 6;
export const MAX_DIGITS = 1000;

/** Returns the fraction digits of the average of a field, or undefined if they depend on the values. */
export function averageDigits(field: Field): number | undefined {
  const digits = fieldType(field.type).summing?.digits(field);
  return digits === undefined ? undefined : Math.min(MAX_DIGITS, digits + MORE_DIGITS);
}

export function planAggregate(request: AggregateRequest, entity: Entity, context: PlanContext): AggregatePlan {
  const root = scan(entity, context.principal, 'read');
  const joins: Join[] = [];
  const findSource = makeFindSource(joins, entity, context);
  const groups = request.group.map((term, index) => planGroup(term, `g${index}`, findSource));
  const functions = request.select.map((term, index) => planFunction(term, `a${index}`, findSource));
  const search = request.search === undefined ? undefined : planSearch(request.search, entity);
  const predicate = planFilter(request.filter, entity, context, search);
  boundSteps({ joins, predicate });
  return {
    kind: 'aggregate',
    scan: shieldScan(root, predicate),
    joins,
    groups,
    functions,
    predicate,
    having: planHaving(request.having, functions, entity, context),
    order: planOrder(request.sort, groups, functions),
    zone: textOperand(request.zone),
    page: request.page,
    offset: numberOperand(request.page * request.size),
    size: request.size,
  };
}

/** Returns whether the plan only counts the records of the table. */
export function isTotal({ scan: root, groups, functions, predicate }: AggregatePlan): boolean {
  return (
    root.filter.kind === 'unrestricted' &&
    predicate === undefined &&
    groups.length === 0 &&
    functions.every(({ function: name, source }) => name === 'count' && source === undefined)
  );
}

type FindSource = (parameter: 'select' | 'group', path: readonly string[]) => Source;

/** Returns a function that finds the column of a path; it joins each relation of all paths once. */
function makeFindSource(joins: Join[], entity: Entity, context: PlanContext): FindSource {
  const joinIndexes = new Map<string, number>();
  return (parameter, path) => {
    const only = 'can be crossed here';
    const { links, field } = followToOne({ parameter, only }, path, entity, context);
    let join: number | null = null;
    links.forEach((link, index) => {
      const prefix = path.slice(0, index + 1).join('.');
      let next = joinIndexes.get(prefix);
      if (next === undefined) {
        next = joins.push({ from: join, link }) - 1;
        joinIndexes.set(prefix, next);
      }
      join = next;
    });
    return { join, field };
  };
}

function planGroup({ name, path, part }: GroupTerm, column: string, findSource: FindSource): GroupKey {
  const source = findSource('group', path);
  const { type } = source.field;
  if (part === undefined) {
    if (!fieldType(type).comparable) {
      const types = listTypes(({ comparable }) => comparable);
      throw badRequest(
        'INVALID_AGGREGATE',
        `group ${shorten(name)}: there are no groups of type ${type}. Known: ${types}`,
      );
    }
    return { source, part, field: groupedField(source.field, name, column, type) };
  }
  const parts = fieldType(type).parts ?? [];
  if (!parts.includes(part)) {
    const fits =
      parts.length > 0
        ? `Known: ${parts.join(', ')}`
        : `Only fields of these types have parts: ${listTypes((each) => each.parts !== undefined)}`;
    throw badRequest('INVALID_AGGREGATE', `group ${shorten(name)}: a field of type ${type} has no ${part}. ${fits}`);
  }
  // A day and every longer part is a calendar date; an hour is a point in time, as a day may have one twice.
  return { source, part, field: groupedField(source.field, name, column, part === 'hour' ? 'datetime' : 'date') };
}

function planFunction(term: SelectTerm, column: string, findSource: FindSource): Aggregated {
  const { name, function: word, path } = term;
  if (path === undefined) return { function: word, source: undefined, field: countField(name, column) };
  const source = findSource('select', path);
  const { field } = source;
  const needs = NEEDS[FUNCTIONS[word].needs];
  if (!needs(fieldType(field.type))) {
    const fitting = FUNCTION_NAMES.filter((each) => NEEDS[FUNCTIONS[each].needs](fieldType(field.type)));
    throw badRequest(
      'INVALID_AGGREGATE',
      `select ${shorten(name)}: ${word} does not apply to a field of type ${field.type}. It applies to ${listTypes(needs)}; to ${shorten(path.join('.'))} apply ${fitting.join(', ')}`,
    );
  }
  return { function: word, source, field: resultField(word, field, name, column) };
}

/** Tests whether a field of the type has what a function needs. */
const NEEDS: Readonly<Record<FunctionForm['needs'], (type: FieldType) => boolean>> = {
  nothing: () => true,
  number: (type) => type.summing !== undefined,
  order: (type) => type.ordered,
};

const listTypes = (fits: (type: FieldType) => boolean): string =>
  FIELD_TYPE_NAMES.filter((name) => fits(fieldType(name))).join(', ');

function resultField(word: AggregateFunction, field: Field, name: string, column: string): GroupedField {
  switch (word) {
    case 'count':
    case 'countDistinct':
      return countField(name, column);
    case 'sum':
    case 'avg':
      return { ...countField(name, column), type: 'decimal' };
    case 'min':
    case 'max':
      return groupedField(field, name, column, field.type);
    default:
      return word satisfies never;
  }
}

/** Builds a field of the grouped rows that holds values of a field of records. */
function groupedField(field: Field, name: string, column: string, type: FieldTypeName): GroupedField {
  return { ...field, name, column, type, role: 'data', required: false, unique: false, relation: undefined };
}

function countField(name: string, column: string): GroupedField {
  return {
    name,
    column,
    type: 'bigint',
    role: 'data',
    required: true,
    unique: false,
    indexed: false,
    hasPartsIndex: false,
    default: undefined,
    maxLength: undefined,
    precision: undefined,
    scale: undefined,
    min: undefined,
    max: undefined,
    values: undefined,
    description: undefined,
    relation: undefined,
  };
}

/** Plans conditions on the selected functions: a filter of an entity that has them as fields. */
function planHaving(
  tree: FilterTree | undefined,
  functions: readonly Aggregated[],
  entity: Entity,
  context: PlanContext,
): Predicate | undefined {
  if (tree === undefined) return undefined;
  const fields = new Map(functions.map(({ field }) => [field.name, field]));
  const resolveNames = (node: FilterTree): FilterTree => {
    switch (node.kind) {
      case 'and':
      case 'or':
        return { kind: node.kind, members: node.members.map(resolveNames) };
      case 'not':
        return { kind: 'not', member: resolveNames(node.member) };
      case 'compare': {
        const name = node.path.join('.');
        if (!fields.has(name)) throw unknownTerm('having', name, 'is not selected', [...fields.keys()]);
        return { ...node, path: [name] };
      }
      default:
        return node satisfies never;
    }
  };
  return planFilter(resolveNames(tree), { ...entity, fields, relations: new Map() }, context);
}

function planOrder(
  terms: readonly SortTerm[],
  groups: readonly GroupKey[],
  functions: readonly Aggregated[],
): AggregatePlan['order'] {
  const fields = new Map([...groups, ...functions].map(({ field }) => [field.name, field]));
  const order = new Map<string, AggregatePlan['order'][number]>();
  for (const { path, direction } of terms) {
    const name = path.join('.');
    const field = fields.get(name);
    if (field === undefined) throw unknownTerm('sort', name, 'is neither a group nor selected', [...fields.keys()]);
    if (order.has(name)) throw badRequest('INVALID_SORT', `sort names ${name} twice`);
    order.set(name, { field, direction });
  }
  // Adds the groups as tie-breakers, so that pages do not overlap.
  for (const { field } of groups) if (!order.has(field.name)) order.set(field.name, { field, direction: 'asc' });
  return [...order.values()];
}

function unknownTerm(parameter: string, name: string, fault: string, candidates: readonly string[]): Error {
  const suggestion = closest(name, candidates);
  return badRequest(
    'INVALID_AGGREGATE',
    `${parameter} names ${shorten(name)}, which ${fault}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${listNames(candidates)}`,
  );
}
