// Operations of an entity as parts of an OpenAPI document: their parameters, bodies and responses. Shared parts are
// components that they refer to: a workspace of 200 entities has 3,200 operations.

import type { ErrorCode } from '../errors.ts';
import { keepsChanges } from '../model/entity.ts';
import { MAX_MATCHES } from '../request/matching.ts';
import { OPERATIONS, type OperationName } from '../request/operations.ts';
import type { Part } from './error-responses.ts';
import { anyEvent } from './events.ts';
import { schemaNames, schemaRef } from './names.ts';
import { buildParameters, type EntityParameters, type Header, type SharedParameter } from './parameters.ts';
import { bodyExamples, makeRecordExample } from './schema.ts';
import type { EntityView } from './view.ts';

export interface OperationContext {
  /** `fixed`: omits parameters that would change the form of records. */
  readonly selection: 'free' | 'fixed';
  readonly maxBulk: number;
  /** Registers shared parameters, and returns the references to them. */
  readonly shared: (...names: readonly SharedParameter[]) => readonly Part[];
  /** Registers codes of refusals, and returns the responses of an operation that has them. */
  readonly errorResponses: (codes: readonly ErrorCode[]) => Parts;
}

type Parts = Readonly<Record<string, Part>>;

const ANY: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'WORKSPACE_SUSPENDED',
  'NOT_FOUND',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SCHEMA_MIGRATION_IN_PROGRESS',
  'SERVICE_UNAVAILABLE',
  'QUERY_TIMEOUT',
];
const WRITE: readonly ErrorCode[] = ['WORKSPACE_READ_ONLY'];
const ADDS: readonly ErrorCode[] = ['QUOTA_EXCEEDED'];
const BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
const IDEMPOTENCY: readonly ErrorCode[] = ['IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED', 'OUTCOME_UNKNOWN'];
const STORED: readonly ErrorCode[] = ['VALIDATION_FAILED', 'CONFLICT', ...IDEMPOTENCY];
const GUARDED: readonly ErrorCode[] = ['PRECONDITION_FAILED'];

/** Particulars of an operation; the rest follows from the table of operations. */
interface Form {
  readonly summary: string;
  readonly description: string;
  readonly headers?: readonly Header[];
  readonly body?: Part;
  /** Responses by status. */
  readonly responses: Parts;
  readonly codes?: readonly ErrorCode[];
}

/** Returns path items of the entity, by their paths. */
export function entityPaths(view: EntityView, own: EntityParameters, context: OperationContext): Parts {
  const items = new Map<string, Record<string, unknown>>();
  const { entity, operations } = view;
  for (const name of operations) {
    const { methods, tail } = OPERATIONS[name];
    const isOfRecord = tail.startsWith('id');
    const rest = tail.replace(/^id/, '{id}').replace(/event$/, '{event}');
    const path = `/${entity.name}${tail === '' ? '' : `/${rest}`}`;
    const shared = [...(isOfRecord ? ['Id' as const] : []), ...(rest.endsWith('{event}') ? ['Event' as const] : [])];
    const item = items.get(path) ?? (isOfRecord ? { parameters: context.shared(...shared) } : {});
    items.set(path, item);
    const form = FORMS[name](view);
    const parameters = [...buildParameters(name, own, context.shared), ...context.shared(...(form.headers ?? []))];
    for (const method of methods) {
      // HEAD has the responses of GET.
      if (method !== 'HEAD')
        item[method.toLowerCase()] = operation(method, name, entity.name, { ...form, parameters }, context);
    }
  }
  return Object.fromEntries(items);
}

/** Operation names of PATCH, which does the same as PUT. */
const PATCH_NAMES: Partial<Record<OperationName, string>> = { update: 'patch', bulkUpdate: 'bulkPatch' };

function operation(
  method: string,
  name: OperationName,
  entity: string,
  { summary, description, parameters, body, responses, codes = [] }: Form & { readonly parameters: readonly Part[] },
  { errorResponses }: OperationContext,
): Part {
  const isPatch = method === 'PATCH';
  const isWrite = OPERATIONS[name].access === 'write';
  return {
    // This order keeps members with the entity's name together: in another, 200 entities are up to 13 kB more when
    // zipped.
    summary: `${isPatch ? summary.replace('Update', 'Patch') : summary} ${entity}`,
    tags: [entity],
    operationId: `${entity}.${isPatch ? PATCH_NAMES[name] : name}`,
    description,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...responses, ...errorResponses([...ANY, ...(isWrite ? WRITE : []), ...codes]) },
  };
}

const refTo = (kind: string, name: string): Part => ({ $ref: `#/components/${kind}/${name}` });
const responseRef = (name: string): Part => refTo('responses', name);
const bodyRef = (name: string): Part => refTo('requestBodies', name);

const json = (schema: Part, rest: Part = {}): Part => ({ content: { 'application/json': { schema, ...rest } } });

const object = (properties: Parts, optional: Parts = {}): Part => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});

const list = (items: Part, rest: Part = {}): Part => ({ type: 'array', items, ...rest });

const file = (...types: readonly string[]): Part => ({
  content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
});
const FILE = file('text/csv', 'application/x-ndjson');

const TAGGED: Part = {
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

/** Components of a kind, by their names. */
export type Components = Readonly<Record<'responses' | 'requestBodies', Parts>>;

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
export function entityComponents(view: EntityView, { selection, maxBulk }: OperationContext): Components {
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

const MANY_DELETED: Parts = { 200: responseRef('wda.Checked'), 204: responseRef('wda.Deleted') };

type FormOf = (view: EntityView) => Form;

const FEED_CODES: readonly ErrorCode[] = ['CHANGES_OFF', 'CHANGES_UNAVAILABLE', 'CURSOR_EXPIRED', 'VIEW_CHANGED'];

const STREAM = {
  type: 'string',
  description:
    'Server-sent events (WHATWG HTML, 9.2). The data of `change`, `schema`, `reset` and `ended` is an event as in a page; `caught-up` has the `cursor`, `end` a `code` and a `message`.',
};

/** A page of a feed as JSON, or its events as a stream. */
export const withStream = (schema: Part): Part => ({
  content: { 'application/json': { schema }, 'text/event-stream': { schema: STREAM } },
});

/** Refusals of a list that is to have a cursor of changes. */
const getHandOverCodes = ({ entity }: EntityView): readonly ErrorCode[] =>
  keepsChanges(entity.settings) ? ['CHANGES_UNAVAILABLE'] : [];

const HISTORY_CODES: readonly ErrorCode[] = ['CHANGES_OFF', 'CHANGES_UNAVAILABLE'];

const READS: Readonly<
  Record<
    'list' | 'query' | 'aggregate' | 'summarize' | 'export' | 'changes' | 'history' | 'historyEntry' | 'read',
    FormOf
  >
> = {
  changes: ({ entity }) => ({
    summary: 'Changes',
    headers: ['LastEventId'],
    description:
      'What happened to the records that you may see, in one order: nothing is missing after a cursor, and nothing comes twice.',
    responses: {
      200: {
        description: 'Events, and the cursor after them.',
        ...withStream(
          object({
            data: list(anyEvent([entity.name])),
            meta: schemaRef('wda.FeedMeta'),
          }),
        ),
      },
    },
    codes: FEED_CODES,
  }),
  history: ({ entity }) => ({
    summary: 'History',
    description: 'What happened to a record, the last change first, also after it was deleted.',
    responses: {
      200: {
        description: 'Events, with the values before.',
        ...json(object({ data: list(schemaRef(schemaNames(entity.name).event)), meta: schemaRef('wda.HistoryMeta') })),
      },
    },
    codes: HISTORY_CODES,
  }),
  historyEntry: ({ entity }) => ({
    summary: 'Record as it was',
    description: 'The record after an event of its history, or before one that removed it.',
    responses: {
      200: {
        description: 'The record as it was.',
        ...json(
          object(
            { data: schemaRef(schemaNames(entity.name).image) },
            { meta: object({ unknown: list({ type: 'string' }) }) },
          ),
        ),
      },
    },
    codes: HISTORY_CODES,
  }),
  list: (view) => ({
    summary: 'List',
    description: 'A page of the records that the filters let through.',
    responses: { 200: responseRef(`${view.entity.name}.Page`) },
    codes: getHandOverCodes(view),
  }),
  query: (view) => ({
    summary: 'Query',
    description: 'A list whose parameters are a JSON body: filters may be trees. It changes nothing.',
    body: bodyRef('wda.Query'),
    responses: { 200: responseRef(`${view.entity.name}.Page`) },
    codes: [...BODY, ...getHandOverCodes(view)],
  }),
  aggregate: () => ({
    summary: 'Aggregate',
    description: 'Counts and sums of the records, all of them or by groups.',
    responses: { 200: responseRef('wda.Groups') },
  }),
  summarize: () => ({
    summary: 'Summarize',
    description: 'Counts and sums whose parameters are a JSON body. It changes nothing.',
    body: bodyRef('wda.Aggregate'),
    responses: { 200: responseRef('wda.Groups') },
    codes: BODY,
  }),
  export: (view) => ({
    summary: 'Export',
    description: 'A file of every record that the filters let through.',
    responses: { 200: responseRef('wda.File') },
    codes: getHandOverCodes(view),
  }),
  read: ({ entity }) => ({
    summary: 'Read',
    description: 'One record by its id.',
    headers: ['IfNoneMatch', 'IfMatch'],
    responses: {
      200: {
        description: 'The record.',
        headers: TAGGED,
        ...json(object({ data: schemaRef(schemaNames(entity.name).read) })),
      },
      304: responseRef('wda.Unchanged'),
    },
    codes: GUARDED,
  }),
};

const FORMS: Readonly<Record<OperationName, FormOf>> = {
  ...READS,
  restore: ({ entity }) => ({
    summary: 'Restore',
    description:
      'Writes a record as it was after an event of its history, or before one that removed it. 201: it was deleted.',
    headers: ['IfMatch', 'IdempotencyKey'],
    body: bodyRef('wda.Restore'),
    responses: {
      200: responseRef(`${entity.name}.Written`),
      201: responseRef(`${entity.name}.Written`),
    },
    codes: [...ADDS, ...BODY, ...STORED, ...GUARDED, ...HISTORY_CODES],
  }),
  forget: () => ({
    summary: 'Forget the history of a record of',
    description: 'Removes the values of a record from its history, for good; its events stay. Owners alone.',
    responses: { 204: responseRef('wda.Deleted') },
    codes: HISTORY_CODES,
  }),
  create: ({ entity, keys }) => ({
    summary: 'Create',
    description:
      'A new record, whose path is in `Location`. Fields left out take their defaults. With `onConflict`, 200: it was there.',
    headers: ['IdempotencyKey'],
    body: bodyRef(schemaNames(entity.name).create),
    responses: {
      ...(keys.length === 0 ? {} : { 200: responseRef(`${entity.name}.Written`) }),
      201: responseRef(`${entity.name}.Written`),
    },
    codes: [...ADDS, ...BODY, ...STORED],
  }),
  update: ({ entity }) => ({
    summary: 'Update',
    description: 'Changes the fields that the body names, and no others.',
    headers: ['IfMatch', 'IdempotencyKey'],
    body: bodyRef(schemaNames(entity.name).update),
    responses: { 200: responseRef(`${entity.name}.Written`) },
    codes: [...BODY, ...STORED, ...GUARDED],
  }),
  delete: () => ({
    summary: 'Delete',
    description: 'Deletes the record.',
    headers: ['IfMatch', 'IdempotencyKey'],
    responses: { 204: responseRef('wda.Deleted') },
    codes: ['CONFLICT', ...IDEMPOTENCY, ...GUARDED],
  }),
  bulkCreate: ({ entity, keys }) => ({
    summary: 'Create many',
    description: 'New records: all of them, or none. With `onConflict`, 200.',
    headers: ['IdempotencyKey'],
    body: bodyRef(`${entity.name}.CreateMany`),
    responses: {
      ...(keys.length === 0 ? {} : { 200: responseRef(`${entity.name}.ManyWritten`) }),
      201: responseRef(`${entity.name}.ManyWritten`),
    },
    codes: [...ADDS, ...BODY, ...STORED],
  }),
  bulkUpdate: ({ entity }) => ({
    summary: 'Update many',
    description:
      'Changes of records by their ids: all of them, or none. Each has its `id` and the fields of an update.',
    headers: ['IdempotencyKey'],
    body: bodyRef('wda.UpdateMany'),
    responses: { 200: responseRef(`${entity.name}.ManyWritten`) },
    codes: [...BODY, ...STORED, ...GUARDED],
  }),
  bulkDelete: () => ({
    summary: 'Delete many',
    description: 'Deletes records by their ids: all of them, or none.',
    headers: ['IdempotencyKey'],
    responses: MANY_DELETED,
    codes: ['CONFLICT', 'PAYLOAD_TOO_LARGE', ...IDEMPOTENCY, ...GUARDED],
  }),
  bulkDeleteListed: () => ({
    summary: 'Delete listed',
    description: 'Deletes records by a list of ids that is too long for a URL: all of them, or none.',
    headers: ['IdempotencyKey'],
    body: bodyRef('wda.Ids'),
    responses: MANY_DELETED,
    codes: [...BODY, 'CONFLICT', ...IDEMPOTENCY, ...GUARDED],
  }),
  updateWhere: () => ({
    summary: 'Update matching',
    description: 'Changes all records that match a filter, or none; more than 10,000 in batches, by a job.',
    headers: ['IdempotencyKey'],
    body: bodyRef('wda.UpdateWhere'),
    responses: { 200: responseRef('wda.Matched'), 202: responseRef('wda.JobStarted') },
    codes: [...BODY, ...STORED],
  }),
  deleteWhere: () => ({
    summary: 'Delete matching',
    description: 'Deletes all records that match a filter, or none; more than 10,000 in batches, by a job.',
    headers: ['IdempotencyKey'],
    body: bodyRef('wda.DeleteWhere'),
    responses: { 200: responseRef('wda.Matched'), 202: responseRef('wda.JobStarted') },
    codes: [...BODY, 'CONFLICT', ...IDEMPOTENCY],
  }),
  import: () => ({
    summary: 'Import',
    description: 'Creates or changes a record for each row of a file: all of them, or none.',
    headers: ['IdempotencyKey'],
    body: bodyRef('wda.File'),
    responses: { 200: responseRef('wda.Imported') },
    codes: [...ADDS, ...BODY, ...STORED],
  }),
};
