// Origins of a mount that cannot be looked up: only answers without records are left to the pages of the server's origins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceUnavailable } from '../../../src/errors.ts';
import { DEFAULT_ERROR_HANDLING, type Mount, type UrlOrigins } from '../../../src/http/router.ts';
import { json } from '../../../src/response/reply.ts';
import { serveMounts } from '../../support/mount-server.ts';

const ORIGIN = 'https://app.example.com';

const makeMount = (corsOrigins: UrlOrigins): Mount => ({
  ...DEFAULT_ERROR_HANDLING,
  matches: () => true,
  readyFirst: true,
  operations: [],
  corsOrigins,
  getOperationName: () => 'test',
  handle: async ({ path }) => {
    if (path === '/down') throw serviceUnavailable('DATABASE_UNAVAILABLE', 'down');
    return json(200, { path });
  },
});

/** Returns the allowed origin of an answer for each request. */
async function findAllowed(corsOrigins: UrlOrigins, requests: readonly (readonly [method: string, path: string])[]) {
  const { url, close } = await serveMounts([makeMount(corsOrigins)]);
  try {
    const allowed: (string | null)[] = [];
    for (const [method, path] of requests) {
      const headers = { origin: ORIGIN, 'access-control-request-method': 'GET', connection: 'close' };
      const answer = await fetch(url + path, { method, headers });
      allowed.push(answer.headers.get('access-control-allow-origin'));
    }
    return allowed;
  } finally {
    await close();
  }
}

const REQUESTS = [
  ['GET', '/records'],
  ['GET', '/down'],
  ['OPTIONS', '/records'],
] as const;

test('while a look-up fails, no page reads records, and every page of the server why', async () => {
  const find = () => Promise.reject(new Error('no database'));
  assert.deepEqual(await findAllowed({ getCached: () => undefined, find }, REQUESTS), [null, '*', '*']);
});

test('a look-up that takes its time is awaited, and memory is not used for preflights', async () => {
  const find = async () => [ORIGIN];
  assert.deepEqual(await findAllowed({ getCached: () => undefined, find }, REQUESTS), [ORIGIN, ORIGIN, ORIGIN]);
  assert.deepEqual(await findAllowed({ getCached: () => [], find }, REQUESTS), [null, null, ORIGIN]);
});
