// Which requests are those of the console's own page, by what browsers say of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkOrigin } from '../../../src/console-api/same-origin.ts';
import { ApiError } from '../../../src/errors.ts';

const OURS = 'https://data.example.com';
const JSON_TYPE = { 'content-type': 'application/json' };
const MARK = { 'x-console': '1' };

/** The status of the refusal; 0: none. */
function statusOf(method: string, headers: Record<string, string>, path = '/console/api/v1/a/b/c'): number {
  try {
    checkOrigin(method, path, { host: 'data.example.com', ...headers }, OURS);
    return 0;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.status;
  }
}

for (const [words, method, headers, status] of [
  ['the page reads', 'GET', { 'sec-fetch-site': 'same-origin' }, 0],
  ['a link of the page', 'HEAD', { 'sec-fetch-site': 'same-origin' }, 0],
  ['a page of another port of the host', 'GET', { 'sec-fetch-site': 'same-site' }, 403],
  ['a page elsewhere', 'GET', { 'sec-fetch-site': 'cross-site', ...MARK }, 403],
  ['an address that is typed', 'GET', { 'sec-fetch-site': 'none' }, 403],
  ['without Fetch Metadata: nothing tells', 'GET', {}, 403],
  ['without Fetch Metadata: marked', 'GET', MARK, 0],
  ['without Fetch Metadata: our origin', 'GET', { origin: OURS }, 0],
  ['without Fetch Metadata: our host', 'GET', { origin: 'http://data.example.com' }, 0],
  ['without Fetch Metadata: another origin, marked', 'GET', { origin: 'https://evil.example', ...MARK }, 403],
  ['without Fetch Metadata: a sandboxed page', 'GET', { origin: 'null', ...MARK }, 403],
  ['Fetch Metadata counts more than Origin', 'GET', { 'sec-fetch-site': 'cross-site', origin: OURS }, 403],
  ['the page changes', 'POST', { 'sec-fetch-site': 'same-origin', ...MARK, ...JSON_TYPE }, 0],
  ['a change without the mark', 'POST', { 'sec-fetch-site': 'same-origin', ...JSON_TYPE }, 403],
  ['a change without a type', 'DELETE', { 'sec-fetch-site': 'same-origin', ...MARK }, 415],
  ['the type of a form', 'POST', { 'sec-fetch-site': 'same-origin', ...MARK, 'content-type': 'text/plain' }, 415],
] as const) {
  test(`${words}: ${status === 0 ? 'let in' : status}`, () => assert.equal(statusOf(method, headers), status));
}

test('an import has types of its own', () => {
  const headers = { 'sec-fetch-site': 'same-origin', ...MARK, 'content-type': 'text/csv' };
  assert.equal(statusOf('POST', headers, '/console/api/v1/a/b/c/_import'), 0);
  assert.equal(statusOf('POST', headers), 415);
});
