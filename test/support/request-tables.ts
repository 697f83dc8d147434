// Writes what the client and the console need of the server's tables: `npm run generate`. A test holds the files to it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILTER_OPERATORS, type FilterOperator, OPERATORS } from '../../src/request/operators.ts';

const ROOT = join(import.meta.dirname, '../..');
const HEAD = '// Generated from the tables in src/request by `npm run generate`.';

/** Files below the root of the repository by their paths. */
export const generatedFiles = (): Readonly<Record<string, string>> => ({
  'client/src/operators.generated.ts': clientOperators(),
  'console/src/records/operators.generated.ts': consoleOperators(),
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

/** Operators with their labels, for the form of filters. */
function consoleOperators(): string {
  return lines(
    HEAD,
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
