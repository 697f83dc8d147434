// Origins of a mount that cannot be looked up: only answers without records are left to the pages of the server's origins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceUnavailable } from '../../../src/errors.ts';
import { DEFAULT_ERROR_HANDLING, type Mount, type UrlOrigins } from '../../../src/http/router.ts';
import { makeHttpServer } from '../../../src/http/server.ts';
import { makeAnswerBudget } from '../../../src/limits/memory-budget.ts';
import type { Observer } from '../../../src/observer.ts';
import { json } from '../../../src/response/reply.ts';

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
  const server = makeHttpServer({
    host: '127.0.0.1',
    port: 0,
    bodyTimeoutMs: 1000,
    minAnswerRate: { bytesPerSecond: 1, seconds: 1 },
    answerBudget: makeAnswerBudget(1_000_000),
    corsOrigins: '*',
    mounts: [makeMount(corsOrigins)],
    waitForThrottle: async () => undefined,
    unready: () => undefined,
    observer: { request: () => undefined } as unknown as Observer,
  });
  const port = await server.listen();
  try {
    const allowed: (string | null)[] = [];
    for (const [method, path] of requests) {
      const headers = { origin: ORIGIN, 'access-control-request-method': 'GET', connection: 'close' };
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
      allowed.push(answer.headers.get('access-control-allow-origin'));
    }
    return allowed;
  } finally {
    await server.close(1000);
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
