// Terms of `select` and `group` of an aggregate as values: `sum:total`, `placedAt:month`. Syntax only.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { DATE_PARTS, type DatePart } from '../model/field-types.ts';
import { splitPath } from './paths.ts';

export type AggregateFunction = 'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max';

export interface FunctionForm {
  /** Whether it can be used without a field. */
  readonly alone: boolean;
  /** Requirement on the type of the field. */
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
  /** Name in the request and in the response: `count`, `sum:total`, `max:customer.name`. */
  readonly name: string;
  readonly function: AggregateFunction;
  /** Path of the field, or undefined for the records themselves. */
  readonly path: readonly string[] | undefined;
}

export interface GroupTerm {
  /** Name such as `status`, `customer.country` or `placedAt:month`. */
  readonly name: string;
  readonly path: readonly string[];
  /** Part of the date, or undefined to group by the value itself. */
  readonly part: DatePart | undefined;
}

export const MAX_FUNCTIONS = 20;
export const MAX_GROUPS = 5;
export const MAX_SIZE = 1000;

export const parseSelect = (texts: readonly string[]): SelectTerm[] =>
  parseTerms('select', texts, MAX_FUNCTIONS, parseSelectTerm);

export const parseGroups = (texts: readonly string[]): GroupTerm[] =>
  parseTerms('group', texts, MAX_GROUPS, parseGroupTerm);

/** Parses `a,b` (several values are joined) into terms; throws 400 for too many, and for two with one name. */
function parseTerms<T extends { readonly name: string }>(
  parameter: string,
  values: readonly string[],
  maximum: number,
  parse: (text: string) => T,
): T[] {
  const texts = values
    .slice(0, maximum + 1)
    .flatMap((value) => (value.trim() === '' ? [] : value.split(',', maximum + 1)));
  if (texts.length > maximum) throw badRequest('LIMIT_EXCEEDED', `${parameter} names more than ${maximum}`);
  const terms = texts.map((text) => parse(text.trim()));
  const names = new Set<string>();
  for (const { name } of terms) {
    if (names.has(name)) throw badRequest('INVALID_AGGREGATE', `${parameter} names ${shorten(name)} twice`);
    names.add(name);
  }
  return terms;
}

function parseSelectTerm(name: string): SelectTerm {
  const colon = name.indexOf(':');
  const word = colon < 0 ? name : name.slice(0, colon);
  const functionName = FUNCTION_NAMES.find((each) => each === word);
  if (functionName === undefined) {
    const suggestion = closest(word, FUNCTION_NAMES);
    throw badRequest(
      'INVALID_AGGREGATE',
      `Unknown function ${shorten(word)} in select.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${FUNCTION_NAMES.join(', ')}, each with a field, such as sum:<field>`,
    );
  }
  if (colon < 0 && !FUNCTIONS[functionName].alone)
    throw badRequest('INVALID_AGGREGATE', `select ${functionName} needs a field: ${functionName}:<field>`);
  return { name, function: functionName, path: colon < 0 ? undefined : splitPath('select', name.slice(colon + 1)) };
}

function parseGroupTerm(name: string): GroupTerm {
  const colon = name.indexOf(':');
  if (colon < 0) return { name, path: splitPath('group', name), part: undefined };
  const word = name.slice(colon + 1);
  const part = DATE_PARTS.find((each) => each === word);
  if (part === undefined) {
    const suggestion = closest(word, DATE_PARTS);
    throw badRequest(
      'INVALID_AGGREGATE',
      `Unknown part ${shorten(word)} in group ${shorten(name)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${DATE_PARTS.join(', ')}`,
    );
  }
  return { name, path: splitPath('group', name.slice(0, colon)), part };
}
