// Parses the filter grammar -> FilterTree: `<path>,<op>[,<value>]` of the query string and the JSON tree of `_query`.
// Syntax only: paths and values are checked against the schema in plan/predicate.ts.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import {
  type ConditionTree,
  FILTER_OPERATORS,
  type FilterOperator,
  OPERATORS,
  type OperatorForm,
} from '../model/operators.ts';
import { splitPath } from './paths.ts';

/** `text` values come from a query string and are parsed by the field's type; `json` ones from `_query`. */
export type FilterValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'json'; readonly value: unknown };

export type FilterTree = ConditionTree<FilterValue>;

// Each condition costs planning; a filter with more than this was generated, and its values belong in `in`.
const MAX_CONDITIONS = 100;
// Most nodes of a filter tree: conditions, and the and, or and not around them.
const MAX_NODES = 200;
const MAX_VALUES = 1000;
const MAX_TREE_DEPTH = 20;

/**
 * Parses the parameters `filter` (each one condition) and `or` (each one group), all of them ANDed, or returns
 * undefined without any. `parameter`: name of another parameter with the syntax of `filter`. Conditions of one request
 * are counted together.
 */
export function parseFilters(
  filters: readonly string[],
  groups: readonly string[],
  parameter = 'filter',
  count: FilterCount = { conditions: 0, nodes: 0 },
): FilterTree | undefined {
  // Counted before parsing: a body may hold a hundred thousand.
  count.conditions += filters.length;
  if (count.conditions > MAX_CONDITIONS) throw tooManyConditions();
  const members: FilterTree[] = filters.map((text) => parseCondition(parameter, text));
  for (const group of groups) {
    const texts = splitUnescaped(group, ';', ';', MAX_CONDITIONS - count.conditions);
    count.conditions += texts.length;
    if (count.conditions > MAX_CONDITIONS) throw tooManyConditions();
    members.push({ kind: 'or', members: texts.map((text) => parseCondition('or', text, ';')) });
  }
  if (members.length === 0) return undefined;
  return members.length === 1 ? members[0] : { kind: 'and', members };
}

/** Combines the trees by AND, or returns undefined without any. Conditions of a query string are one list. */
export function combineFilters(...trees: readonly (FilterTree | undefined)[]): FilterTree | undefined {
  const present = trees.filter((tree) => tree !== undefined);
  if (present.length < 2) return present[0];
  return { kind: 'and', members: present.flatMap((tree) => (tree.kind === 'and' ? tree.members : [tree])) };
}

const tooManyConditions = (): Error => badRequest('LIMIT_EXCEEDED', `More than ${MAX_CONDITIONS} filter conditions`);

/** `separator`: that of the group of alternatives, which is escaped in the condition. */
function parseCondition(parameter: string, text: string, separator: '' | ';' = ''): FilterTree {
  const first = text.indexOf(',');
  const second = first < 0 ? -1 : text.indexOf(',', first + 1);
  const path = splitPath(parameter, first < 0 ? text : text.slice(0, first));
  if (first < 0)
    throw badRequest(
      'INVALID_FILTER',
      `${parameter} ${shorten(text)} is malformed: it takes <field>,<operator>,<value>`,
    );
  const operator = parseOperator((second < 0 ? text.slice(first + 1) : text.slice(first + 1, second)).trim());
  const rest = second < 0 ? undefined : text.slice(second + 1);
  return { kind: 'compare', path, operator, values: textValues(operator, rest, text, separator) };
}

function parseOperator(name: string): FilterOperator {
  const operator = FILTER_OPERATORS.find((candidate) => candidate === name);
  if (operator !== undefined) return operator;
  const suggestion = closest(name, FILTER_OPERATORS);
  throw badRequest(
    'UNKNOWN_OPERATOR',
    `Unknown filter operator ${shorten(name)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${FILTER_OPERATORS.join(', ')}`,
  );
}

function textValues(
  operator: FilterOperator,
  rest: string | undefined,
  condition: string,
  separator: '' | ';',
): FilterValue[] {
  const { arity } = OPERATORS[operator];
  const isAbsent = rest === undefined || (arity === 'none' && rest === '');
  const texts = isAbsent
    ? []
    : takesList(arity)
      ? splitUnescaped(rest, ',', `,${separator}`, MAX_VALUES).map((text) => resolveEscapes(text, `,${separator}`))
      : [separator === '' ? rest : resolveEscapes(rest, separator)];
  checkCount(operator, texts.length, condition);
  return texts.map((text) => ({ kind: 'text', text }));
}

type Arity = OperatorForm['arity'];

const takesList = (arity: Arity): boolean => arity === 'two' || arity === 'many';

/** Returns the number of values that an operator takes, for a refusal, or undefined if `count` is right. */
const NEEDS: Readonly<Record<Arity, (count: number) => string | undefined>> = {
  none: (count) => (count === 0 ? undefined : 'no value'),
  one: (count) => (count === 1 ? undefined : 'one value'),
  two: (count) => (count === 2 ? undefined : 'two values, separated by a comma'),
  many: (count) => {
    if (count === 0) return 'one value or more, separated by commas';
    return count > MAX_VALUES ? `at most ${MAX_VALUES} values` : undefined;
  },
};

function checkCount(operator: FilterOperator, count: number, where: string): void {
  const needs = NEEDS[OPERATORS[operator].arity](count);
  if (needs !== undefined) throw wrongCount(operator, needs, where);
}

const wrongCount = (operator: FilterOperator, needs: string, where: string): Error =>
  badRequest('INVALID_FILTER', `Filter ${shorten(where)}: ${operator} takes ${needs}`);

/** Splits at the separator. A backslash makes it part of the text, and two are one; others stay as they are. */
export const splitEscaped = (text: string, separator: ',' | ';'): string[] =>
  splitUnescaped(text, separator, separator).map((part) => resolveEscapes(part, separator));

/**
 * Splits at the separator into parts with their escapes, as those of a list in a group of alternatives are resolved at
 * once. `escaped`: characters that a backslash can precede, next to another one. Stops after one part more than
 * `maxParts`.
 */
function splitUnescaped(
  text: string,
  separator: ',' | ';',
  escaped: string,
  maxParts = Number.POSITIVE_INFINITY,
): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length && parts.length <= maxParts; index++) {
    const character = text[index];
    if (character === separator) {
      parts.push(text.slice(start, index));
      start = index + 1;
    } else if (character === '\\' && isEscaped(text[index + 1], escaped)) index++;
  }
  if (parts.length <= maxParts) parts.push(text.slice(start));
  return parts;
}

const resolveEscapes = (text: string, escaped: string): string =>
  text.replace(/\\(.)/gs, (pair, character: string) => (isEscaped(character, escaped) ? character : pair));

const isEscaped = (character: string | undefined, escaped: string): boolean =>
  character === '\\' || (character !== undefined && escaped.includes(character));

/** Number of conditions and nodes in the filter trees of a request so far. */
export interface FilterCount {
  conditions: number;
  nodes: number;
}

/**
 * Parses the `filter` member of a body; `parameter`: name of another member with its syntax. Trees of one request are
 * counted together.
 */
export function parseFilterTree(
  value: unknown,
  parameter = 'filter',
  count: FilterCount = { conditions: 0, nodes: 0 },
): FilterTree {
  const parse = (node: unknown, depth: number): FilterTree => {
    if (++count.nodes > MAX_NODES) throw badRequest('LIMIT_EXCEEDED', `${parameter} has more than ${MAX_NODES} nodes`);
    if (depth > MAX_TREE_DEPTH)
      throw badRequest('LIMIT_EXCEEDED', `${parameter} is nested more than ${MAX_TREE_DEPTH} levels deep`);
    if (typeof node !== 'object' || node === null || Array.isArray(node)) throw malformedNode(parameter);
    const members = node as Record<string, unknown>;
    const keys = Object.keys(members);
    if (keys.length === 1 && (keys[0] === 'and' || keys[0] === 'or')) {
      const list = members[keys[0]];
      if (!Array.isArray(list)) throw badRequest('INVALID_FILTER', `${parameter}: ${keys[0]} takes an array`);
      return { kind: keys[0], members: list.map((member) => parse(member, depth + 1)) };
    }
    if (keys.length === 1 && keys[0] === 'not') return { kind: 'not', member: parse(members.not, depth + 1) };
    const unknown = keys.find((key) => key !== 'field' && key !== 'op' && key !== 'value');
    if (unknown !== undefined || typeof members.field !== 'string' || typeof members.op !== 'string')
      throw malformedNode(parameter);
    if (++count.conditions > MAX_CONDITIONS) throw tooManyConditions();
    const operator = parseOperator(members.op);
    const values = jsonValues(operator, members);
    return { kind: 'compare', path: splitPath(parameter, members.field), operator, values };
  };
  return parse(value, 1);
}

function jsonValues(operator: FilterOperator, node: Record<string, unknown>): FilterValue[] {
  const where = String(node.field);
  const { arity } = OPERATORS[operator];
  const value = Object.hasOwn(node, 'value') ? node.value : undefined;
  const isAbsent = value === undefined || (arity === 'none' && value === null);
  if (takesList(arity) && !Array.isArray(value)) throw wrongCount(operator, 'an array of values', where);
  const values: readonly unknown[] = isAbsent ? [] : takesList(arity) ? (value as readonly unknown[]) : [value];
  // Programs send an empty `in`, and the empty set contains nothing.
  if (!(arity === 'many' && values.length === 0)) checkCount(operator, values.length, where);
  if (values.includes(null))
    throw badRequest(
      'INVALID_FILTER',
      `Filter ${shorten(where)}: null is no value to compare with; use isNull or notNull`,
    );
  return values.map((value) => ({ kind: 'json', value }));
}

function malformedNode(parameter: string): Error {
  return badRequest(
    'INVALID_FILTER',
    `${parameter} is malformed: each node is {"and": []}, {"or": []}, {"not": {}} or {"field", "op", "value"}`,
  );
}

/** Parses `having` of a body: conditions as in the query string, or nodes of a filter tree; all of them ANDed. */
export function parseHaving(entries: unknown): FilterTree | undefined {
  if (!Array.isArray(entries)) {
    throw badRequest(
      'INVALID_FILTER',
      'having must be an array of conditions, such as "count,gte,5" or {"field", "op", "value"}',
    );
  }
  if (entries.length > MAX_NODES) throw badRequest('LIMIT_EXCEEDED', `having has more than ${MAX_NODES} nodes`);
  const texts = entries.filter((entry): entry is string => typeof entry === 'string');
  const nodes = entries.filter((entry) => typeof entry !== 'string');
  const plain = parseFilters(texts, [], 'having');
  const tree = nodes.length === 0 ? undefined : parseFilterTree({ and: nodes }, 'having');
  return plain !== undefined && tree !== undefined ? { kind: 'and', members: [plain, tree] } : (plain ?? tree);
}
