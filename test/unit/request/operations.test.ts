// The table of operations: what a method on a place is, what a place allows, and that the reference page shows all of it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCall } from '../../../src/request/call.ts';
import {
  findOperation,
  getMethods,
  OPERATIONS,
  parseRecordTail,
  parseTail,
  WORKSPACE_OPERATIONS,
  type WorkspaceOperation,
} from '../../../src/request/operations.ts';
import { refuses } from '../../support/error-response.ts';

const PARTS = { query: '', conditions: {}, body: () => Promise.resolve(undefined) };

for (const [method, segment, operation, id] of [
  ['GET', undefined, 'list', ''],
  ['HEAD', undefined, 'list', ''],
  ['POST', undefined, 'create', ''],
  ['POST', '_query', 'query', ''],
  ['GET', '_aggregate', 'aggregate', ''],
  ['HEAD', '_aggregate', 'aggregate', ''],
  ['POST', '_aggregate', 'summarize', ''],
  ['POST', '_import', 'import', ''],
  ['GET', '_export', 'export', ''],
  ['GET', '5', 'read', '5'],
  ['GET', '', 'read', ''],
  ['GET', '_count', 'read', '_count'],
  ['PUT', '5', 'update', '5'],
  ['PATCH', '5', 'update', '5'],
  ['DELETE', '5', 'delete', '5'],
] as const) {
  test(`${method} of ${segment ?? 'nothing'} is ${operation}`, () => {
    const call = makeCall(method, 'orders', segment, PARTS);
    assert.deepEqual([call.operation, call.entity, call.id], [operation, 'orders', id]);
  });
}

for (const [method, segment, allowed] of [
  ['DELETE', undefined, 'GET, HEAD, POST, OPTIONS'],
  ['GET', '_query', 'POST, OPTIONS'],
  ['PUT', '_aggregate', 'GET, HEAD, POST, OPTIONS'],
  ['GET', '_import', 'POST, OPTIONS'],
  ['POST', '_export', 'GET, HEAD, OPTIONS'],
  ['POST', '5', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ['get', undefined, 'GET, HEAD, POST, OPTIONS'],
] as const) {
  test(`${method} of ${segment ?? 'nothing'} is not allowed`, () => {
    assert.equal(getMethods(parseTail(segment)).join(', '), allowed);
    refuses(() => makeCall(method, 'orders', segment, PARTS), /./, 'METHOD_NOT_ALLOWED');
  });
}

test('no two operations share a method and a place', () => {
  const places = Object.values(OPERATIONS).flatMap(({ methods, tail }) => methods.map((method) => `${method} ${tail}`));
  assert.equal(new Set(places).size, places.length);
  for (const [name, { methods, tail }] of Object.entries(OPERATIONS)) {
    for (const method of methods) assert.equal(findOperation(method, tail), name);
  }
});

test('after the id of a record there are words, and nothing else', () => {
  assert.equal(parseRecordTail(['5', '_history']), 'id/_history');
  assert.equal(parseRecordTail(['5', '_history', 'e_1']), 'id/_history/event');
  assert.equal(parseRecordTail(['5', '_history', 'e_1', 'x']), undefined);
  assert.equal(parseRecordTail(['5', '_restore']), 'id/_restore');
  assert.equal(parseRecordTail(['5', '_restore', 'e_1']), undefined);
  assert.equal(parseRecordTail(['5', 'orders']), undefined);
  assert.equal(parseRecordTail(['5']), undefined);
});

const toWords = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

test('the reference page shows each operation with its methods and its path', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'data-api.md'), 'utf8');
  const rows = new Map(
    [...page.matchAll(/^\| ([\w ]+) \| (.*?) \| /gm)].map(([, name = '', place = '']) => [name.toLowerCase(), place]),
  );
  for (const [name, operation] of Object.entries<WorkspaceOperation>(WORKSPACE_OPERATIONS)) {
    const methods = operation.methods.filter((method) => method !== 'HEAD');
    const tail = operation.tail === undefined ? '' : `/${operation.tail.replace('id', '{id}')}`;
    assert.equal(rows.get(toWords(name)), `\`${methods.join(' or ')} /${operation.name}${tail}\``);
  }
  for (const [name, { methods, tail }] of Object.entries(OPERATIONS)) {
    const place = rows.get(toWords(name)) ?? '';
    for (const method of methods.filter((one) => one !== 'HEAD'))
      assert.ok(place.includes(method), `${name}: ${place}`);
    const rest = tail.replace(/^id/, '{id}').replace(/event$/, '{event}');
    const path = `/{entity}${tail === '' ? '' : `/${rest}`}`;
    assert.ok(place.endsWith(`${path}\``), `${name}: ${place}`);
  }
});
