// The operations of a workspace as parts of an OpenAPI document.
import type { ErrorCode } from '../errors.ts';
import { WORKSPACE_OPERATIONS, type WorkspaceOperation, type WorkspaceOperationName } from '../request/operations.ts';
import { getParameters, type ParameterKey } from '../request/parameters.ts';
import { json, list, object, type Parts } from './components.ts';
import type { Part } from './error-responses.ts';
import { anyEvent } from './events.ts';
import { schemaRef } from './names.ts';
import { type OperationContext, withStream } from './operations.ts';
import type { Header } from './parameters.ts';
import type { PrincipalClass } from './view.ts';

/** A name that no entity can have. */
export const WORKSPACE_TAG = { name: 'This workspace', description: 'What there is, and several entities at once.' };

// Names of operations of entities have the entity in this place.
const OWN = 'wda';

const READ: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'WORKSPACE_SUSPENDED',
  'NOT_FOUND',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
];

interface Form {
  readonly summary: string;
  readonly description: string;
  readonly headers?: readonly Header[];
  readonly body?: Part;
  readonly responses: Parts;
  readonly codes: readonly ErrorCode[];
}

const ONE_JOB: Part = { description: 'The job.', ...json(object({ data: schemaRef('wda.Job') })) };

/** Returns the forms by operation, or null for one with a protocol of its own. `followed`: entities that keep changes. */
const makeForms = (followed: readonly string[]): Readonly<Record<WorkspaceOperationName, Form | null>> => ({
  index: {
    summary: 'Index of the workspace',
    description: 'The entities, and what this credential may do with them.',
    responses: { 200: { description: 'The index.', ...json(schemaRef('wda.Index')) } },
    codes: READ,
  },
  openapi: {
    summary: 'OpenAPI document',
    description: 'This document.',
    responses: {
      200: { description: 'The document.', ...json({ type: 'object' }) },
      304: { description: 'It is as `If-None-Match` has it.' },
    },
    codes: [...READ, 'FORBIDDEN'],
  },
  schema: {
    summary: 'Schema of the workspace',
    description:
      'The entities in the form of the schema document, as far as this credential reaches, without row rules.',
    responses: {
      200: { description: 'The schema.', ...json(schemaRef('wda.Schema')) },
      304: { description: 'It is as `If-None-Match` has it.' },
    },
    codes: READ,
  },
  batch: {
    summary: 'Batch of operations',
    description: 'Operations on several entities in one transaction: all of them, or none.',
    headers: ['IdempotencyKey'],
    body: { required: true, ...json(schemaRef('wda.Batch'), { examples: { none: { value: { operations: [] } } } }) },
    responses: { 200: { description: 'All are done.', ...json(schemaRef('wda.BatchResult')) } },
    codes: [
      ...READ,
      'FORBIDDEN',
      'WORKSPACE_READ_ONLY',
      'QUOTA_EXCEEDED',
      'VALIDATION_FAILED',
      'CONFLICT',
      'PRECONDITION_FAILED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'IDEMPOTENCY_KEY_IN_USE',
      'IDEMPOTENCY_KEY_REUSED',
      'SCHEMA_MIGRATION_IN_PROGRESS',
      'QUERY_TIMEOUT',
      'OUTCOME_UNKNOWN',
    ],
  },
  workspaceChanges: {
    summary: 'Changes of several entities',
    headers: ['LastEventId'],
    description: 'What happened to the records that you may see, of all entities that keep changes, in one order.',
    responses: {
      200: {
        description: 'Events, and the cursor after them.',
        ...withStream(object({ data: list(anyEvent(followed)), meta: schemaRef('wda.FeedMeta') })),
      },
    },
    codes: [...READ, 'CHANGES_OFF', 'CHANGES_UNAVAILABLE', 'CURSOR_EXPIRED', 'VIEW_CHANGED', 'QUERY_TIMEOUT'],
  },
  jobs: {
    summary: 'Jobs',
    description:
      'The last 100 jobs, the newest first: updates and deletions of more than 10,000 records. Administrators see all, others their own ones.',
    responses: {
      200: {
        description: 'The jobs.',
        ...json(object({ data: list(schemaRef('wda.Job'), { maxItems: 100 }) })),
      },
    },
    codes: READ,
  },
  job: {
    summary: 'Job',
    description: 'How far a job is, or how it has ended.',
    responses: { 200: ONE_JOB },
    codes: READ,
  },
  cancelJob: {
    summary: 'Cancel a job',
    description: 'Ends a job after the batches that are done; one that has ended stays as it is.',
    responses: { 200: ONE_JOB },
    codes: READ,
  },
  mcp: null,
});

const JOB_ID = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Id of the job.',
  schema: { type: 'integer', minimum: 0 },
};

const OF_OWNERS: readonly ParameterKey[] = ['principal', 'role'];

/** Returns path items, by their paths. `followed`: entities that keep changes. */
export function workspacePaths(
  context: OperationContext,
  { kind }: PrincipalClass,
  followed: readonly string[],
): Parts {
  const forms = makeForms(followed);
  return Object.fromEntries(
    (Object.keys(forms) as WorkspaceOperationName[]).flatMap((id) => {
      const form = forms[id];
      if (form === null || (id === 'workspaceChanges' && followed.length === 0)) return [];
      const { methods, name, tail }: WorkspaceOperation = WORKSPACE_OPERATIONS[id];
      const { summary, description, headers = [], body, responses, codes } = form;
      const keys = getParameters(id, 'query').filter((key) => kind === 'owner' || !OF_OWNERS.includes(key));
      const parameters = [...(tail === undefined ? [] : [JOB_ID]), ...context.shared(...keys, ...headers)];
      const operation = {
        operationId: `${OWN}.${id}`,
        tags: [WORKSPACE_TAG.name],
        summary,
        description,
        ...(parameters.length === 0 ? {} : { parameters }),
        ...(body === undefined ? {} : { requestBody: body }),
        responses: { ...responses, ...context.errorResponses(codes) },
      };
      const path = tail === undefined ? `/${name}` : `/${name}/${tail.replace('id', '{id}')}`;
      return [[path, { [String(methods[0]).toLowerCase()]: operation }]];
    }),
  );
}
