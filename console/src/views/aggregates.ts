// Aggregates of a view: `select` and `group` as texts of the API, checked against the schema, and their words.
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import type { ColumnType, RecordColumn } from '../records/fields.ts';
import { findColumn, listFilterPaths } from '../records/filter-paths.ts';

export const FUNCTIONS = ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'] as const;
export type AggregateFunction = (typeof FUNCTIONS)[number];

export const FUNCTION_WORDS: Readonly<Record<AggregateFunction, string>> = {
  count: 'number of values',
  countDistinct: 'different values',
  sum: 'sum',
  avg: 'average',
  min: 'smallest',
  max: 'largest',
};

/** Parts of dates and datetimes by which records are grouped. */
export const PARTS = ['day', 'week', 'month', 'quarter', 'year'] as const;

/** One entry of `select`: a function of a column, or the number of records. */
export interface Aggregate {
  /** Text of the API, and name of the value in the response. */
  readonly text: string;
  readonly fn: AggregateFunction;
  /** Undefined for the number of records. */
  readonly column: RecordColumn | undefined;
  readonly path: string;
}

/** One entry of `group`: a column, or a part of a date. */
export interface Grouping {
  readonly text: string;
  readonly path: string;
  readonly column: RecordColumn;
  readonly part: string | undefined;
}

const NUMERIC: readonly ColumnType[] = ['integer', 'bigint', 'decimal', 'float'];

export const isDateType = (type: ColumnType): boolean => type === 'date' || type === 'datetime';

/** Lists the functions that apply to a column. */
export function listFunctions(type: ColumnType): readonly AggregateFunction[] {
  if (NUMERIC.includes(type)) return ['sum', 'avg', 'min', 'max', 'count', 'countDistinct'];
  return type === 'boolean' || type === 'json' ? ['count', 'countDistinct'] : ['min', 'max', 'count', 'countDistinct'];
}

/** Parses an entry of `select`; undefined if the schema has no such column, or the function does not apply to it. */
export function parseAggregate(schema: WorkspaceSchema, entity: EntityDocument, text: string): Aggregate | undefined {
  if (text === 'count') return { text, fn: 'count', column: undefined, path: '' };
  const [, name, path = ''] = /^(\w+):(.+)$/.exec(text) ?? [];
  const fn = FUNCTIONS.find((one) => one === name);
  const column = findColumn(schema, entity, path);
  return fn !== undefined && column !== undefined && listFunctions(column.type).includes(fn)
    ? { text, fn, column, path }
    : undefined;
}

/** Parses an entry of `group`; undefined if the schema has no such column, or it cannot be grouped so. */
export function parseGrouping(schema: WorkspaceSchema, entity: EntityDocument, text: string): Grouping | undefined {
  const [path = '', part] = text.split(':');
  const column = findColumn(schema, entity, path);
  if (column === undefined || column.type === 'json') return undefined;
  if (part !== undefined && !(isDateType(column.type) && PARTS.some((one) => one === part))) return undefined;
  return { text, path, column, part };
}

export const describeAggregate = ({ fn, path, column }: Aggregate): string =>
  column === undefined ? 'number of records' : `${FUNCTION_WORDS[fn]} of ${path}`;

export const describeGrouping = ({ path, part }: Grouping): string =>
  part === undefined ? path : `${path} by ${part}`;

/** Returns the type of an aggregate's value, for its display. */
export const getValueType = ({ fn, column }: Aggregate): ColumnType =>
  column === undefined || fn === 'count' || fn === 'countDistinct'
    ? 'integer'
    : fn === 'min' || fn === 'max'
      ? column.type
      : 'decimal';

/** Columns that can be summed up or grouped by, of the entity and of to-one relations, with their paths. */
export const listAggregateColumns = (
  schema: WorkspaceSchema,
  entity: EntityDocument,
): readonly { readonly path: string; readonly column: RecordColumn }[] =>
  listFilterPaths(schema, entity)
    .filter(({ name }, index) => index === 0 || (entity.relations.get(name)?.kind ?? 'belongsTo') === 'belongsTo')
    .flatMap(({ paths }) => paths)
    .filter(({ column }) => column.type !== 'json');

/** Lists the enum fields of an entity, by which a board goes. */
export const listEnumFields = (entity: EntityDocument): readonly string[] =>
  [...entity.fields.values()].filter(({ type }) => type === 'enum').map(({ name }) => name);

const DECIMALS = 2;

/** Shortens digits to two decimal places, rounded half away from zero; exact digits stay in the title. */
export function shortenDigits(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.(\d+)$/.exec(text) ?? [];
  if (whole === '' || fraction.length <= DECIMALS) return text;
  const digits = BigInt(whole + fraction.slice(0, DECIMALS)) + (Number(fraction[DECIMALS]) >= 5 ? 1n : 0n);
  const padded = String(digits).padStart(DECIMALS + 1, '0');
  return `${sign}${padded.slice(0, -DECIMALS)}.${padded.slice(-DECIMALS)}`;
}
