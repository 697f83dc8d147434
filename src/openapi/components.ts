// Components of an OpenAPI document that operations of entities refer to: responses and bodies of requests, those of every
// entity and those of one.

import { MAX_MATCHES } from '../request/matching.ts';
import type { OperationName } from '../request/operations.ts';
import type { Part } from './error-responses.ts';
import { schemaNames, schemaRef } from './names.ts';
import { bodyExamples, makeRecordExample } from './schema.ts';
import type { EntityView } from './view.ts';

export type Parts = Readonly<Record<string, Part>>;

/** Components of a kind, by their names. */
export type Components = Readonly<Record<'responses' | 'requestBodies', Parts>>;

/** Choices of a document that its components depend on. */
export interface ComponentOptions {
  /** `fixed`: omits parameters that would change the form of records. */
  readonly selection: 'free' | 'fixed';
  readonly maxBulk: number;
}

/** Returns the content of a response or of a request body as JSON. */
export const json = (schema: Part, rest: Part = {}): Part => ({ content: { 'application/json': { schema, ...rest } } });

/** Returns the schema of an object, by its members. */
export const object = (properties: Parts, optional: Parts = {}): Part => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});

/** Returns the schema of an array. */
export const list = (items: Part, rest: Part = {}): Part => ({ type: 'array', items, ...rest });

const refTo = (kind: string, name: string): Part => ({ $ref: `#/components/${kind}/${name}` });
export const responseRef = (name: string): Part => refTo('responses', name);
export const bodyRef = (name: string): Part => refTo('requestBodies', name);

const file = (...types: readonly string[]): Part => ({
  content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
});
const FILE = file('text/csv', 'application/x-ndjson');

/** Headers of a response with one record. */
export const TAGGED: Part = {
  ETag: {
    description: 'Of the record as it is shown: for If-Match and If-None-Match.',
    schema: { type: 'string' },
  },
};
/** Headers of a response to one write; only that to a create has both. */
const WRITE_HEADERS: Part = {
  ...TAGGED,
  Location: { description: 'Of a record that was made: its path.', schema: { type: 'string' } },
};
const DRY_RUN = object({ dryRun: { type: 'boolean' } });
const count = (description: string): Part => ({ description, schema: { type: 'integer', minimum: 0 } });
const IMPORT_HEADERS: Part = {
  'Import-Inserted': count('With `rejects=true`: records that were created.'),
  'Import-Updated': count('With `rejects=true`: records that were changed.'),
  'Import-Skipped': count('With `rejects=true`: rows that were passed over.'),
  'Import-Rejected': count('With `rejects=true`: rows that are the body.'),
  'Import-Dry-Run': { description: 'With `rejects=true`: of a dry run.', schema: { type: 'boolean' } },
};
const IMPORT_META = object(
  {},
  {
    dryRun: { type: 'boolean' },
    notes: { ...list({ type: 'string' }), description: 'Headers that were read as fields of similar names.' },
  },
);

const many = (schema: string, maxItems: number, item: Part): Part => ({
  required: true,
  ...json(
    { ...object({ data: list(schemaRef(schema), { maxItems }) }), additionalProperties: false },
    { examples: { one: { value: { data: [item] } } } },
  ),
});

/** Operations that refer to each shared component of a kind. */
const SHARED_USERS: Readonly<
  Record<'responses' | 'requestBodies', Readonly<Record<string, readonly OperationName[]>>>
> = {
  responses: {
    'wda.Groups': ['aggregate', 'summarize'],
    'wda.File': ['export'],
    'wda.Unchanged': ['read'],
    'wda.Deleted': ['delete', 'bulkDelete', 'bulkDeleteListed', 'forget'],
    'wda.Checked': ['bulkDelete', 'bulkDeleteListed'],
    'wda.Matched': ['updateWhere', 'deleteWhere'],
    'wda.JobStarted': ['updateWhere', 'deleteWhere'],
    'wda.Imported': ['import'],
  },
  requestBodies: {
    'wda.Query': ['query'],
    'wda.Aggregate': ['summarize'],
    'wda.Ids': ['bulkDeleteListed'],
    'wda.UpdateWhere': ['updateWhere'],
    'wda.DeleteWhere': ['deleteWhere'],
    'wda.UpdateMany': ['bulkUpdate'],
    'wda.File': ['import'],
    'wda.Restore': ['restore'],
  },
};

const NUMBER = { type: 'integer', minimum: 0 };
const MATCHING = {
  anyOf: [schemaRef('wda.Filter'), { ...object({ all: { const: true } }), additionalProperties: false }],
};
const SET =
  'New values and operators, as in an update, and `{"$field": path}` for the value of a field, also across to-one relations.';
const WORDS = { type: 'string', description: 'Words that the records must also have, as `search` of a list.' };
const MAX = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_MATCHES,
  description: 'The most records that may match; with more nothing is written.',
};

/** Returns components of every entity that some of the operations refer to. */
export function sharedComponents(operations: ReadonlySet<OperationName>, maxBulk: number): Components {
  const select = (kind: keyof Components, parts: Parts): Parts =>
    Object.fromEntries(
      Object.entries(parts).filter(([name]) => SHARED_USERS[kind][name]?.some((user) => operations.has(user))),
    );
  return {
    responses: select('responses', {
      'wda.Groups': {
        description: 'Groups of records: members by the names of `select` and `group`.',
        ...json(object({ data: list({ type: 'object' }), meta: schemaRef('wda.GroupMeta') })),
      },
      'wda.File': {
        description: 'The file.',
        headers: {
          'Changes-Cursor': {
            description: 'With `changes=true`: for `after` of `_changes`, which continues there.',
            schema: { type: 'string' },
          },
        },
        ...FILE,
      },
      'wda.Unchanged': { description: 'It is as `If-None-Match` has it.', headers: TAGGED },
      'wda.Deleted': { description: 'Deleted.' },
      'wda.Checked': { description: 'With `dryRun=true`: it could be done.', ...json(object({ meta: DRY_RUN })) },
      'wda.Matched': {
        description:
          'How many records matched, and how many of them were changed or deleted; of a dry run of a job only the first.',
        ...json(
          object(
            { data: object({ matched: NUMBER }, { updated: NUMBER, deleted: NUMBER }) },
            { meta: object({ dryRun: { type: 'boolean' } }, { job: { type: 'boolean' } }) },
          ),
        ),
      },
      'wda.JobStarted': {
        description: 'More than 10,000 records matched: a job changes or deletes them. Its path is in `Location`.',
        headers: { Location: { description: 'Path of the job.', schema: { type: 'string' } } },
        ...json(object({ data: schemaRef('wda.Job') })),
      },
      'wda.Imported': {
        description:
          'How many rows did what; with `rejects=true` the headers say it, and the body is the rejected rows.',
        headers: IMPORT_HEADERS,
        content: {
          ...(json(object({ data: schemaRef('wda.ImportResult') }, { meta: IMPORT_META })).content as Parts),
          ...(FILE.content as Parts),
        },
      },
    }),
    requestBodies: select('requestBodies', {
      'wda.Query': {
        required: true,
        ...json(schemaRef('wda.Query'), {
          examples: {
            all: { value: {} },
            one: { value: { filter: { field: 'id', op: 'eq', value: 1 }, sort: ['id,desc'], size: 1 } },
          },
        }),
      },
      'wda.Aggregate': {
        required: true,
        ...json(schemaRef('wda.Aggregate'), { examples: { count: { value: { select: ['count'] } } } }),
      },
      'wda.Ids': {
        required: true,
        ...json(schemaRef('wda.Ids'), { examples: { one: { value: { ids: [1] } } } }),
      },
      'wda.UpdateWhere': {
        required: true,
        ...json({
          ...object(
            { filter: MATCHING, set: { type: 'object', minProperties: 1, description: SET }, max: MAX },
            { search: WORDS },
          ),
          additionalProperties: false,
        }),
      },
      'wda.DeleteWhere': {
        required: true,
        ...json(
          { ...object({ filter: MATCHING, max: MAX }, { search: WORDS }), additionalProperties: false },
          { examples: { none: { value: { filter: { field: 'id', op: 'in', value: [] }, max: 1 } } } },
        ),
      },
      // Without the fields to change: a body of each entity would make the document of 200 entities 5 kB longer.
      'wda.UpdateMany': many('wda.UpdateItem', maxBulk, { id: 1 }),
      'wda.File': { required: true, ...FILE },
      'wda.Restore': {
        required: true,
        ...json({
          ...object({ event: { type: 'string', description: 'Id of an event of the history of the record.' } }),
          additionalProperties: false,
        }),
      },
    }),
  };
}

/** Returns components that operations of the entity refer to. */
export function entityComponents(view: EntityView, { selection, maxBulk }: ComponentOptions): Components {
  const { entity, operations, mayHideWritten } = view;
  const names = schemaNames(entity.name);
  const [creates, updates] = [operations.includes('create'), operations.includes('update')];
  const page = {
    description: 'A page of records.',
    ...json(object({ data: list(schemaRef(names.read)), meta: schemaRef('wda.Meta') }), {
      example: {
        data: [makeRecordExample(entity)],
        meta: { page: 0, size: 20, totalElements: 1, totalPages: 1, nextCursor: null },
      },
    }),
  };
  const full = schemaRef(names.full);
  const written: Parts = {
    [`${entity.name}.Written`]: {
      description: mayHideWritten ? 'The record, or its id alone where it cannot be read.' : 'The record.',
      headers: WRITE_HEADERS,
      ...json(object({ data: full })),
    },
    // A `fixed` document never returns the ids alone.
    [`${entity.name}.ManyWritten`]: {
      description: 'The records, in the order sent.',
      ...json(
        object(
          { data: list(selection === 'fixed' ? full : { anyOf: [full, schemaRef('wda.Id')] }) },
          { meta: schemaRef('wda.WriteMeta') },
        ),
      ),
    },
  };
  const { minimal, full: all, change } = bodyExamples(view);
  const one = (schema: string, examples: Part): Part => ({ required: true, ...json(schemaRef(schema), { examples }) });
  return {
    responses: {
      ...(operations.includes('list') ? { [`${entity.name}.Page`]: page } : {}),
      ...(creates || updates ? written : {}),
    },
    requestBodies: {
      ...(creates ? { [names.create]: one(names.create, { minimal: { value: minimal }, full: { value: all } }) } : {}),
      ...(updates ? { [names.update]: one(names.update, { change: { value: change } }) } : {}),
      ...(creates ? { [`${entity.name}.CreateMany`]: many(names.create, maxBulk, minimal) } : {}),
    },
  };
}
