// Parameters of the data API as parts of an OpenAPI document: those that are the same for every entity, and those that name
// its fields.
import { FILTER_OPERATORS } from '../request/operators.ts';
import { COUNT_MODES } from '../request/page.ts';
import { MAX_SEARCH } from '../request/search.ts';
import type { Part } from './refusals.ts';
import { exampleOf, ID_SCHEMA } from './schema.ts';
import type { EntityView } from './view.ts';

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const SEARCH = { type: 'string', maxLength: MAX_SEARCH } as const;

const inQuery = (name: string, description: string, schema: Part, rest: Part = {}): Part => ({
  name,
  in: 'query',
  description,
  schema,
  ...rest,
});

/** Repeated: one value each. */
const repeated = (name: string, description: string, items: Part, example?: readonly string[]): Part =>
  inQuery(
    name,
    description,
    { type: 'array', items },
    { explode: true, ...(example === undefined ? {} : { example }) },
  );

/** One parameter with its values separated by commas. */
const listed = (name: string, description: string, items: Part, rest: Part = {}): Part =>
  inQuery(name, description, { type: 'array', items }, { style: 'form', explode: false, ...rest });

const size = (maximum: number): Part => ({ type: 'integer', minimum: 1, maximum });

const inHeader = (name: string, description: string): Part => ({ name, in: 'header', description, schema: TEXT });

const CURSOR = '`meta.nextCursor` of the page before, with the same sort. Not together with `page`.';

/** Parameters of every entity, by the name that parameterRefs() takes. */
const SHARED = {
  Id: () => ({
    ...{ name: 'id', in: 'path', required: true, description: 'Id of the record.', schema: ID_SCHEMA },
    example: 1,
  }),
  Page: () => inQuery('page', 'Number of the page, from 0.', { type: 'integer', minimum: 0 }),
  Size: (maximum: number) => inQuery('size', 'Records of a page; 20 if not given.', size(maximum)),
  After: () => inQuery('after', CURSOR, TEXT),
  Count: () =>
    inQuery('count', 'Whether the records are counted: `exact` if not given.', { type: 'string', enum: COUNT_MODES }),
  Or: () => repeated('or', 'A group of alternatives, `<filter>;<filter>`; repeated groups must all hold.', TEXT),
  Search: () => inQuery('search', 'Words as people type them: the best match first, unless there is a `sort`.', SEARCH),
  Versions: () => inQuery('versions', '`meta.versions` has the version of each record.', FLAG),
  Preview: () =>
    inQuery('preview', 'Long values are cut to so many characters; `meta.previews` names them.', {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
    }),
  IfNoneMatch: () => inHeader('If-None-Match', 'An ETag: 304 while the record has it.'),
  IfMatch: () => inHeader('If-Match', 'An ETag: 412 unless the record is of its version.'),
  IdempotencyKey: () =>
    inHeader(
      'Idempotency-Key',
      'Made by the client for this request: sent again, it is done once, and answered the same, with `Idempotent-Replayed`.',
    ),
  DryRun: () => inQuery('dryRun', 'Everything is checked and run, and undone.', FLAG),
  Return: () =>
    inQuery('return', '`minimal`: the answer has the ids alone.', {
      type: 'string',
      enum: ['representation', 'minimal'],
    }),
  Conflict: () =>
    inQuery('conflict', 'With `onConflict`: what becomes of a record that is there; `update` if not given.', {
      type: 'string',
      enum: ['update', 'skip'],
    }),
  Ids: () => listed('ids', 'Ids of the records.', ID_SCHEMA, { required: true, example: [1] }),
  Format: () => inQuery('format', 'Of the file; `csv` if not given.', { type: 'string', enum: ['csv', 'ndjson'] }),
  Formulas: () =>
    inQuery('formulas', 'Of CSV. `escape`: spreadsheets run no text as a formula. `keep` if not given.', {
      type: 'string',
      enum: ['keep', 'escape'],
    }),
  Columns: () => listed('fields', 'Columns of the file, in this order; all if not given.', TEXT),
  Map: () => inQuery('map', '`Header:field,Other:field`: the names of the file. `Header:` leaves a column out.', TEXT),
  OnConflict: () =>
    inQuery('onConflict', 'What becomes of a record that is there already; `fail` if not given.', {
      type: 'string',
      enum: ['fail', 'skip', 'update'],
    }),
  ConflictOn: () =>
    inQuery('conflictOn', 'Fields of a unique field or index by which records are found, instead of the id.', TEXT),
  Select: () =>
    listed(
      'select',
      'What is answered of each group: `count`, or `<function>:<field>` with `count`, `countDistinct`, `sum`, `avg`, `min` or `max`.',
      { type: 'string', pattern: '^(count|(count|countDistinct|sum|avg|min|max):.+)$' },
      { required: true, example: ['count'] },
    ),
  Group: () => listed('group', 'By which fields: `<field>`, or a part of a date such as `<field>:month`.', TEXT),
  TimeZone: () =>
    inQuery('tz', 'Time zone in which days and months begin, such as Europe/Berlin; UTC if not given.', TEXT),
  Having: () => repeated('having', 'A filter on what `select` names. Repeated: all must hold.', TEXT),
  GroupSort: () => repeated('sort', '`<name>[,asc|desc]`, by what `select` or `group` names.', TEXT),
  GroupSize: () => inQuery('size', 'Groups of a page; 100 if not given.', size(1000)),
} as const satisfies Readonly<Record<string, (maxPageSize: number) => Part>>;

export type SharedParameter = keyof typeof SHARED;

export const sharedName = (name: SharedParameter): string => `wda.${name}`;

/** Of `components.parameters`: one that is the same for every entity. */
export function sharedParameter(name: SharedParameter, maxPageSize: number): Part {
  return SHARED[name](maxPageSize);
}

/** Names of the parameters of an entity that name its fields, by what they are for. */
export interface EntityParameters {
  /** For what shows records: `expand`, `fields`, and `<relation>.size` and so on of its lists. */
  readonly shape: readonly string[];
  readonly sort: string;
  readonly filter: string;
  /** `[]` for an entity without a unique field. */
  readonly upsert: readonly string[];
  /** Of `components.parameters`. */
  readonly parts: Readonly<Record<string, Part>>;
}

// A pattern of more names than this helps nobody.
const MAX_NAMES = 60;

/** `hasFields`: whether requests may choose the fields that they are shown. */
export function entityParameters(view: EntityView, maxPageSize: number, hasFields: boolean): EntityParameters {
  const { entity, relations, expandDepth, keys, operations } = view;
  const named = (what: string): string => `${entity.name}.${what}`;
  const columns = [...entity.fields.keys()];
  const relationNames = [...relations.keys()];
  // Filters and sorts follow every relation, whatever may be expanded.
  const path = pathPattern(columns, [...entity.relations.keys()]);
  const matching = (pattern: string | undefined): Part => (pattern === undefined ? TEXT : { ...TEXT, pattern });
  const parts = new Map<string, Part>();
  const shape: string[] = [];
  const shaping = (name: string, part: Part): void => {
    parts.set(name, part);
    shape.push(name);
  };
  if (relationNames.length > 0 && expandDepth > 0) {
    const pattern = among(relationNames, '(\\..+)?');
    const [first = ''] = relationNames;
    const depth = expandDepth === 1 ? 'one level' : `${expandDepth} levels`;
    shaping(
      named('expand'),
      listed('expand', `Related records to show, ${depth} deep: \`${first}\`.`, matching(pattern), {
        example: [first],
      }),
    );
  }
  if (hasFields) {
    const pattern = among(['\\*', ...columns, ...relationNames], '(\\..+)?');
    const example = { example: columns.slice(0, 2) };
    shaping(
      named('fields'),
      listed('fields', 'What to show of each record, and nothing else.', matching(pattern), example),
    );
  }
  if (expandDepth > 0) {
    for (const [name, { isList, isSearchable }] of relations) {
      if (!isList) continue;
      const of = `Of the expanded \`${name}\`; deeper lists have their whole path before the point.`;
      shaping(named(`${name}.size`), inQuery(`${name}.size`, `${of} At most so many.`, size(maxPageSize)));
      shaping(named(`${name}.sort`), repeated(`${name}.sort`, `${of} As \`sort\` of a list.`, TEXT));
      shaping(named(`${name}.filter`), repeated(`${name}.filter`, `${of} As \`filter\` of a list.`, TEXT));
      if (isSearchable)
        shaping(named(`${name}.search`), inQuery(`${name}.search`, `${of} As \`search\` of a list.`, SEARCH));
    }
  }
  const condition = path === undefined ? undefined : `^${path},(${FILTER_OPERATORS.join('|')})(,[\\s\\S]*)?$`;
  parts.set(
    named('filter'),
    repeated(
      'filter',
      `\`<field>,<operator>[,<value>]\`, where \`<field>\` may be a path such as \`relation.field\`. Operators: ${FILTER_OPERATORS.join(', ')}. Repeated: all must hold.`,
      matching(condition),
      [filterExample(view)],
    ),
  );
  const last = columns.at(-1) as string;
  parts.set(
    named('sort'),
    repeated(
      'sort',
      '`<field>[,asc|desc]`, where `<field>` may be a path over to-one relations. Repeated: by several.',
      matching(path === undefined ? undefined : `^${path}(,(asc|desc))?$`),
      [`${entity.fields.get(last)?.type === 'json' ? 'id' : last},desc`],
    ),
  );
  const upsert: string[] = [];
  if (keys.length > 0 && operations.includes('create')) {
    upsert.push(named('onConflict'));
    parts.set(
      named('onConflict'),
      inQuery(
        'onConflict',
        'Fields by which a record that is there is found: then it is changed, and none is created. Owners may also name `id`, and give it.',
        { type: 'string', enum: keys.map((key) => key.join()) },
      ),
    );
  }
  return {
    shape,
    sort: named('sort'),
    filter: named('filter'),
    upsert,
    parts: Object.fromEntries(parts),
  };
}

/** A pattern of one of the names with what may follow; undefined for too many names. */
const among = (names: readonly string[], rest: string): string | undefined =>
  names.length > MAX_NAMES ? undefined : `^(${names.join('|')})${rest}$`;

/** A column, or a relation with a path. */
function pathPattern(columns: readonly string[], relations: readonly string[]): string | undefined {
  if (columns.length + relations.length > MAX_NAMES) return undefined;
  return `(${[...columns, ...relations.map((name) => `${name}\\..+`)].join('|')})`;
}

/** `status,eq,open` where there is an enum, else the first field with a value of its own. */
function filterExample({ entity }: EntityView): string {
  const fields = [...entity.fields.values()];
  const field =
    fields.find(({ type }) => type === 'enum') ?? fields.find(({ role, type }) => role === 'data' && type !== 'json');
  return field === undefined ? 'id,gte,1' : `${field.name},eq,${exampleOf(field)}`;
}
