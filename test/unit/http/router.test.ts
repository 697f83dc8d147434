// How a table of routes takes URLs: which are its own, by which route they are answered, and what it refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../src/errors.ts';
import type { RawRequest } from '../../../src/http/request.ts';
import { type Mount, makeRouteMount, type Route } from '../../../src/http/router.ts';
import { json } from '../../../src/response/reply.ts';

const route = (method: Route['method'], pattern: string): Route => ({
  method,
  pattern,
  describe: {
    id: 'server.things',
    summary: 'Things',
    description: 'Whatever they are.',
    credential: 'none',
    params: {},
    query: { size: { type: 'integer' } },
    responses: { 200: { shape: {} } },
    errors: [],
  },
  handle: async ({ params, query }) =>
    json(200, { at: `${method} ${pattern}`, ...params, ...Object.fromEntries(query()) }),
});

const mount = makeRouteMount(
  [route('GET', '/things'), route('POST', '/things'), route('GET', '/things/:id'), route('PUT', '/things/:id/parts')],
  { readyFirst: true, maxBodyBytes: 100 },
);

/** The JSON of the answer, or the refusal. */
async function ask(of: Mount, method: string, url: string): Promise<unknown> {
  const [path = '', query = ''] = url.split('?');
  const raw = { id: 'a', method, path, query, headers: {} } as RawRequest;
  try {
    const reply = await of.handle(raw);
    assert.ok('body' in reply && reply.body.kind === 'text');
    return JSON.parse(reply.body.text);
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return `${error.status} ${error.message}`;
  }
}

for (const [method, url, operation, answer] of [
  ['GET', '/things', 'GET /things', { at: 'GET /things' }],
  ['GET', '/things/', 'GET /things', { at: 'GET /things' }],
  ['HEAD', '/things', 'GET /things', { at: 'GET /things' }],
  ['POST', '/things?size=2', 'POST /things', { at: 'POST /things', size: ['2'] }],
  ['GET', '/%74hings/a%2Fb', 'GET /things/:id', { at: 'GET /things/:id', id: 'a/b' }],
  ['GET', '/things?sizes=2', 'GET /things', /^400 .*sizes.*Did you mean size/],
  ['GET', '/things?_=2', 'GET /things', { at: 'GET /things' }],
  ['PUT', '/things', 'unknown', '405 Method PUT is not allowed here. Allowed: GET, POST'],
  ['PROPFIND', '/things/1', 'unknown', '405 Method PROPFIND is not allowed here. Allowed: GET'],
  ['GET', '/things/1/parts', 'unknown', '405 Method GET is not allowed here. Allowed: PUT'],
  ['GET', `/things/${'a'.repeat(200)}`, 'GET /things/:id', { at: 'GET /things/:id', id: 'a'.repeat(200) }],
  ['GET', `/things/${'a'.repeat(201)}`, 'unknown', '400 The path is malformed'],
] as const) {
  test(`${method} ${url.slice(0, 30)} is answered`, async () => {
    assert.ok(mount.matches(url));
    assert.equal(mount.getOperationName(method, url), operation);
    const given = await ask(mount, method, url);
    if (answer instanceof RegExp) assert.match(String(given), answer);
    else assert.deepEqual(given, answer);
  });
}

for (const url of ['/', '/thing', '/Things', '/things/1/2', '//things', '/things/%', '/things/1/part']) {
  test(`${url} is left to other mounts`, () => assert.equal(mount.matches(url), false));
}
