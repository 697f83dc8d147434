// Filters as text of the API, which the address bar holds, and as values for chips and the filter form. `filter` is one
// condition, `or` a group of alternatives; all parameters hold together (docs/reference/data-api.md, Filters).
import type { ColumnType } from './fields.ts';
import { OPERATORS, type OperatorForm } from './request-tables.generated.ts';

/** Condition such as `total,gte,10`. The value is the text after the second comma, or undefined without one. */
export interface Condition {
  readonly path: string;
  readonly operator: string;
  readonly value: string | undefined;
}

/** One parameter of the address, in the API's words. */
export interface Chip {
  readonly kind: 'filter' | 'or';
  readonly text: string;
}

/**
 * Parses a condition. Text that is not `path,operator` becomes a path without an operator, which the server rejects.
 */
export function parseCondition(text: string): Condition {
  const first = text.indexOf(',');
  if (first < 0) return { path: text, operator: '', value: undefined };
  const second = text.indexOf(',', first + 1);
  return {
    path: text.slice(0, first),
    operator: second < 0 ? text.slice(first + 1) : text.slice(first + 1, second),
    value: second < 0 ? undefined : text.slice(second + 1),
  };
}

export const conditionText = ({ path, operator, value }: Condition): string =>
  [path, ...(operator === '' && value === undefined ? [] : [operator]), ...(value === undefined ? [] : [value])].join(
    ',',
  );

/** Returns the conditions of a parameter: one of `filter`, several of `or`. */
export const parseConditions = ({ kind, text }: Chip): readonly Condition[] =>
  kind === 'filter' ? [parseCondition(text)] : splitUnescaped(text, ';').map(parseAlternative);

/** Parses a condition of `or`, where semicolons and backslashes of a value are escaped; those of a list already are. */
function parseAlternative(text: string): Condition {
  const condition = parseCondition(text);
  const isList = takesList(condition.operator);
  const value = condition.value?.replace(/\\(.)/gs, (pair, character) =>
    character === ';' || (character === '\\' && !isList) ? character : pair,
  );
  return { ...condition, value };
}

/** Formats a condition of `or`. A backslash of a list that escapes nothing gets its own. */
function alternativeText({ path, operator, value }: Condition): string {
  const escaped = takesList(operator)
    ? value?.replace(/\\[\\,]|[\\;]/g, (one) => (one.length === 2 ? one : `\\${one}`))
    : value?.replace(/[\\;]/g, '\\$&');
  return conditionText({ path, operator, value: escaped });
}

/** Returns the parameter for alternative conditions. */
export function toChip(conditions: readonly Condition[]): Chip {
  const [only, ...others] = conditions;
  return only !== undefined && others.length === 0
    ? { kind: 'filter', text: conditionText(only) }
    : { kind: 'or', text: conditions.map(alternativeText).join(';') };
}

/** Splits at the separator into parts with their escapes: `\\` is a backslash, and one before the separator escapes it. */
function splitUnescaped(text: string, separator: ',' | ';'): readonly string[] {
  const parts = [''];
  for (const [token] of text.matchAll(separator === ',' ? /\\[\\,]|./gs : /\\[\\;]|./gs)) {
    if (token === separator) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts;
}

/** Splits the values of `in`, `nin` and `between`. */
export const splitList = (text: string): readonly string[] =>
  splitUnescaped(text, ',').map((part) => part.replace(/\\([\\,])/g, '$1'));

/** Prints the values of `in`, `nin` and `between` for the API. */
export const listText = (values: readonly string[]): string =>
  values.map((one) => one.replace(/[\\,]/g, '\\$&')).join(',');

const BY_NAME: ReadonlyMap<string, OperatorForm> = new Map(OPERATORS.map((one) => [one.name, one]));

export const operatorNamed = (name: string): OperatorForm | undefined => BY_NAME.get(name);

/** Returns whether the value of the operator is a list. */
export const takesList = (operator: string): boolean => /two|many/.test(BY_NAME.get(operator)?.takes ?? '');

type Kind = 'value' | 'list' | 'null' | 'order' | 'text';

function getKind({ takes, needs }: OperatorForm): Kind {
  if (needs !== 'nothing') return needs;
  return takes === 'none' ? 'null' : takes === 'one' ? 'value' : 'list';
}

const listOperators = (kind: Kind): readonly OperatorForm[] => OPERATORS.filter((one) => getKind(one) === kind);

/** Returns the kinds of operators for a type, the likeliest first. */
function listKinds(type: ColumnType): readonly Kind[] {
  if (type === 'string' || type === 'text') return ['value', 'text', 'list', 'order', 'null'];
  if (type === 'enum') return ['value', 'list', 'text', 'order', 'null'];
  if (type === 'boolean' || type === 'json') return ['value', 'list', 'null'];
  return ['value', 'order', 'list', 'null'];
}

/** Returns the operators for a type, the likeliest first: for a text, the first one of texts. */
export function listOperatorsFor(type: ColumnType): readonly OperatorForm[] {
  const fitting = listKinds(type).flatMap(listOperators);
  const first = type === 'string' || type === 'text' ? listOperators('text').slice(0, 1) : [];
  return [...new Set([...first, ...fitting])];
}

/** Describes a condition: `total at least 10`. `show` formats a value, such as a time in the zone of the page. */
export function describeCondition(
  { path, operator: name, value }: Condition,
  show: (value: string) => string = (text) => text,
): string {
  const form = BY_NAME.get(name);
  const words = form?.label ?? name;
  if (value === undefined || form?.takes === 'none') return `${path} ${words}`.trim();
  const values = takesList(name) ? splitList(value) : [value];
  return `${path} ${words} ${values.map((one) => (one === '' ? '""' : show(one))).join(form?.takes === 'two' ? ' and ' : ', ')}`;
}

/**
 * Returns the chips that an error about a filter is about, by the names in its message: none if it names none of
 * several. Suggestions of valid names in the message do not count.
 */
export function findInvalidChips(message: string, chips: readonly Chip[]): readonly Chip[] {
  const messageWords = new Set(
    message
      .replace(/Did you mean .*$/s, '')
      .replace(/Known: .*$/s, '')
      .split(/[^\p{L}\p{N}_.]+/u)
      .flatMap((word) => [word, ...word.split('.')]),
  );
  const scores = chips.map((chip) =>
    message.includes(chip.text)
      ? Number.POSITIVE_INFINITY
      : Math.max(
          0,
          ...parseConditions(chip).map(
            ({ path, operator: name }) =>
              [...path.split('.'), name].filter((word) => word !== '' && messageWords.has(word)).length /
              (path.split('.').length + 1),
          ),
        ),
  );
  const most = Math.max(0, ...scores);
  if (most === 0 && chips.length > 1) return [];
  return chips.filter((_, index) => scores[index] === most);
}

/** Parses the server's suggestion: `Unknown field totl on … Did you mean total?` gives totl and total. */
export function parseSuggestion(message: string): { readonly wrong: string; readonly right: string } | undefined {
  const match = /^Unknown (?:field|relation|filter operator) (\S+?)[. ].*?Did you mean (\S+?)\?/s.exec(message);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { wrong: match[1], right: match[2] };
}

/** Replaces a wrong name in the path, or a wrong operator, of a chip. */
export function correctChip(chip: Chip, { wrong, right }: { readonly wrong: string; readonly right: string }): Chip {
  const mend = (name: string): string => (name === wrong ? right : name);
  const conditions = parseConditions(chip).map(({ path, operator: name, value }) => ({
    path: path.split('.').map(mend).join('.'),
    operator: mend(name),
    value,
  }));
  return chip.kind === 'or'
    ? { kind: 'or', text: conditions.map((one) => conditionText(one).replaceAll(';', '\\;')).join(';') }
    : { kind: 'filter', text: conditionText(conditions[0] as Condition) };
}
