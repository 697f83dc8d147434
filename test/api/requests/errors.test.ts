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

for (const type of [
  undefined,
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=latin1',
  'application/jsonx',
  'json',
  '',
  'application/json, text/plain',
]) {
  runScenarios(shop, [
    {
      name: `a body of type ${type} is not taken`,
      method: 'POST',
      path: 'tags',
      headers: type === undefined ? {} : { 'content-type': type },
      body: new TextEncoder().encode('{"name":"x"}'),
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'The request body must be sent with Content-Type: application/json',
    },
  ]);
}
for (const type of [
  'application/json',
  'APPLICATION/JSON',
  'application/json;charset=utf-8',
  'application/json; charset="UTF-8"',
]) {
  runScenarios(shop, [
    {
      name: `a body of type ${type} is taken`,
      method: 'PUT',
      path: 'tags/1',
      headers: { 'content-type': type },
      body: '{"name":"gift"}',
      status: 200,
    },
  ]);
}

const EMPTY = 'The request body is empty; send a JSON object';
const MALFORMED = 'The request body is malformed JSON';
const NO_OBJECT = 'The request body must be one JSON object';
const NO_UTF8 = 'The request body is not UTF-8';
const bytes = (...values: number[]): Uint8Array =>
  new Uint8Array([...new TextEncoder().encode('{"name":"'), ...values, 0x22, 0x7d]);
const bodies: readonly (readonly [what: string, body: string | Uint8Array, message: string])[] = [
  ['nothing', new Uint8Array(), EMPTY],
  ['white space', ' \n\t', EMPTY],
  ['half an object', '{"name":"x"', MALFORMED],
  ['a comma too many', '{"name":"x",}', MALFORMED],
  ['single quotes', "{'name':'x'}", MALFORMED],
  ['a comment', '{"name":"x"} // y', MALFORMED],
  ['two objects', '{"name":"x"}{"name":"y"}', MALFORMED],
  ['two lines of objects', '{"name":"x"}\n{"name":"y"}', MALFORMED],
  ['NaN', '{"name":NaN}', MALFORMED],
  ['a number with a leading zero', '{"name":01}', MALFORMED],
  ['a raw line feed in a string', '{"name":"a\nb"}', MALFORMED],
  ['a raw NUL in a string', '{"name":"a\u0000b"}', MALFORMED],
  ['half an escape', '{"name":"\\u12"}', MALFORMED],
  ['a form', 'name=x', MALFORMED],
  ['an array', '[{"name":"x"}]', NO_OBJECT],
  ['a string', '"name"', NO_OBJECT],
  ['a number', '1', NO_OBJECT],
  ['a number with more digits than a double keeps', '1.00000000000000000001', NO_OBJECT],
  ['null', 'null', NO_OBJECT],
  ['true', 'true', NO_OBJECT],
  ['a byte that UTF-8 does not have', bytes(0xff), NO_UTF8],
  ['half a character', bytes(0xc3), NO_UTF8],
  ['an overlong encoding', bytes(0xc0, 0x80), NO_UTF8],
  ['an encoded surrogate', bytes(0xed, 0xa0, 0x80), NO_UTF8],
  ['latin1', bytes(0xe9), NO_UTF8],
  ['UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), NO_UTF8],
  [
    '65 levels of arrays',
    `{"name":${'['.repeat(64)}${']'.repeat(64)}}`,
    'The request body is nested more than 64 levels deep',
  ],
  [
    '65 levels of objects',
    `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
    'The request body is nested more than 64 levels deep',
  ],
  ['thousands of levels that never end', '['.repeat(4000), 'The request body is nested more than 64 levels deep'],
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
    {
      name: `an update that is ${what}`,
      method: 'PUT',
      path: 'tags/1',
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
    name: '64 levels are taken, also when strings look like more',
    method: 'PUT',
    path: 'products/1',
    headers: JSON_TYPE,
    body: `{"details":${'['.repeat(63)}"[[[{\\"[[["${']'.repeat(63)}}`,
    status: 200,
  },
  {
    name: 'of duplicate keys the last counts',
    method: 'PUT',
    path: 'tags/1',
    headers: JSON_TYPE,
    body: '{"name":7,"id":99,"name":"gift","id":1}',
    status: 200,
    data: { id: 1, name: 'gift' },
  },
  {
    name: 'for refusals, too',
    method: 'PUT',
    path: 'tags/1',
    headers: JSON_TYPE,
    body: '{"name":"gift","name":7}',
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['name TYPE_MISMATCH'],
  },
  {
    name: 'names that only look like keys of objects',
    method: 'POST',
    path: 'tags',
    headers: JSON_TYPE,
    body: '{"__proto__":{"name":"x"},"constructor":1,"toString":2}',
    status: 400,
    code: 'VALIDATION_FAILED',
    details: ['__proto__ UNKNOWN_FIELD', 'constructor UNKNOWN_FIELD', 'toString UNKNOWN_FIELD', 'name REQUIRED'],
  },
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

test('a Read Only key is refused before its body is read', async () => {
  const headers = [
    `Authorization: Bearer ${shop.readOnlyKey}`,
    'Content-Type: application/json',
    'Content-Length: 1000',
  ];
  const { status, text } = await sendBytes(server.url, rawRequest('POST', '/api/v1/acme/shop/tags', headers));
  assert.equal(status, 403, text);
  assert.equal(JSON.parse(text).error.message, READ_ONLY);
});

runScenarios(shop, [
  {
    name: 'an unknown parameter is named, with a suggestion and what there is',
    path: 'tags?expnd=orders',
    status: 400,
    code: 'BAD_REQUEST',
    message: `Unknown query parameter expnd. Did you mean expand? Known: ${listParameterNames('list', 'query')}`,
  },
  {
    name: 'an unknown parameter of a single record',
    path: 'tags/1?page=0',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Unknown query parameter page. Known: expand, fields',
  },
  {
    name: 'a parameter in another case',
    path: 'tags?Size=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /Did you mean size\?/,
  },
  { name: 'a parameter without a name', path: 'tags?=1', status: 400, code: 'BAD_REQUEST' },
  { name: 'a parameter of brackets', path: 'tags?filter[name]=gift', status: 400, code: 'BAD_REQUEST' },
  { name: 'parameters that start with an underscore are ignored', path: 'tags/1?_=1732212345&_cache=x', status: 200 },
  { name: 'empty pairs are ignored', path: 'tags/1?&&fields=id&', status: 200, data: { id: 1 } },
  { name: 'a question mark alone', path: 'tags/1?', status: 200 },
  {
    name: 'more than 200 parameters',
    path: `tags?${'_=1&'.repeat(201)}`,
    status: 400,
    code: 'BAD_REQUEST',
    message: 'More than 200 query parameters',
  },
  {
    name: 'a parameter that does not decode',
    path: 'tags?fields=%E0%A4%A',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^The query string is malformed/,
  },
  {
    name: 'a name that does not decode',
    path: 'tags?%ff=1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^The query string is malformed/,
  },
  { name: 'a plus is a space', path: 'tags?filter=name,eq,two+words', status: 200, data: [] },
]);
