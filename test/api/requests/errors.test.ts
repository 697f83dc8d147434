// Refusals of requests: the order of checks, bodies that are none, and the same words everywhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listParameterNames } from '../../../src/request/parameters.ts';
import { openConnection, rawRequest, sendBytes } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer({ WDA_MAX_BODY_BYTES: '4096', WDA_BODY_TIMEOUT_MS: '300' });
const shop = use(() => makeShop(server));

const JSON_TYPE = { 'content-type': 'application/json' };
const READ_ONLY = 'READ_ONLY permissions - data modifications are not allowed';

// Each request has every mistake from some point of the order on; the first one answers.
runScenarios(shop, [
  {
    name: 'credential comes before everything',
    as: 'none',
    method: 'POST',
    path: 'nothing?x=1',
    body: 'junk',
    status: 401,
    code: 'UNAUTHORIZED',
  },
  {
    name: 'permission before entity',
    as: 'readOnly',
    method: 'POST',
    path: 'nothing?x=1',
    body: 'junk',
    status: 403,
    code: 'FORBIDDEN',
    message: READ_ONLY,
  },
  {
    name: 'entity before parameters',
    method: 'POST',
    path: 'nothing?x=1',
    body: 'junk',
    status: 404,
    code: 'NOT_FOUND',
  },
  {
    name: 'permission before the idempotency key and the query string',
    as: 'readOnly',
    method: 'POST',
    path: 'nothing?%zz',
    headers: { 'idempotency-key': 'a b' },
    body: 'junk',
    status: 403,
    code: 'FORBIDDEN',
    message: READ_ONLY,
  },
  {
    name: 'entity before the idempotency key',
    method: 'PUT',
    path: 'nothing/1',
    headers: { 'idempotency-key': 'a b' },
    body: 'junk',
    status: 404,
    code: 'NOT_FOUND',
  },
  {
    name: 'entity before a query string that does not decode, with an idempotency key',
    method: 'POST',
    path: 'nothing?%zz',
    headers: { 'idempotency-key': 'a' },
    body: 'junk',
    status: 404,
    code: 'NOT_FOUND',
  },
  {
    name: 'the idempotency key before the body',
    method: 'POST',
    path: 'tags',
    headers: { 'idempotency-key': 'a b' },
    body: 'junk',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Idempotency-Key/,
  },
  {
    name: 'parameters before the body',
    method: 'POST',
    path: 'tags?x=1',
    body: 'junk',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter x\./,
  },
  {
    name: 'parameters before the record',
    path: 'tags/99?x=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter x\./,
  },
  {
    name: 'the media type before the body',
    method: 'POST',
    path: 'tags',
    body: 'junk',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
  },
  {
    name: 'the body before the record',
    method: 'PUT',
    path: 'tags/99',
    headers: JSON_TYPE,
    body: 'junk',
    status: 400,
    code: 'BAD_REQUEST',
  },
  { name: 'the record last', method: 'PUT', path: 'tags/99', body: { name: 'x' }, status: 404, code: 'NOT_FOUND' },
  { name: 'entity before parameters of a read', path: 'nothing?x=1', status: 404, code: 'NOT_FOUND' },
  {
    name: 'a write of a Read Only key to a record that does not exist',
    as: 'readOnly',
    method: 'DELETE',
    path: 'tags/99',
    status: 403,
    code: 'FORBIDDEN',
    message: READ_ONLY,
  },
]);

test('an error is a code and a message, and details only where it has some', async () => {
  const plain = await shop.call('tags/99');
  assert.deepEqual(plain.json, {
    error: { code: 'NOT_FOUND', message: 'Record not found', reason: 'RECORD_NOT_FOUND' },
  });
  assert.equal(plain.headers.get('content-type'), 'application/json; charset=utf-8');
  const detailed = await shop.call('tags', { method: 'POST', body: {} });
  assert.deepEqual(detailed.json, {
    error: {
      code: 'VALIDATION_FAILED',
      message: 'Validation failed: name: is required',
      reason: 'VALIDATION_FAILED',
      details: [{ field: 'name', code: 'REQUIRED', message: 'is required' }],
    },
  });
});

runScenarios(
  shop,
  [undefined, 'text/plain', 'application/json; charset=latin1'].map((type) => ({
    name: `a body of type ${type} is not taken`,
    method: 'POST',
    path: 'tags',
    headers: type === undefined ? {} : { 'content-type': type },
    body: new TextEncoder().encode('{"name":"x"}'),
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The request body must be sent with Content-Type: application/json',
  })),
);

// Others are in test/unit/request/body.test.ts.
const EMPTY = 'The request body is empty; send a JSON object';
const MALFORMED = 'The request body is malformed JSON';
const NO_OBJECT = 'The request body must be one JSON object';
const NO_UTF8 = 'The request body is not UTF-8';
const bytes = (...values: number[]): Uint8Array =>
  new Uint8Array([...new TextEncoder().encode('{"name":"'), ...values, 0x22, 0x7d]);
const bodies: readonly (readonly [what: string, body: string | Uint8Array, message: string])[] = [
  ['nothing', new Uint8Array(), EMPTY],
  ['half an object', '{"name":"x"', MALFORMED],
  ['an array', '[{"name":"x"}]', NO_OBJECT],
  ['latin1', bytes(0xe9), NO_UTF8],
  [
    '65 levels of arrays',
    `{"name":${'['.repeat(64)}${']'.repeat(64)}}`,
    'The request body is nested more than 64 levels deep',
  ],
];
for (const [what, body, message] of bodies) {
  runScenarios(shop, [
    {
      name: `a body that is ${what}`,
      method: 'POST',
      path: 'tags',
      headers: JSON_TYPE,
      body,
      status: 400,
      code: 'BAD_REQUEST',
      message,
    },
  ]);
}
runScenarios(shop, [
  {
    name: 'a body at the limit',
    method: 'PUT',
    path: 'tags/1',
    headers: JSON_TYPE,
    body: `{"name":"gift"}${' '.repeat(4096 - 15)}`,
    status: 200,
  },
  {
    name: 'a body one byte beyond it',
    method: 'PUT',
    path: 'tags/1',
    headers: JSON_TYPE,
    body: `{"name":"gift"}${' '.repeat(4097 - 15)}`,
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    message: 'The request body is larger than 4096 bytes',
  },
  {
    name: '_query has the limit, too',
    method: 'POST',
    path: 'tags/_query',
    headers: JSON_TYPE,
    body: ' '.repeat(5000),
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
  },
]);

test('a body in chunks is cut off at the limit', async () => {
  const { socket, answer } = openConnection(server.url);
  socket.write(
    rawRequest('POST', '/api/v1/acme/shop/tags', [
      `Authorization: Bearer ${shop.key}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ]),
  );
  for (let index = 0; index < 5; index++) socket.write(`400\r\n${' '.repeat(0x400)}\r\n`);
  const { status, text } = await answer;
  socket.destroy();
  assert.equal(status, 413, text);
  assert.equal(JSON.parse(text).error.code, 'PAYLOAD_TOO_LARGE');
});

test('a body that stops arriving is refused, and nothing is kept of it', async () => {
  const headers = [`Authorization: Bearer ${shop.key}`, 'Content-Type: application/json', 'Content-Length: 100'];
  const { status, text } = await sendBytes(
    server.url,
    `${rawRequest('POST', '/api/v1/acme/shop/tags', headers)}{"name":"half`,
  );
  assert.equal(status, 400, text);
  assert.equal(JSON.parse(text).error.message, 'The request body stopped arriving');
  assert.deepEqual((await shop.call('tags?filter=name,startsWith,half')).json.data, []);
});

runScenarios(shop, [
  {
    name: 'an unknown parameter is named, with a suggestion and what there is',
    path: 'tags?expnd=orders',
    status: 400,
    code: 'BAD_REQUEST',
    message: `Unknown query parameter expnd. Did you mean expand? Known: ${listParameterNames('list', 'query')}`,
  },
  { name: 'parameters that start with an underscore are ignored', path: 'tags/1?_=1732212345&_cache=x', status: 200 },
]);
