// Operations of an entity as parts of an OpenAPI document: their parameters, bodies and responses. Shared parts are
// components (components.ts) that they refer to: a workspace of 200 entities has 3,200 operations.

import type { ErrorCode } from '../errors.ts';
import { keepsChanges } from '../model/entity.ts';
import { OPERATIONS, type OperationName } from '../request/operations.ts';
import { bodyRef, type ComponentOptions, json, list, object, type Parts, responseRef, TAGGED } from './components.ts';
import type { Part } from './error-responses.ts';
import { anyEvent } from './events.ts';
import { schemaNames, schemaRef } from './names.ts';
import { buildParameters, type EntityParameters, type Header, type SharedParameter } from './parameters.ts';
import type { EntityView } from './view.ts';

export interface OperationContext extends ComponentOptions {
  /** Registers shared parameters, and returns the references to them. */
  readonly shared: (...names: readonly SharedParameter[]) => readonly Part[];
  /** Registers codes of refusals, and returns the responses of an operation that has them. */
  readonly errorResponses: (codes: readonly ErrorCode[]) => Parts;
}

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
