// Writes what the client and the console need of the server's tables: `npm run generate`. A test holds the files to it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILTER_OPERATORS, type FilterOperator, OPERATORS } from '../../src/model/operators.ts';
import { NARROWING_NAMES } from '../../src/request/narrowing.ts';
import {
  type AnyOperationName,
  getParameterName,
  getParameters,
  PARAMETERS,
  type Parameter,
  type ParameterKey,
} from '../../src/request/parameters.ts';

const ROOT = join(import.meta.dirname, '../..');
const HEAD = '// Generated from the tables in src/request by `npm run generate`.';

/** Files below the root of the repository by their paths. */
export const generatedFiles = (): Readonly<Record<string, string>> => ({
  'client/src/operators.generated.ts': clientOperators(),
  'client/src/parameters.generated.ts': clientParameters(),
  'console/src/records/request-tables.generated.ts': consoleTables(),
});

/** The types of a filter's conditions, and how many values each operator takes. */
function clientOperators(): string {
  return lines(
    HEAD,
    "export type Takes = 'none' | 'any' | 'one' | 'two' | 'many';",
    '',
    '/** Values of each operator; `any`: objects of JSON, too. */',
    'export const OPERATORS: Readonly<Record<string, Takes>> = {',
    ...FILTER_OPERATORS.map((name) => `  ${name}: '${takes(name)}',`),
    '};',
    '',
    'type Ordered<V> = [V] extends [boolean] ? never : V;',
    'type Text<V> = [V] extends [string] ? string : never;',
    '',
    '/** Conditions on a column of a type. */',
    'export interface Operators<V> {',
    ...FILTER_OPERATORS.flatMap((name) => member(name, operandType(name))),
    '}',
    '',
    '/** Conditions on a column of JSON. */',
    'export interface JsonOperators {',
    ...FILTER_OPERATORS.filter((name) => OPERATORS[name].needs === 'nothing').flatMap((name) =>
      member(name, { none: 'true', one: 'unknown', two: 'never', many: 'readonly unknown[]' }[OPERATORS[name].arity]),
    ),
    '}',
  );
}

function takes(name: FilterOperator): string {
  const { arity, needs } = OPERATORS[name];
  return arity === 'one' && needs === 'nothing' ? 'any' : arity;
}

function member(name: FilterOperator, type: string): string[] {
  const { comment } = OPERATORS[name];
  return [...(comment === undefined ? [] : [`  /** ${comment} */`]), `  readonly ${name}?: ${type};`];
}

function operandType(name: FilterOperator): string {
  const { arity, needs } = OPERATORS[name];
  const one = { nothing: 'V', order: 'Ordered<V>', text: 'Text<V>' }[needs];
  return { none: 'true', one, two: `readonly [${one}, ${one}]`, many: `readonly ${one}[]` }[arity];
}

const OF_SCHEMA = '<S extends Shape<S>, E extends keyof S>';

/** Options of the client's calls by the operations that they are parameters of. */
function clientParameters(): string {
  return lines(
    HEAD,
    "import type { Filter, Name, Shape, Sort } from './shape.ts';",
    ...options(`ListParameters${OF_SCHEMA}`, at('list')),
    // Their words are those of whole lists.
    ...options(`NarrowParameters${OF_SCHEMA}`, NARROWING_NAMES, false),
    ...options(`AggregateParameters${OF_SCHEMA}`, at('aggregate')),
    ...options(`ExportParameters${OF_SCHEMA}`, at('export')),
    ...options('UpsertParameters<N>', at('create')),
    ...options('BulkParameters', at('bulkDelete')),
    ...options('ImportParameters<N>', at('import')),
  );
}

const entryOf = (key: ParameterKey): Parameter<unknown> => PARAMETERS[key];
const at = (place: AnyOperationName): readonly ParameterKey[] =>
  getParameters(place, 'query').filter((key) => entryOf(key).client !== false);

function options(name: string, keys: readonly ParameterKey[], isDescribed = true): string[] {
  const members = keys.flatMap((key) => [
    ...(isDescribed ? [`  /** ${entryOf(key).description} */`] : []),
    `  readonly ${getParameterName(key)}?: ${optionType(key)};`,
  ]);
  return ['', `export interface ${name} {`, ...members, '}'];
}

/** Words that a parameter may be, as literals. */
function wordsOf(key: ParameterKey): readonly string[] {
  const { enum: words = [] } = entryOf(key).form.schema({ maxPageSize: 0 }) as { enum?: readonly string[] };
  return words.map((word) => `'${word}'`);
}

function optionType(key: ParameterKey): string {
  const { client, form } = entryOf(key);
  const { type } = form.schema({ maxPageSize: 0 }) as { type?: string };
  if (typeof client === 'string') return client;
  if (wordsOf(key).length > 0) return wordsOf(key).join(' | ');
  return { integer: 'number', boolean: 'boolean', string: 'string' }[type ?? ''] ?? 'unknown';
}

/** Names of the parameters of a list, and operators with their labels for the form of filters. */
function consoleTables(): string {
  return lines(
    HEAD,
    'export type ListParameter =',
    ...getParameters('list', 'query').map(
      (key, index, all) => `  | '${getParameterName(key)}'${index + 1 < all.length ? '' : ';'}`,
    ),
    '',
    `export const COUNT_MODES = [${wordsOf('count').join(', ')}] as const;`,
    '',
    'export interface OperatorForm {',
    '  readonly name: string;',
    '  readonly label: string;',
    "  readonly takes: 'none' | 'one' | 'two' | 'many';",
    "  readonly needs: 'nothing' | 'order' | 'text';",
    '}',
    '',
    'export const OPERATORS: readonly OperatorForm[] = [',
    ...FILTER_OPERATORS.map((name) => {
      const { label, arity, needs } = OPERATORS[name];
      return `  { name: '${name}', label: '${label}', takes: '${arity}', needs: '${needs}' },`;
    }),
    '];',
  );
}

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`;

if (import.meta.main)
  for (const [path, text] of Object.entries(generatedFiles())) writeFileSync(join(ROOT, path), text);
