// Schemas that are the same for every entity: envelopes of records, bodies of queries, the batch, the index.
import type { JsonSchema } from '../model/field-types.ts';
import { FILTER_OPERATORS, LIST_OPERATORS } from '../model/operators.ts';
import { ID_SCHEMA, type RequestLimits } from '../request/forms.ts';
import {
  type AnyOperationName,
  getParameterName,
  getParameters,
  PARAMETERS,
  type Parameter,
  type ParameterKey,
} from '../request/parameters.ts';
import { object } from './components.ts';
import { schemaRef } from './names.ts';
import { OUTLINE_SCHEMA } from './outline.ts';
import { LINKED_IDS, LINKS_SCHEMA, OPERATOR_SCHEMAS } from './schema.ts';

const TEXT = { type: 'string' } as const;
const TEXTS = { type: 'array', items: TEXT } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;
const FLAG = { type: 'boolean' } as const;
const ANY_OBJECT = { type: 'object' } as const;

type Properties = Readonly<Record<string, JsonSchema>>;

/** Returns the schema of a body; unknown members are refused. */
const body = (required: Properties, optional: Properties): JsonSchema => ({
  type: 'object',
  ...(Object.keys(required).length === 0 ? {} : { required: Object.keys(required) }),
  properties: { ...required, ...optional },
  additionalProperties: false,
});

const node = (name: string, schema: JsonSchema): JsonSchema => body({ [name]: schema }, {});

const FILTERS = { type: 'array', items: schemaRef('wda.Filter') };

const PAGE_NUMBERS = {
  page: { ...COUNT, type: ['integer', 'null'], description: 'null after a cursor, which knows no number.' },
  size: COUNT,
  totalElements: { ...COUNT, type: ['integer', 'null'], description: 'null with `count=none`.' },
  totalPages: { ...COUNT, type: ['integer', 'null'] },
};

export interface EnvelopeLimits {
  readonly maxPageSize: number;
  readonly maxBulk: number;
  readonly maxBatch: number;
}

/** Schemas of responses. */
const RESPONSES: Properties = {
  'wda.Meta': object(
    {
      ...PAGE_NUMBERS,
      nextCursor: { type: ['string', 'null'], description: 'For `after` of the next page; null on the last one.' },
    },
    {
      versions: { ...TEXTS, description: 'With `versions=true`: of each record, in its place.' },
      previews: {
        type: 'array',
        description: 'With `preview`: the values that were cut.',
        items: object({ index: COUNT, field: TEXT, length: COUNT }),
      },
      changes: { ...TEXT, description: 'With `changes=true`: for `after` of `_changes`, which continues there.' },
    },
  ),
  'wda.GroupMeta': object({ page: COUNT, size: COUNT, totalElements: COUNT, totalPages: COUNT }),
  'wda.WriteMeta': object(
    {},
    {
      dryRun: FLAG,
      inserted: COUNT,
      updated: COUNT,
      versions: { ...TEXTS, description: 'Of an update with `versions=true`: of each record, in its place.' },
    },
  ),
  'wda.FeedMeta': object({
    cursor: { type: 'string', description: 'The place after these events: `after` of the next request.' },
    more: { ...FLAG, description: 'Whether there is more to look at now.' },
    size: COUNT,
  }),
  'wda.HistoryMeta': object({
    size: COUNT,
    nextCursor: { type: ['string', 'null'], description: '`after` of the next request.' },
    completeSince: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'From this time on every change of the record is there.',
    },
  }),
  'wda.ControlEvent': object(
    {
      id: { type: 'string' },
      type: { enum: ['schema', 'reset', 'ended'] },
      entity: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
    },
    {
      reason: { enum: ['truncated', 'imported', 'interrupted', 'off', 'dropped'] },
      inserted: { ...COUNT, description: 'Of an import.' },
      updated: COUNT,
      skipped: COUNT,
      entityBefore: { type: 'string', description: 'Of a change of the schema: the former name of the entity.' },
      renamed: {
        type: 'object',
        description: 'Of a change of the schema: new names of fields by the former ones.',
        additionalProperties: { type: 'string' },
      },
      added: TEXTS,
      dropped: TEXTS,
      retyped: TEXTS,
    },
  ),
  'wda.Actor': object(
    { kind: { enum: ['operator', 'person', 'key', 'client', 'user'] }, id: { type: 'string' } },
    {
      name: { type: ['string', 'null'] },
      subject: { type: 'string', description: 'Of a person: at the OpenID provider.' },
      issuer: { type: 'string' },
      via: { enum: ['api', 'console', 'mcp'] },
      requestId: { type: 'string' },
    },
  ),
  'wda.Id': object({ id: ID_SCHEMA }),
  'wda.ImportResult': object({ inserted: COUNT, updated: COUNT, skipped: COUNT }, { rejected: COUNT }),
  'wda.BatchResult': object(
    {
      data: {
        type: 'array',
        description: 'The answers, in the order of the operations.',
        items: object(
          { status: { type: 'integer' } },
          { data: { description: 'As the operation alone is answered.' }, meta: ANY_OBJECT },
        ),
      },
    },
    { meta: object({ dryRun: FLAG }) },
  ),
  'wda.Job': object(
    {
      id: ID_SCHEMA,
      operation: { ...TEXT, enum: ['update', 'delete'] },
      entity: { type: ['string', 'null'], description: 'Its name; null when it was removed.' },
      state: { ...TEXT, enum: ['running', 'succeeded', 'failed', 'cancelled'] },
      matched: { ...COUNT, description: 'Records that matched when it was started.' },
      processed: { ...COUNT, description: 'Those whose turn is over.' },
      error: {
        oneOf: [
          { type: 'null' },
          object({ code: TEXT, message: TEXT, reason: TEXT }, { details: { type: 'array', items: ANY_OBJECT } }),
        ],
        description: 'What ended it, as `error` of a refusal.',
      },
      createdAt: { ...TEXT, format: 'date-time' },
      endedAt: { type: ['string', 'null'], format: 'date-time' },
    },
    {
      updated: { ...COUNT, description: 'Of an update: records that were changed.' },
      deleted: { ...COUNT, description: 'Of a deletion: records that were deleted.' },
    },
  ),
  'wda.Index': object({
    data: object({
      organization: TEXT,
      workspace: TEXT,
      entities: {
        type: 'array',
        items: object({ name: TEXT, description: { type: ['string', 'null'] }, operations: TEXTS }),
      },
      openapi: { ...TEXT, format: 'uri', description: 'Where this document is.' },
      mcp: { type: ['string', 'null'], format: 'uri', description: 'Where agents are served; null: not here.' },
    }),
  }),
  'wda.Schema': object({
    data: object({
      organization: TEXT,
      workspace: TEXT,
      name: { ...TEXT, description: 'For people.' },
      entities: { type: 'object', description: 'By their names.', additionalProperties: OUTLINE_SCHEMA },
    }),
  }),
};

const getEntry = (key: ParameterKey): Parameter<unknown> => PARAMETERS[key];

/** Returns the schema of a parameter as a member of a body. */
function memberSchema(key: ParameterKey, limits: RequestLimits): JsonSchema {
  const { form, description, required } = getEntry(key);
  const schema = form.schema(limits);
  if ('$ref' in schema) return schema;
  return { ...schema, ...(required === true ? { minItems: 1 } : {}), description };
}

/** Returns the schemas of bodies. `hasFields`: whether requests may choose the fields of the response. */
function bodies({ maxPageSize, maxBulk, maxBatch }: EnvelopeLimits, hasFields: boolean): Properties {
  const members = (operation: AnyOperationName): JsonSchema => {
    const keys = getParameters(operation, 'body').filter((key) => hasFields || key !== 'fields');
    const required = keys.filter((key) => getEntry(key).required === true);
    const buildSchemas = (some: readonly ParameterKey[]) =>
      Object.fromEntries(some.map((key) => [getParameterName(key), memberSchema(key, { maxPageSize })]));
    return body(buildSchemas(required), buildSchemas(keys.filter((key) => !required.includes(key))));
  };
  return {
    'wda.Filter': {
      description: 'A tree of conditions.',
      oneOf: [
        node('and', FILTERS),
        node('or', FILTERS),
        node('not', schemaRef('wda.Filter')),
        body(
          {
            field: { ...TEXT, description: 'A field, or a path over relations.' },
            op: { enum: FILTER_OPERATORS, ...TEXT },
          },
          {
            value: {
              description: `Of the type of the field; an array for ${LIST_OPERATORS.map((name) => `\`${name}\``).join(', ')}.`,
            },
          },
        ),
      ],
    },
    'wda.Query': members('query'),
    'wda.Aggregate': members('summarize'),
    'wda.Ids': body(
      { ids: { type: 'array', maxItems: maxBulk, items: ID_SCHEMA } },
      {
        versions: {
          type: 'object',
          description: 'The version that a record must have, by its id.',
          additionalProperties: TEXT,
        },
      },
    ),
    'wda.UpdateItem': {
      ...object(
        { id: ID_SCHEMA },
        {
          $version: {
            ...TEXT,
            description:
              'The version that the record must have: of `meta.versions`, or of its ETag the part before the point.',
          },
        },
      ),
      description: 'The id of a record, and the fields to change, as in an update.',
      additionalProperties: true,
    },
    [OPERATOR_SCHEMAS.$inc]: {
      ...node('$inc', { type: ['number', 'string'] }),
      description: 'Adds to the stored number; null counts as 0.',
    },
    [OPERATOR_SCHEMAS.$append]: {
      ...node('$append', TEXT),
      description: 'Appends to the stored text; null counts as an empty one.',
    },
    [OPERATOR_SCHEMAS.$now]: { ...node('$now', { const: true }), description: 'The time of the write.' },
    [LINKS_SCHEMA]: {
      ...body({}, { $add: LINKED_IDS, $remove: LINKED_IDS }),
      minProperties: 1,
      description: 'Ids of related records to link and to take away; the others stay as they are.',
    },
    'wda.Batch': body(
      {
        operations: {
          type: 'array',
          maxItems: maxBatch,
          items: body(
            { method: { ...TEXT, enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] }, entity: TEXT },
            {
              id: {
                description: 'Of the record, or a reference: an object with `$ref`, such as `order.id`.',
                type: ['integer', 'string', 'object'],
              },
              body: { ...ANY_OBJECT, description: 'As of the operation alone; references may stand for values.' },
              query: { ...TEXT, description: 'The query string.' },
              ...Object.fromEntries(
                getParameters('batch', 'body').map((key) => [
                  getParameterName(key),
                  memberSchema(key, { maxPageSize }),
                ]),
              ),
              ifMatch: TEXT,
              ref: { ...TEXT, description: 'A name by which later operations refer to the record of this one.' },
            },
          ),
        },
      },
      {},
    ),
  };
}

/** Returns the schemas for `components.schemas` that `used` names. */
export function envelopes(limits: EnvelopeLimits, hasFields: boolean, used: ReadonlySet<string>): Properties {
  return Object.fromEntries(
    Object.entries({ ...RESPONSES, ...bodies(limits, hasFields) }).filter(([name]) => used.has(name)),
  );
}
