// Refusals as parts of an OpenAPI document: the schema of error bodies, and one response for each status with its codes
// and examples. Operations refer to them.
import * as errors from '../errors.ts';
import { type ApiError, DETAIL_CODES, ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { JsonSchema } from '../model/field-types.ts';
import { MAX_IMPORT_ERRORS } from '../request/parameters.ts';
import { PREFIX } from '../request/record-path.ts';
import { errorText } from '../response/error-body.ts';

/** A part of a document: plain JSON. */
export type Part = Readonly<Record<string, unknown>>;

/** Schemas for `components.schemas`: the body of each refusal, by the names that responses refer to. */
export const ERROR_SCHEMAS: Readonly<Record<'wda.Error' | 'wda.Detail', JsonSchema>> = {
  'wda.Error': {
    type: 'object',
    description:
      'A refusal. `error.code` and, more exactly, `error.reason` tell programs what to do, `error.message` tells people.',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'reason'],
        properties: {
          code: { type: 'string', enum: Object.keys(ERROR_CODES) },
          message: { type: 'string' },
          reason: {
            type: 'string',
            description: 'The cause as a stable word, finer than `code`; later versions may add some.',
            examples: ['UNKNOWN_PARAMETER'],
          },
          details: {
            type: 'array',
            maxItems: MAX_IMPORT_ERRORS,
            items: { $ref: '#/components/schemas/wda.Detail' },
            description: 'Every mistake, 100 at most; of an import as many as `maxErrors` says.',
          },
          operation: {
            type: 'integer',
            minimum: 0,
            description: 'Of a batch: which operation was refused, counted from 0.',
          },
        },
      },
      oldest: {
        type: ['string', 'null'],
        description: 'Of a feed: the time of the oldest change that is kept.',
      },
      restart: { type: 'string', description: 'Of a feed: the path of a request that begins again.' },
      retryAfterSeconds: { type: 'integer', minimum: 0, description: 'As the header Retry-After.' },
      blocksReads: { type: 'boolean', description: 'Of a running migration: whether reads wait, too.' },
      blocksWrites: { type: 'boolean', description: 'Of a running migration: whether writes wait.' },
    },
  },
  'wda.Detail': {
    type: 'object',
    description: 'One mistake.',
    required: ['field', 'code', 'message'],
    properties: {
      field: {
        type: ['string', 'null'],
        description: 'A field of the record, or a path into the document that was sent.',
      },
      code: { type: 'string', enum: DETAIL_CODES },
      message: { type: 'string' },
      index: { type: 'integer', minimum: 0, description: 'Of many records: which one, counted from 0.' },
      id: { type: 'integer', description: 'Of a write by filter: id of the record.' },
      row: { type: 'integer', minimum: 0, description: 'Of a file: which record, counted from 1; 0: its header.' },
      line: { type: 'integer', minimum: 1, description: 'Of a file: the line where the row begins, counted from 1.' },
      value: { type: 'string', description: 'Of a file: what is wrong, cut to 100 characters.' },
    },
  },
};

const ERROR_DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: 'a parameter, the form of the body, or an answer that would be too large',
  VALIDATION_FAILED: 'the values of the body; `details` has every mistake',
  UNAUTHORIZED: 'no credential, or not one of this place, whether or not it exists',
  FORBIDDEN: 'the credential may not do this',
  WORKSPACE_SUSPENDED: 'the operator has suspended the workspace',
  WORKSPACE_READ_ONLY: 'the operator has made the workspace read-only',
  QUOTA_EXCEEDED: 'the workspace has as many records or bytes as the operator allows',
  NOT_FOUND: 'nothing is there, or nothing that the credential may see',
  METHOD_NOT_ALLOWED: 'the header Allow has the methods of the place',
  CONFLICT: 'what is stored stands against it; `details` says what',
  IDEMPOTENCY_KEY_IN_USE: 'the request with this Idempotency-Key is still being answered',
  IDEMPOTENCY_KEY_REUSED: 'the Idempotency-Key was used for another request',
  CHANGES_OFF: 'the entity keeps no changes',
  CHANGES_UNAVAILABLE: 'changes cannot be kept here, or not be read with this role',
  CURSOR_EXPIRED: 'the changes after the cursor are not all there any more; `restart` is the path of a new begin',
  VIEW_CHANGED: 'you see other records than when the cursor was given; `restart` is the path of a new begin',
  DATA_CONFLICT: 'records stand in the way of the change',
  FOLLOWS_SHARED_SCHEMA: 'the workspace follows a shared schema',
  DESTRUCTIVE_CHANGE: 'the change would destroy data, and that was not allowed',
  ROLLOUT_IN_PROGRESS: 'a rollout of the shared schema has not ended',
  PRECONDITION_FAILED: 'the record is not of the version that was asked for',
  PAYLOAD_TOO_LARGE: 'the body has too many bytes or records',
  UNSUPPORTED_MEDIA_TYPE: 'the body is not of the media type that is needed',
  RATE_LIMITED: 'too many requests of this credential, or of the workspace',
  INTERNAL_ERROR: 'a mistake of the server; its log has the X-Request-Id',
  SCHEMA_MIGRATION_IN_PROGRESS: 'the schema is being changed; `blocksReads` and `blocksWrites` say what waits',
  SERVICE_UNAVAILABLE: 'the server or its database cannot answer at the moment',
  QUERY_TIMEOUT: 'it took too long and was stopped',
  OUTCOME_UNKNOWN: 'the connection to the database was lost before it had answered to the write: it may have been done',
};

interface ErrorResponse {
  /** Name of the component. */
  readonly name: string;
  readonly headers?: readonly (keyof typeof HEADERS)[];
  readonly examples: Readonly<Record<string, ApiError>>;
}

const HEADERS = {
  'X-Request-Id': { description: 'Names the request, also in the log of the server.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': { description: 'The challenge (RFC 6750 section 3).', schema: { type: 'string' } },
  Allow: { description: 'The methods that the place takes.', schema: { type: 'string' } },
} as const;

const GATE = { blocksReads: false, blocksWrites: true, retryAfterSeconds: 5 };

const RESTART = { oldest: '2026-01-31T12:00:00Z', restart: `${PREFIX}demo/shop/orders/_changes?after=now` };

/** Name of the example of a unique conflict in published documents. */
const UNIQUE_EXAMPLE = 'taken';

/** Responses by status. */
const ERROR_RESPONSES: Readonly<Record<number, ErrorResponse>> = {
  400: {
    name: 'BadRequest',
    examples: {
      parameter: errors.unknownParameter('sizes', 'size', ['page', 'size', 'sort']),
      validation: errors.validationFailed([{ field: 'name', code: 'REQUIRED', message: 'is required' }]),
    },
  },
  401: {
    name: 'Unauthorized',
    headers: ['WWW-Authenticate'],
    examples: { missing: errors.missingCredential(), invalid: errors.invalidCredential() },
  },
  403: {
    name: 'Forbidden',
    examples: {
      readOnly: errors.readOnly(),
      suspended: errors.workspaceSuspended(),
      workspaceReadOnly: errors.workspaceReadOnly(),
      quota: errors.quotaExceeded('maxRecords', 10_000, 10_000),
    },
  },
  404: { name: 'NotFound', examples: { record: errors.recordNotFound() } },
  405: { name: 'MethodNotAllowed', headers: ['Allow'], examples: { method: errors.methodNotAllowed('PUT', ['GET']) } },
  409: {
    name: 'Conflict',
    headers: ['Retry-After'],
    examples: {
      [UNIQUE_EXAMPLE]: errors.notUnique('name', undefined),
      referenced: errors.stillReferenced({ entity: 'orders', relation: 'customer' }, undefined),
    },
  },
  410: { name: 'Gone', examples: { expired: errors.cursorExpired(RESTART), view: errors.viewChanged(RESTART) } },
  412: { name: 'PreconditionFailed', examples: { changed: errors.preconditionFailed() } },
  413: { name: 'PayloadTooLarge', examples: { bytes: errors.payloadTooLarge(1_048_576) } },
  415: { name: 'UnsupportedMediaType', examples: { type: errors.unsupportedMediaType('application/json') } },
  422: { name: 'UnprocessableContent', examples: { reused: errors.keyReused() } },
  429: { name: 'TooManyRequests', headers: ['Retry-After'], examples: { pace: errors.rateLimited(1) } },
  500: { name: 'InternalServerError', examples: { internal: errors.internalError() } },
  503: {
    name: 'ServiceUnavailable',
    headers: ['Retry-After'],
    examples: {
      migration: errors.migrationInProgress('orders', GATE),
      unavailable: errors.databaseUnavailable(),
      timeout: errors.queryTimeout(),
    },
  },
};

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

/** A code with its status: mostly, but not always, that of ERROR_CODES. */
export interface CodedStatus {
  readonly code: ErrorCode;
  readonly status: number;
}

/** Returns the codes with the statuses that they have in the data API. */
export const withStatuses = (codes: Iterable<ErrorCode>): readonly CodedStatus[] =>
  [...codes].map((code) => ({ code, status: ERROR_CODES[code] }));

/** Returns `components.responses`: one for each status of the refusals, by the names that buildErrorRefs() uses. */
export function errorResponses(
  codedStatuses: readonly CodedStatus[] = withStatuses(CODES),
): Readonly<Record<string, Part>> {
  return Object.fromEntries(
    collectStatuses(codedStatuses).map((status) => [
      ERROR_RESPONSES[status]?.name,
      makeResponse(codedStatuses.filter((entry) => entry.status === status)),
    ]),
  );
}

/** Returns one response for the refusals with these codes, for `default`. */
export const otherResponse = (codes: Iterable<ErrorCode>): Part => makeResponse(withStatuses(codes));

function makeResponse(codedStatuses: readonly CodedStatus[]): Part {
  const inOrder = CODES.flatMap((code) => codedStatuses.find((one) => one.code === code) ?? []);
  const responses = collectStatuses(inOrder).map((status) => ERROR_RESPONSES[status] as ErrorResponse);
  const headers = ['X-Request-Id' as const, ...responses.flatMap((response) => response.headers ?? [])];
  const examples = responses.flatMap((refusal) => Object.entries(refusal.examples));
  return {
    description: inOrder.map(({ code, status }) => `\`${code}\` (${status}): ${ERROR_DESCRIPTIONS[code]}.`).join(' '),
    headers: Object.fromEntries(headers.map((header) => [header, HEADERS[header]])),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/wda.Error' },
        examples: Object.fromEntries(
          examples
            .filter(([, { code }]) => inOrder.some((one) => one.code === code))
            .map(([title, error]) => [title, { summary: error.code, value: JSON.parse(errorText(error)) }]),
        ),
      },
    },
  };
}

/** Returns `responses` of an operation: a reference for each status of the codes. */
export function buildErrorRefs(codes: Iterable<ErrorCode>): Readonly<Record<string, Part>> {
  return Object.fromEntries(collectStatuses(withStatuses(codes)).map((status) => [status, errorResponseRef(status)]));
}

/** Returns a reference to the response with this status. */
export const errorResponseRef = (status: number): Part => ({
  $ref: `#/components/responses/${ERROR_RESPONSES[status]?.name}`,
});

const collectStatuses = (codedStatuses: readonly CodedStatus[]): number[] =>
  [...new Set(codedStatuses.map(({ status }) => status))].sort((one, other) => one - other);
