// Refusals become replies in the body of the specification; anything else tells nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as errors from '../../../src/errors.ts';
import { errorReply, toApiError } from '../../../src/response/error-body.ts';
import type { Reply } from '../../../src/response/reply.ts';

const textOf = ({ body }: Reply): string => (body.kind === 'text' ? body.text : '');

test('an error is its code, its message and its reason', () => {
  const reply = errorReply(errors.badRequest('UNKNOWN_FIELD', 'Unknown field x'));
  assert.equal(reply.status, 400);
  assert.equal(textOf(reply), '{"error":{"code":"BAD_REQUEST","message":"Unknown field x","reason":"UNKNOWN_FIELD"}}');
});

test('mistakes of a body stand in details', () => {
  const details = [{ field: 'name', code: 'REQUIRED', message: 'is required' }] as const;
  const reply = errorReply(errors.validationFailed(details));
  assert.deepEqual(JSON.parse(textOf(reply)), {
    error: {
      code: 'VALIDATION_FAILED',
      message: 'Validation failed: name: is required',
      reason: 'VALIDATION_FAILED',
      details,
    },
  });
});

test('the refusal of a migration has its facts beside the error, and the header', () => {
  const reply = errorReply(
    errors.migrationInProgress('orders', { blocksReads: false, blocksWrites: true, retryAfterSeconds: 3 }),
  );
  assert.equal(reply.status, 503);
  assert.deepEqual(reply.headers, { 'Retry-After': '3' });
  assert.deepEqual(JSON.parse(textOf(reply)), {
    error: {
      code: 'SCHEMA_MIGRATION_IN_PROGRESS',
      message: 'Table orders is being migrated; retry after the migration completes',
      reason: 'TABLE_MIGRATING',
    },
    retryAfterSeconds: 3,
    blocksReads: false,
    blocksWrites: true,
  });
});

for (const thrown of [
  new Error('relation "ws7_shop"."orders" does not exist'),
  new TypeError('x is undefined'),
  'text',
  undefined,
  null,
  { code: '42P01', detail: 'secret' },
]) {
  test(`${String(thrown)} that is thrown becomes a 500 that tells nothing and keeps its cause`, () => {
    const error = toApiError(thrown);
    assert.equal(error.cause, thrown);
    const reply = errorReply(error);
    assert.equal(reply.status, 500);
    assert.equal(
      textOf(reply),
      '{"error":{"code":"INTERNAL_ERROR","message":"Something went wrong on our side; the request id helps to find it","reason":"INTERNAL_ERROR"}}',
    );
  });
}

test('a refusal of ours stays what it is', () => {
  const refusal = errors.recordNotFound();
  assert.equal(toApiError(refusal), refusal);
});

const CASES: readonly (readonly [error: errors.ApiError, status: number, headers: Record<string, string>])[] = [
  [errors.missingCredential(), 401, { 'WWW-Authenticate': 'Bearer realm="workspace-data-api"' }],
  [errors.invalidCredential(), 401, { 'WWW-Authenticate': 'Bearer realm="workspace-data-api", error="invalid_token"' }],
  [errors.readOnly(), 403, { 'WWW-Authenticate': 'Bearer realm="workspace-data-api", error="insufficient_scope"' }],
  [errors.recordNotFound(), 404, {}],
  [errors.methodNotAllowed('PUT', ['GET', 'POST']), 405, { Allow: 'GET, POST' }],
  [errors.conflict('IMPORT_CONFLICT', 'x'), 409, {}],
  [errors.anotherMigrationRuns(), 409, {}],
  [errors.preconditionFailed(), 412, {}],
  [errors.payloadTooLarge(5), 413, {}],
  [errors.unsupportedMediaType('application/json'), 415, {}],
  [errors.rateLimited(7), 429, { 'Retry-After': '7' }],
  [errors.databaseUnavailable(), 503, { 'Retry-After': '1' }],
  [errors.queryTimeout(), 503, { 'Retry-After': '1' }],
];

for (const [error, status, headers] of CASES) {
  test(`${error.code} is ${status}`, () => {
    const reply = errorReply(error);
    assert.equal(reply.status, status);
    assert.deepEqual(reply.headers, headers);
    assert.equal(JSON.parse(textOf(reply)).error.code, error.code);
  });
}

test('many mistakes are counted in the message', () => {
  const detail = { field: 'a', code: 'REQUIRED', message: 'is required' } as const;
  assert.equal(
    errors.validationFailed([detail, detail, detail]).message,
    'Validation failed: a: is required (and 2 more)',
  );
  assert.equal(errors.validationFailed([{ ...detail, row: 7 }]).message, 'Validation failed: row 7, a: is required');
  assert.equal(errors.validationFailed([{ ...detail, field: null }]).message, 'Validation failed: is required');
  assert.equal(errors.validationFailed([]).message, 'Validation failed');
});
