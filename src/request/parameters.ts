// The parameters of the data API: one entry each, with its form, its description and the operations that take it.
// Parsers of query strings and bodies (read-parameters.ts), the OpenAPI document, the tools of agents and, by `npm run
// generate`, the options of the client follow from it.
import { badRequest } from '../errors.ts';
import { parseDateTime } from '../model/date-time.ts';
import { MAX_SIZE, parseGroups, parseSelect } from './aggregate-terms.ts';
import { parseFormats } from './cell-formats.ts';
import { parseHeaderMap, parseKeyFields } from './field-names.ts';
import { type FilterTree, parseFilters, parseHaving } from './filter.ts';
import {
  ALTERNATIVES,
  choice,
  FILTER,
  FILTER_SCHEMA,
  type Form,
  flag,
  ID_SCHEMA,
  integer,
  listed,
  parseChoice,
  text,
  texts,
} from './forms.ts';
import { NARROWING, type Narrowing, parseNarrow } from './narrowing.ts';
import type { OperationName, WorkspaceOperationName } from './operations.ts';
import { type CountMode, MAX_PAGE, parseCursor } from './page.ts';
import { parseExpand, parseFields } from './paths.ts';
import { parseSort } from './sort.ts';
import { parseTimeZone } from './time-zone.ts';

export type AnyOperationName = OperationName | WorkspaceOperationName;

export interface Parameter<
  T,
  Q extends AnyOperationName = AnyOperationName,
  B extends AnyOperationName = AnyOperationName,
> {
  /** Name, if the entry has another: two operations may have two parameters of one name. */
  readonly name?: string;
  readonly form: Form<T>;
  /** Operations that take it in their query string. */
  readonly query?: readonly Q[];
  /** Operations that take it as a member of their body. */
  readonly body?: readonly B[];
  readonly required?: true;
  /** Entry of a parameter that it cannot be combined with, and the reason. */
  readonly excludes?: readonly [entry: string, reason: string];
  readonly description: string;
  /** Description for agents, who pay for each word; without it agents cannot use the parameter. */
  readonly agents?: string;
  /**
   * Type of the client's option, if it does not follow from the form: `S` is the schema, `E` the entity and `N` a name
   * of its fields. False if the client has a form of its own.
   */
  readonly client?: string | false;
  readonly example?: unknown;
}

const parameter = <T, const P extends Omit<Parameter<T>, 'form'>>(
  form: Form<T>,
  rest: P,
): P & { readonly form: Form<T> } => ({
  form,
  ...rest,
});

/** Kinds of events of a view. */
export const EVENT_TYPES = ['created', 'updated', 'removed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Events of one page of a feed. */
export const MAX_FEED_SIZE = 1000;

/** Events of one page of a history. */
const MAX_HISTORY_SIZE = 200;

function parseSince(text: string): string {
  const time = parseDateTime(text);
  if (time === undefined)
    throw badRequest(
      'INVALID_PARAMETER',
      'since must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z',
    );
  return time;
}

/** Mistakes of an import that can be listed. */
export const MAX_IMPORT_ERRORS = 100_000;

// Limits a preview, which should be short.
const MAX_PREVIEW = 10_000;

const HAVING: Form<FilterTree | undefined> = {
  style: 'repeated',
  fromText: (values) => parseFilters(values, [], 'having'),
  fromJson: parseHaving,
  schema: () => ({ type: 'array', items: { anyOf: [{ type: 'string' }, FILTER_SCHEMA] } }),
};

const NARROW: Form<Narrowing[]> = {
  style: 'single',
  fromText: () => [],
  fromJson: parseNarrow,
  schema: (limits) => ({
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(NARROWING).map(([name, form]) => [name, form.schema(limits)])),
      additionalProperties: false,
    },
  }),
};

const list = { query: ['list'], body: ['query'] } as const;
const aggregate = { query: ['aggregate'], body: ['summarize'] } as const;
const feed = { query: ['changes', 'workspaceChanges'] } as const;
const records = { query: ['list', 'aggregate', 'export'], body: ['query', 'summarize'] } as const;

export const PARAMETERS = {
  page: parameter(integer(0, MAX_PAGE), {
    query: ['list', 'aggregate'],
    body: ['query', 'summarize'],
    description: 'Number of the page, from 0.',
  }),
  size: parameter(NARROWING.size, {
    ...list,
    description: 'Records of a page; 20 if not given.',
    agents: 'Records of a page; 20 unless told',
  }),
  sort: parameter(NARROWING.sort, {
    query: ['list', 'export'],
    body: ['query'],
    description: '`<field>[,asc|desc]`, where `<field>` may be a path over to-one relations. Repeated: by several.',
    agents: 'Such as ["placedAt,desc"]',
    client: 'Sort<S, E> | readonly Sort<S, E>[]',
  }),
  filter: parameter(FILTER, {
    query: [...records.query, ...feed.query],
    body: records.body,
    description: 'Conditions that must all hold.',
    agents:
      'A condition {"field": "total", "op": "gte", "value": 20}, or {"and": […]}, {"or": […]}, {"not": {…}} of them.',
    client: 'Filter<S, E>',
  }),
  or: parameter(ALTERNATIVES, {
    query: ['list', 'aggregate', 'export', ...feed.query],
    description: 'A group of alternatives, `<filter>;<filter>`; repeated groups must all hold.',
    client: false,
  }),
  search: parameter(NARROWING.search, {
    ...records,
    description: 'Words as people type them: the best match first, unless there is a `sort`.',
    agents: 'Words, for entities with searchable fields',
  }),
  distinct: parameter(
    text((name) => name),
    {
      ...list,
      description: 'A field: one record for each of its values, the first by `sort`.',
      agents: 'A field: one record for each of its values',
      client: 'Name<S, E>',
    },
  ),
  expand: parameter(texts('listed', parseExpand), {
    query: ['list', 'read'],
    body: ['query'],
    description: 'Relations to show, or paths of them.',
    agents: 'Relations to include, such as ["customer", "items.product"]',
    client: false,
  }),
  fields: parameter(
    texts('listed', (names) => parseFields(names) ?? ('all' as const)),
    {
      query: ['list', 'read'],
      body: ['query'],
      description: 'What to show of each record, and nothing else.',
      agents: 'Fields to return, such as ["id", "total", "customer.name"]; fewer are read faster',
      client: false,
    },
  ),
  narrow: parameter(NARROW, {
    body: ['query'],
    description: 'What to show of expanded lists, by their paths.',
    agents: 'Of expanded lists: {"items": {"size": 5, "sort": ["price,desc"], "filter": {…}}}',
  }),
  count: parameter(choice<CountMode>('exact', 'estimated', 'none'), {
    ...list,
    description: 'Whether the records are counted: `exact` if not given.',
    agents: 'How the total is counted; exact unless told',
  }),
  after: parameter(text(parseCursor), {
    ...list,
    excludes: ['page', 'after continues from a cursor'],
    description: '`meta.nextCursor` of the page before, with the same sort. Not together with `page`.',
    agents: 'nextCursor of the page before',
  }),
  versions: parameter(flag, {
    query: ['list', 'bulkUpdate'],
    body: ['query'],
    description: '`meta.versions` has the version of each record.',
  }),
  preview: parameter(integer(1, MAX_PREVIEW), {
    ...list,
    description: 'Long values are cut to so many characters; `meta.previews` names them.',
  }),
  changes: parameter(flag, {
    query: ['list', 'export'],
    body: ['query'],
    description:
      '`meta.changes` is a cursor of `_changes`, of an export in the header `Changes-Cursor`: it continues where this answer ends.',
  }),

  feedAfter: parameter(
    text((cursor) => cursor),
    {
      ...feed,
      name: 'after',
      description:
        '`meta.cursor` of the page before; `now` if not given: nothing yet; `oldest`: from the oldest change that is kept.',
    },
  ),
  since: parameter(text(parseSince), {
    ...feed,
    excludes: ['after', 'both say where the page begins'],
    description: 'A datetime: from the first change at or after it.',
  }),
  feedSize: parameter(integer(1, MAX_FEED_SIZE), {
    ...feed,
    name: 'size',
    description: 'Events of a page; 100 if not given.',
  }),
  wait: parameter(integer(0, 60), {
    ...feed,
    description: 'Seconds for which an answer without events waits for the first one; 0 if not given.',
  }),
  types: parameter(
    listed((names) => names.split(',').map((name) => parseChoice(EVENT_TYPES, name.trim(), 'types')), {
      enum: EVENT_TYPES,
    }),
    { ...feed, description: 'Only these events, and those of schema and gaps.' },
  ),
  previous: parameter(flag, { ...feed, description: 'Events have the values before, too.' }),
  feedFields: parameter(
    texts('listed', (names) => parseFields(names) ?? ('all' as const)),
    {
      query: [...feed.query, 'history'],
      name: 'fields',
      description: 'Own fields to show of each record, and nothing else.',
      client: false,
    },
  ),
  historyAfter: parameter(
    text((event) => event),
    { query: ['history'], name: 'after', description: '`meta.nextCursor` of the page before: older events.' },
  ),
  historySize: parameter(integer(1, MAX_HISTORY_SIZE), {
    query: ['history'],
    name: 'size',
    description: 'Events of a page; 20 if not given.',
  }),
  feedEntities: parameter(
    listed((names) => names.split(',').map((name) => name.trim()), { type: 'string' }),
    { query: ['workspaceChanges'], name: 'entities', description: 'Only the events of these entities.' },
  ),

  select: parameter(texts('listed', parseSelect, { pattern: '^(count|(count|countDistinct|sum|avg|min|max):.+)$' }), {
    ...aggregate,
    required: true,
    description:
      'What is answered of each group: `count`, or `<function>:<field>` with `count`, `countDistinct`, `sum`, `avg`, `min` or `max`.',
    agents: 'Such as ["count", "sum:total"]; functions: count, countDistinct, sum, avg, min, max',
    example: ['count'],
    client: false,
  }),
  group: parameter(texts('listed', parseGroups), {
    ...aggregate,
    description: 'By which fields: `<field>`, or a part of a date such as `<field>:month`.',
    agents: 'Such as ["status", "customer.country", "placedAt:month"]; also year, quarter, week, day, hour',
    client: false,
  }),
  timeZone: parameter(text(parseTimeZone), {
    ...aggregate,
    name: 'tz',
    description: 'Time zone in which days and months begin, such as Europe/Berlin; UTC if not given.',
    agents: 'Time zone in which days and months begin, such as Europe/Berlin; UTC unless told',
  }),
  having: parameter(HAVING, {
    ...aggregate,
    description: 'A filter on what `select` names. Repeated: all must hold.',
    agents: 'Conditions on what select names, such as ["sum:total,gte,100"]',
    client: 'readonly string[]',
  }),
  groupSort: parameter(texts('repeated', parseSort), {
    ...aggregate,
    name: 'sort',
    description: '`<name>[,asc|desc]`, by what `select` or `group` names.',
    agents: 'By what select or group names, such as ["sum:total,desc"]',
    client: 'string | readonly string[]',
  }),
  groupSize: parameter(integer(1, MAX_SIZE), {
    ...aggregate,
    name: 'size',
    description: 'Groups of a page; 100 if not given.',
    agents: 'Groups of a page; 100 unless told',
  }),

  format: parameter(choice('csv', 'ndjson'), { query: ['export'], description: 'Of the file; `csv` if not given.' }),
  formulas: parameter(choice('keep', 'escape'), {
    query: ['export'],
    description: 'Of CSV. `escape`: spreadsheets run no text as a formula. `keep` if not given.',
  }),
  labels: parameter(flag, {
    query: ['export'],
    description:
      'After each reference a column with the name of its relation: the label of the related record, for people.',
  }),
  columns: parameter(texts('listed', parseFields), {
    name: 'fields',
    query: ['export'],
    description: 'Columns of the file, in this order; all if not given.',
    client: 'readonly Name<S, E>[]',
  }),

  map: parameter(text(parseHeaderMap), {
    query: ['import'],
    description:
      '`Header:field,Other:field`: the names of the file. `Header:relation.field` looks a reference up by a unique field of the related entity, `Header:` leaves a column out.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a type, not a text
    client: 'Readonly<Record<string, N | `${string}.${string}` | null>>',
  }),
  onConflict: parameter(choice('fail', 'skip', 'update'), {
    query: ['import'],
    description: 'What becomes of a record that is there already; `fail` if not given.',
  }),
  conflictOn: parameter(text(parseKeyFields), {
    query: ['import'],
    description: 'Fields of a unique field or index by which records are found, instead of the id.',
    client: 'N | readonly N[]',
  }),
  formats: parameter(text(parseFormats), {
    query: ['import'],
    description:
      'Of CSV: `date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein`, how the cells write dates, numbers and booleans.',
  }),
  events: parameter(choice('each', 'summary'), {
    query: ['import'],
    description:
      'Of an entity that keeps changes: `each`, an event for each row, or `summary`, one event `reset` that tells readers to read the records again, which is quicker. Not with history. `each` if not given.',
  }),
  rejects: parameter(flag, {
    query: ['import'],
    excludes: ['maxErrors', 'rejected rows are not listed, they are the answer'],
    description:
      'Rows with mistakes are left out and are the answer, in the format of the file with `_row` and `_reason`; the counts are in its headers.',
    client: false,
  }),
  maxErrors: parameter(integer(1, MAX_IMPORT_ERRORS), {
    query: ['import'],
    description: 'Mistakes that are listed before the rest of the file is left unread; 100 if not given.',
  }),

  ids: parameter(
    listed((ids) => ids, ID_SCHEMA),
    {
      query: ['bulkDelete'],
      required: true,
      description: 'Ids of the records.',
      client: false,
      example: [1],
    },
  ),
  return: parameter(choice('minimal', 'representation'), {
    query: ['bulkCreate', 'bulkUpdate', 'bulkDelete', 'bulkDeleteListed'],
    description: '`minimal`: the answer has the ids alone.',
  }),
  dryRun: parameter(flag, {
    query: [
      'bulkCreate',
      'bulkUpdate',
      'bulkDelete',
      'bulkDeleteListed',
      'updateWhere',
      'deleteWhere',
      'import',
      'batch',
    ],
    description: 'Everything is checked and run, and undone.',
  }),
  upsertKey: parameter(text(parseKeyFields), {
    name: 'onConflict',
    query: ['create', 'bulkCreate'],
    body: ['batch'],
    description:
      'Fields by which a record that is there is found: then it is changed, and none is created. Owners may also name `id`, and give it.',
    client: 'N | readonly N[]',
  }),
  conflict: parameter(choice('update', 'skip'), {
    query: ['create', 'bulkCreate'],
    body: ['batch'],
    description: 'With `onConflict`: what becomes of a record that is there; `update` if not given.',
  }),

  selection: parameter(choice('free', 'fixed'), {
    query: ['openapi'],
    description:
      '`fixed`: the document without `fields`, whose reads have every column: for generators of clients. `free` if not given.',
  }),
  entities: parameter(
    listed((names) => names.split(',').map((name) => name.trim()), { type: 'string' }),
    {
      query: ['openapi'],
      description: 'Only these entities, and the relations among them.',
    },
  ),
  principal: parameter(choice('external'), {
    query: ['openapi'],
    description: 'For owners: the document of a user of the identity provider, without a role if `role` names none.',
  }),
  role: parameter(
    texts('repeated', (names) => names),
    {
      query: ['openapi'],
      description: 'For owners: the document of a user with this role. Repeated: with several.',
    },
  ),
};

type Table = typeof PARAMETERS;

export type ParameterKey = keyof Table;

/** Entries without the types of their values. */
export const PARAMETER_ENTRIES = Object.entries(PARAMETERS) as unknown as readonly (readonly [
  ParameterKey,
  Parameter<unknown>,
])[];

export const getParameterName = (key: ParameterKey): string => (PARAMETERS[key] as Parameter<unknown>).name ?? key;

/** Returns the entries that an operation takes in its query string, or as members of its body. */
export function getParameters(operation: AnyOperationName, where: 'query' | 'body'): readonly ParameterKey[] {
  return PARAMETER_ENTRIES.filter(([, entry]) => entry[where]?.includes(operation)).map(([key]) => key);
}

/** Returns their names, for refusals. */
export const listParameterNames = (operation: AnyOperationName, where: 'query' | 'body'): string =>
  getParameters(operation, where).map(getParameterName).join(', ');

type NameOf<K extends ParameterKey> = Table[K] extends { readonly name: infer N extends string } ? N : K;

type Takes<K extends ParameterKey, P extends AnyOperationName, W extends 'query' | 'body'> = Table[K] extends {
  readonly [Where in W]: readonly (infer Q)[];
}
  ? P extends Q
    ? true
    : false
  : false;

/** Values of a request of an operation, by the names of its parameters. */
export type Values<P extends AnyOperationName, W extends 'query' | 'body'> = {
  readonly [K in ParameterKey as true extends Takes<K, P, W> ? NameOf<K> : never]?: Table[K] extends {
    readonly form: Form<infer T>;
  }
    ? T
    : never;
};
