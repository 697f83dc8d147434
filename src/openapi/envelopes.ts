// Schemas that are the same for every entity: what stands beside records, the bodies of questions, the batch, the index.
import type { JsonSchema } from '../model/field-types.ts';
import { FILTER_OPERATORS, LIST_OPERATORS } from '../request/operators.ts';
import { COUNT_MODES } from '../request/page.ts';
import { MAX_SEARCH } from '../request/search.ts';
import { OUTLINE_SCHEMA } from './outline.ts';
import { ID_SCHEMA, schemaRef } from './schema.ts';

const TEXT = { type: 'string' } as const;
const TEXTS = { type: 'array', items: TEXT } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;
const FLAG = { type: 'boolean' } as const;
const ANY_OBJECT = { type: 'object' } as const;

type Properties = Readonly<Record<string, JsonSchema>>;

const answer = (required: Properties, optional: Properties = {}): JsonSchema => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
});

/** What it does not name is refused. */
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

/** Of answers. */
const ANSWERS: Properties = {
  'wda.Meta': answer(
    {
      ...PAGE_NUMBERS,
      nextCursor: { type: ['string', 'null'], description: 'For `after` of the next page; null on the last one.' },
    },
    {
      versions: { ...TEXTS, description: 'With `versions=true`: of each record, in its place.' },
      previews: {
        type: 'array',
        description: 'With `preview`: the values that were cut.',
        items: answer({ index: COUNT, field: TEXT, length: COUNT }),
      },
    },
  ),
  'wda.GroupMeta': answer({ page: COUNT, size: COUNT, totalElements: COUNT, totalPages: COUNT }),
  'wda.WriteMeta': answer(
    {},
    {
      dryRun: FLAG,
      inserted: COUNT,
      updated: COUNT,
      versions: { ...TEXTS, description: 'Of an update with `versions=true`: of each record, in its place.' },
    },
  ),
  'wda.Id': answer({ id: ID_SCHEMA }),
  'wda.ImportResult': answer({ inserted: COUNT, updated: COUNT, skipped: COUNT }),
  'wda.BatchResult': answer(
    {
      data: {
        type: 'array',
        description: 'The answers, in the order of the operations.',
        items: answer(
          { status: { type: 'integer' } },
          { data: { description: 'As the operation alone is answered.' }, meta: ANY_OBJECT },
        ),
      },
    },
    { meta: answer({ dryRun: FLAG }) },
  ),
  'wda.Index': answer({
    data: answer({
      organization: TEXT,
      workspace: TEXT,
      entities: {
        type: 'array',
        items: answer({ name: TEXT, description: { type: ['string', 'null'] }, operations: TEXTS }),
      },
      openapi: { ...TEXT, format: 'uri', description: 'Where this document is.' },
      mcp: { type: ['string', 'null'], format: 'uri', description: 'Where agents are served; null: not here.' },
    }),
  }),
  'wda.Schema': answer({
    data: answer({
      organization: TEXT,
      workspace: TEXT,
      name: { ...TEXT, description: 'For people.' },
      entities: { type: 'object', description: 'By their names.', additionalProperties: OUTLINE_SCHEMA },
    }),
  }),
};

/** Of bodies. `hasFields`: whether requests may choose the fields that they are shown. */
function bodies({ maxPageSize, maxBulk, maxBatch }: EnvelopeLimits, hasFields: boolean): Properties {
  const size = { type: 'integer', minimum: 1, maximum: maxPageSize };
  const search = { ...TEXT, maxLength: MAX_SEARCH };
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
    'wda.Query': body(
      {},
      {
        page: COUNT,
        size: { ...size, description: '20 if not given.' },
        sort: { ...TEXTS, description: '`<field>[,asc|desc]` each.' },
        expand: { ...TEXTS, description: 'Relations to show, or paths of them.' },
        ...(hasFields ? { fields: { ...TEXTS, description: 'What to show of each record, and nothing else.' } } : {}),
        count: { ...TEXT, enum: COUNT_MODES },
        after: { ...TEXT, description: '`meta.nextCursor` of the page before.' },
        filter: schemaRef('wda.Filter'),
        narrow: {
          type: 'object',
          description: 'What to show of expanded lists, by their paths.',
          additionalProperties: body({}, { size, sort: TEXTS, filter: schemaRef('wda.Filter'), search }),
        },
        search,
        versions: FLAG,
        preview: { type: 'integer', minimum: 1, maximum: 10_000 },
      },
    ),
    'wda.Aggregate': body(
      { select: { ...TEXTS, minItems: 1, description: '`count`, or `<function>:<field>`.' } },
      {
        group: { ...TEXTS, description: '`<field>`, or a part of a date such as `<field>:month`.' },
        tz: { ...TEXT, description: 'Such as Europe/Berlin; UTC if not given.' },
        filter: schemaRef('wda.Filter'),
        search,
        having: { type: 'array', items: { anyOf: [TEXT, schemaRef('wda.Filter')] } },
        sort: TEXTS,
        page: COUNT,
        size: { type: 'integer', minimum: 1, maximum: 1000, description: '100 if not given.' },
      },
    ),
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
      ...answer(
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
              onConflict: TEXT,
              conflict: { ...TEXT, enum: ['update', 'skip'] },
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

/** Of `components.schemas`, those among them that `used` says. */
export function envelopes(limits: EnvelopeLimits, hasFields: boolean, used: ReadonlySet<string>): Properties {
  return Object.fromEntries(
    Object.entries({ ...ANSWERS, ...bodies(limits, hasFields) }).filter(([name]) => used.has(name)),
  );
}
