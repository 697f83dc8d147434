// What the SDK is given of a message: few values, and none of the arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toEnvelope } from '../../../src/mcp/envelope.ts';
import { parseExact } from '../../../src/model/exact-json.ts';

const many = (count: number) => Array.from({ length: count }, () => ({}));

test('the arguments of the tool are left out, whatever they are made of', () => {
  const params = { name: 'create_record', arguments: { record: many(100_000) }, _meta: { a: 1 } };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  assert.deepEqual(toEnvelope(message), { ...message, params: { ...params, arguments: {} } });
});

test('what is no object stays, so that the protocol refuses it', () => {
  for (const given of [undefined, null, 'x', 5, [], parseExact('1.50')]) {
    assert.deepEqual(toEnvelope({ params: { arguments: given } }), { params: { arguments: given } });
  }
  for (const params of [undefined, null, 'x', [1]]) assert.deepEqual(toEnvelope({ params }), { params });
});

test('at most 500 values besides', () => {
  // The message, its params and the list are three.
  const message = (count: number) => ({ params: { list: many(count) } });
  assert.deepEqual(toEnvelope(message(497)), message(497));
  for (const tooMany of [message(498), message(400_000), { params: { arguments: many(498) } }, { params: many(499) }]) {
    assert.throws(() => toEnvelope(tooMany), /at most 500 values/);
  }
  const wide = Object.fromEntries(many(100_000).map((_, at) => [`a${at}`, at]));
  assert.throws(() => toEnvelope({ params: wide }), /at most 500 values/);
});
