// Parameters of the data API as parts of an OpenAPI document, by the table in request/parameters.ts: shared ones, and
// those that name fields of an entity.

import { keepsChanges } from '../model/entity.ts';
import { FILTER_OPERATORS } from '../model/operators.ts';
import { ID_SCHEMA } from '../request/forms.ts';
import { NARROWING_NAMES } from '../request/narrowing.ts';
import {
  type AnyOperationName,
  getParameterName,
  getParameters,
  PARAMETERS,
  type Parameter,
  type ParameterKey,
} from '../request/parameters.ts';
import type { Part } from './error-responses.ts';
import { makeExample } from './schema.ts';
import type { EntityView } from './view.ts';

const TEXT = { type: 'string' } as const;

const HEADERS = {
  IfNoneMatch: ['If-None-Match', 'An ETag: 304 while the record has it.'],
  IfMatch: ['If-Match', 'An ETag: 412 unless the record is of its version.'],
  IdempotencyKey: [
    'Idempotency-Key',
    'Made by the client for this request: sent again, it is done once, and answered the same, with `Idempotent-Replayed`.',
  ],
  LastEventId: ['Last-Event-ID', 'Of a stream: the cursor where it goes on, in place of `after`.'],
  WebhookId: ['webhook-id', 'Of the message: the same whenever it is sent.'],
  WebhookTimestamp: ['webhook-timestamp', 'Seconds since 1970 of this attempt.'],
  WebhookSignature: ['webhook-signature', 'Signatures by Standard Webhooks, with a space between two of them.'],
} as const satisfies Readonly<Record<string, readonly [name: string, description: string]>>;

export type Header = keyof typeof HEADERS;

/** Parameters that are the same for every entity: an entry of the table, a header, or the id in the path. */
export type SharedParameter = ParameterKey | Header | 'Id' | 'Event';

export const sharedName = (name: SharedParameter): string => `wda.${name[0]?.toUpperCase()}${name.slice(1)}`;

/** Returns a part of `components.parameters` that is the same for every entity. */
export function sharedParameter(name: SharedParameter, maxPageSize: number): Part {
  if (name === 'Id')
    return { name: 'id', in: 'path', required: true, description: 'Id of the record.', schema: ID_SCHEMA, example: 1 };
  if (name === 'Event')
    return { name: 'event', in: 'path', required: true, description: 'Id of an event of its history.', schema: TEXT };
  if (!isHeader(name)) return inQuery(name, maxPageSize);
  const [header, description] = HEADERS[name];
  return { name: header, in: 'header', description, schema: TEXT };
}

const isHeader = (name: string): name is Header => Object.hasOwn(HEADERS, name);

/** Part of a parameter that is specific to an entity. */
interface OwnPart {
  readonly name?: string;
  /** Entry of the table that it is like, if it is another one. */
  readonly as?: ParameterKey;
  readonly description?: string;
  /** Schema of one value. */
  readonly schema?: Part;
  readonly example?: unknown;
}

/** Builds a parameter of a query string; `own`: replaces the words and the schema of the table. */
function inQuery(key: ParameterKey, maxPageSize: number, own: OwnPart = {}): Part {
  const entry: Parameter<unknown> = PARAMETERS[key];
  const { style, schema } = entry.form;
  const { items, ...singleSchema } = schema({ maxPageSize }) as Part;
  // Repeated values are texts in a query string, whatever they are in a body.
  const value = own.schema ?? { single: singleSchema, repeated: TEXT, listed: items }[style];
  const example = own.example ?? entry.example;
  return {
    name: own.name ?? getParameterName(key),
    in: 'query',
    ...(entry.required === true ? { required: true } : {}),
    description: own.description ?? entry.description,
    schema: style === 'single' ? value : { type: 'array', items: value },
    ...{ single: {}, repeated: { explode: true }, listed: { style: 'form', explode: false } }[style],
    ...(example === undefined ? {} : { example }),
  };
}

/** Parameters of an entity: its own, and whether it takes each of the others. */
export interface EntityParameters {
  /** Names of components, for each of the entity's own parameters. */
  readonly own: ReadonlyMap<ParameterKey, readonly string[]>;
  readonly takes: (key: ParameterKey) => boolean;
  /** Parts of `components.parameters`. */
  readonly parts: Readonly<Record<string, Part>>;
}

/** Builds the parameters. `shared`: registers those that are the same for every entity, and returns references. */
export function buildParameters(
  operation: AnyOperationName,
  { own, takes }: EntityParameters,
  shared: (...names: readonly SharedParameter[]) => readonly Part[],
): readonly Part[] {
  const keys = getParameters(operation, 'query').filter(takes);
  // This order keeps members with the entity's name together: in another the document is longer when zipped.
  return [
    ...shared(...keys.filter((key) => !own.has(key))),
    ...keys.flatMap((key) => own.get(key) ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

// A pattern of more names than this is of no use.
const MAX_NAMES = 60;

/** Builds the entity's parameters. `hasFields`: whether requests may choose the fields of the response. */
export function entityParameters(view: EntityView, maxPageSize: number, hasFields: boolean): EntityParameters {
  const { entity, keys, operations } = view;
  const mayUpsert = keys.length > 0 && operations.includes('create');
  const excludedKeys = new Set<ParameterKey>([
    ...(entity.search === null ? ['search' as const] : []),
    ...(keepsChanges(entity.settings) ? [] : ['changes' as const]),
    ...(hasFields ? [] : (['fields', 'return'] as const)),
    ...(mayUpsert ? [] : (['upsertKey', 'conflict'] as const)),
  ]);
  const used = new Set(operations.flatMap((operation) => getParameters(operation, 'query')));
  const own = new Map<ParameterKey, string[]>();
  const parts: Record<string, Part> = {};
  for (const [key, makeParts] of Object.entries(OWN) as [ParameterKey, (view: EntityView) => readonly OwnPart[]][]) {
    if (excludedKeys.has(key) || !used.has(key)) continue;
    const names = makeParts(view).map((part) => {
      const name = `${entity.name}.${part.name ?? getParameterName(key)}`;
      parts[name] = inQuery(part.as ?? key, maxPageSize, part);
      return name;
    });
    own.set(key, names);
  }
  return { own, parts, takes: (key) => !excludedKeys.has(key) };
}

/** Parameters that name the fields of an entity. */
const OWN: Readonly<Partial<Record<ParameterKey, (view: EntityView) => readonly OwnPart[]>>> = {
  expand: (view) => [...expandPart(view), ...narrowParts(view)],
  fields({ entity, relations }) {
    const columns = [...entity.fields.keys()];
    const pattern = among(['\\*', ...columns, ...relations.keys()], '(\\..+)?');
    return [{ schema: matching(pattern), example: columns.slice(0, 2) }];
  },
  filter(view) {
    const path = pathPattern(view);
    return [
      {
        description: `\`<field>,<operator>[,<value>]\`, where \`<field>\` may be a path such as \`relation.field\`. Operators: ${FILTER_OPERATORS.join(', ')}. Repeated: all must hold.`,
        schema: matching(path && `^${path},(${FILTER_OPERATORS.join('|')})(,[\\s\\S]*)?$`),
        example: [filterExample(view)],
      },
    ];
  },
  sort(view) {
    const path = pathPattern(view);
    const last = [...view.entity.fields.values()].at(-1);
    return [
      {
        schema: matching(path && `^${path}(,(asc|desc))?$`),
        example: [`${last === undefined || last.type === 'json' ? 'id' : last.name},desc`],
      },
    ];
  },
  upsertKey: ({ keys }) => [{ schema: { ...TEXT, enum: keys.map((key) => key.join()) } }],
};

function expandPart({ relations, expandDepth }: EntityView): readonly OwnPart[] {
  const [first] = relations.keys();
  if (first === undefined || expandDepth === 0) return [];
  const depth = expandDepth === 1 ? 'one level' : `${expandDepth} levels`;
  return [
    {
      description: `Related records to show, ${depth} deep: \`${first}\`.`,
      schema: matching(among([...relations.keys()], '(\\..+)?')),
      example: [first],
    },
  ];
}

/** Builds `<relation>.size` and so on, for the lists that may be expanded. */
function narrowParts({ relations, expandDepth }: EntityView): readonly OwnPart[] {
  if (expandDepth === 0) return [];
  return [...relations].flatMap(([relation, { isList, isSearchable }]) =>
    NARROWING_NAMES.filter((name) => isList && (name !== 'search' || isSearchable)).map((name) => ({
      name: `${relation}.${name}`,
      as: name,
      description: `Of the expanded \`${relation}\`; deeper lists have their whole path before the point. ${name === 'size' ? 'At most so many.' : `As \`${name}\` of a list.`}`,
    })),
  );
}

const matching = (pattern: string | undefined): Part => (pattern === undefined ? TEXT : { ...TEXT, pattern });

/** Builds a pattern of one of the names and its continuation, or returns undefined for too many names. */
const among = (names: readonly string[], rest: string): string | undefined =>
  names.length > MAX_NAMES ? undefined : `^(${names.join('|')})${rest}$`;

/** Builds a pattern of a column, or a relation with a path: filters and sorts follow every relation. */
function pathPattern({ entity }: EntityView): string | undefined {
  const columns = [...entity.fields.keys()];
  const relations = [...entity.relations.keys()];
  if (columns.length + relations.length > MAX_NAMES) return undefined;
  return `(${[...columns, ...relations.map((name) => `${name}\\..+`)].join('|')})`;
}

/** Returns `status,eq,open` for an entity with an enum, else an example with the first field that has a value. */
function filterExample({ entity }: EntityView): string {
  const fields = [...entity.fields.values()];
  const field =
    fields.find(({ type }) => type === 'enum') ?? fields.find(({ role, type }) => role === 'data' && type !== 'json');
  return field === undefined ? 'id,gte,1' : `${field.name},eq,${makeExample(field)}`;
}
