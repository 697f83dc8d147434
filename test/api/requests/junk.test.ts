// Junk in every position of a request: refused or harmless, never a 500, and nothing internal on the wire.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JUNK, JUNK_VALUES } from '../../support/invalid-input.ts';
import { type RawAnswer, rawRequest, sendBytes } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/resources.ts';
import { INTERNALS } from '../../support/scenario.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';
import { fillShop, SHOP_SCHEMA, TYPES_SCHEMA } from '../../support/shop.ts';

async function make(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/shop', {
    entities: { ...SHOP_SCHEMA.entities, samples: TYPES_SCHEMA.entities.samples },
  });
  await fillShop(workspace);
  return workspace;
}

const server = useServer();
const shop = use(() => make(server));

function judge(answer: RawAnswer, where: string): void {
  const told = `${where} -> ${answer.status} ${answer.text.slice(0, 300)}`;
  assert.ok(answer.status >= 200 && answer.status < 500, told);
  assert.ok(!answer.headers.has('x-injected'), told);
  if (answer.status < 400) return;
  const { error } = JSON.parse(answer.text);
  assert.match(error.code, /^[A-Z_]+$/, told);
  assert.equal(typeof error.message, 'string', told);
  assert.doesNotMatch(answer.text, INTERNALS, told);
}

async function send(method: string, path: string, headers: readonly string[] = [], body = ''): Promise<RawAnswer> {
  const all = [`Authorization: Bearer ${shop.key}`, ...headers];
  return sendBytes(server.url, Buffer.from(rawRequest(method, path, all, body), 'latin1'));
}

/** A few at a time: each is a connection. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}

const BASE = '/api/v1/acme/shop';
const PATHS: readonly ((junk: string) => string)[] = [
  (junk) => `/${junk}`,
  (junk) => `/api/${junk}`,
  (junk) => `/api/v1/${junk}`,
  (junk) => `/api/v1/${junk}/shop/tags`,
  (junk) => `/api/v1/acme/${junk}/tags`,
  (junk) => `${BASE}/${junk}`,
  (junk) => `${BASE}/tags/${junk}`,
  (junk) => `${BASE}/tags/1/${junk}`,
  (junk) => `${BASE}/tags?${junk}`,
  (junk) => `${BASE}/tags?${junk}=1`,
  (junk) => `${BASE}/tags?_=${junk}`,
  (junk) => `${BASE}/tags?orders.${junk}=1&expand=orders`,
  (junk) => `${BASE}/tags?${junk}.size=1`,
  (junk) => `/api/admin/v1/organizations/${junk}`,
  (junk) => `/api/admin/v1/organizations/acme/workspaces/${junk}`,
];
for (const path of PATHS) {
  test(`junk in the path ${path('…')}`, async () => {
    await each(JUNK, async (junk) => judge(await send('GET', path(junk)), `GET ${path(junk)}`));
  });
}
for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
  test(`junk in the path of a ${method}`, async () => {
    await each(JUNK, async (junk) => {
      for (const path of [`${BASE}/${junk}`, `${BASE}/none/${junk}`, `${BASE}/countries/${junk}`]) {
        if (path === `${BASE}/countries/` || junk === '0' || junk === '-0') continue;
        judge(
          await send(method, path, ['Content-Type: application/json'], '{"code":"no such country"}'),
          `${method} ${path}`,
        );
      }
    });
  });
}
for (const name of ['page', 'size', 'sort', 'filter', 'or', 'expand', 'fields', 'count', 'after']) {
  test(`junk in the parameter ${name}`, async () => {
    await each(JUNK, async (junk) => {
      judge(await send('GET', `${BASE}/orders?${name}=${junk}`), `${name}=${junk}`);
      if (/^(sort|filter|or|expand|fields)$/.test(name)) {
        judge(
          await send('GET', `${BASE}/orders?expand=customer,tags&${name}=customer.${junk}`),
          `${name}=customer.${junk}`,
        );
        judge(await send('GET', `${BASE}/orders?expand=tags&tags.${name}=${junk}`), `tags.${name}=${junk}`);
      }
    });
  });
}
test('junk in the value of a filter, whatever the type', async () => {
  const fields = Object.keys(TYPES_SCHEMA.entities.samples.fields);
  const operators = ['eq', 'in', 'lt', 'contains'];
  await each([...JUNK.entries()], async ([index, junk]) => {
    if (/^[#&]/.test(junk)) return;
    for (const [at, field] of fields.entries()) {
      const filter = `${field},${operators[(index + at) % operators.length]},${junk}`;
      judge(await send('GET', `${BASE}/samples?count=none&filter=${filter}`), filter);
    }
  });
});

const HEADERS = [
  ...'Authorization Content-Type Content-Length Transfer-Encoding If-Match If-None-Match Origin Accept'.split(' '),
  ...'Accept-Encoding Host Cookie Connection X-Request-Id Upgrade Range Content-Encoding'.split(' '),
  ...'X-HTTP-Method-Override X-Forwarded-For'.split(' '),
];
for (const name of HEADERS) {
  test(`junk in the header ${name}`, async () => {
    await each(
      [
        ...JUNK,
        '"',
        'W/"',
        '"",',
        'Bearer',
        'Bearer  ',
        'Bearer a b',
        'Basic YTpi',
        `Bearer wda_${'a'.repeat(51)}`,
        'identity, chunked',
      ],
      async (junk) => {
        // What announces a body that never comes is waited for; that is errors.test.ts's.
        if (name === 'Content-Length' && /^\d/.test(junk) && Number(junk) > 0) return;
        judge(await send('GET', `${BASE}/tags/1`, [`${name}: ${junk}`]), `GET with ${name}: ${junk}`);
        if (name === 'Content-Length' || name === 'Transfer-Encoding') return;
        judge(await send('PUT', `${BASE}/tags/99`, [`${name}: ${junk}`], '{"name":"x"}'), `PUT with ${name}: ${junk}`);
      },
    );
  });
}

const requests: readonly (readonly [what: string, bytes: string, statuses: readonly number[]])[] = [
  ['no request at all', 'hello\r\n\r\n', [400]],
  ['another protocol', '\u0016\u0003\u0001\u0002\u0000\u0001', [400]],
  ['no path', 'GET HTTP/1.1\r\n\r\n', [400]],
  ['a path with a space', `GET ${BASE}/tags x HTTP/1.1\r\nHost: x\r\n\r\n`, [400]],
  ['two lengths', `POST ${BASE}/tags HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, [400]],
  [
    'a length and chunks',
    `POST ${BASE}/tags HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    [400],
  ],
  ['a negative length', `POST ${BASE}/tags HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`, [400]],
  ['a header without a colon', `GET ${BASE}/tags HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n`, [400]],
  ['a header with a space before the colon', `GET ${BASE}/tags HTTP/1.1\r\nHost : x\r\n\r\n`, [400]],
  ['no host', `GET ${BASE}/tags HTTP/1.1\r\n\r\n`, [400, 401]],
  ['two hosts', `GET ${BASE}/tags HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n`, [400]],
  ['headers of 20 kB', `GET ${BASE}/tags HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, [431]],
  ['a path of 20 kB', `GET ${BASE}/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, [431]],
  ['a version of the future', `GET ${BASE}/tags HTTP/9.9\r\nHost: x\r\n\r\n`, [400]],
];
for (const [what, bytes, statuses] of requests) {
  test(`a request that is ${what}`, async () => {
    const answer = await sendBytes(server.url, Buffer.from(bytes, 'latin1'));
    judge(answer, what);
    assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
    assert.equal(JSON.parse(answer.text).error.code, answer.status === 401 ? 'UNAUTHORIZED' : 'BAD_REQUEST');
  });
}

test('junk in every field of a body', async () => {
  for (const field of Object.keys(TYPES_SCHEMA.entities.samples.fields)) {
    await each(JUNK_VALUES, async (value) => {
      const body = `{"${field}":${value}}`;
      judge(await send('POST', `${BASE}/samples`, ['Content-Type: application/json'], body), body.slice(0, 200));
    });
  }
});
test('junk in every place of a filter tree', async () => {
  await each(JUNK_VALUES, async (value) => {
    for (const filter of [
      value,
      `{"and":${value}}`,
      `{"not":${value}}`,
      `{"field":"total","op":"eq","value":${value}}`,
      `{"field":${value},"op":"eq","value":1}`,
      `{"field":"id","op":${value}}`,
      `{"field":"note","op":"in","value":[${value}]}`,
    ]) {
      const body = `{"filter":${filter}}`;
      const answer = await send('POST', `${BASE}/orders/_query`, ['Content-Type: application/json'], body);
      judge(answer, body.slice(0, 200));
    }
  });
});
test('a text too long for the unique index on it', async () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647);
  const email = Array.from({ length: 30_000 }, () => (random() % 36).toString(36)).join('');
  const answer = await shop.call('customers', { method: 'POST', body: { name: 'x', email } });
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
  assert.equal(answer.json.error.details[0].code, 'TOO_LONG');
});

test('random text in every position', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 }).map(encodeURIComponent);
  const path = fc.constantFrom(
    ...PATHS,
    ...['sort', 'filter', 'or', 'expand', 'fields', 'after'].map(
      (name) => (junk: string) => `${BASE}/orders?${name}=${junk}`,
    ),
  );
  await fc.assert(
    fc.asyncProperty(path, text, async (make, junk) => judge(await send('GET', make(junk)), make(junk))),
    { numRuns: 300 },
  );
});

test('after all that the server still answers, and the records are the same', async () => {
  const { json } = await shop.call('tags?fields=name');
  assert.deepEqual(json.data, [{ name: 'gift' }, { name: 'express' }, { name: 'wholesale' }, { name: 'unused' }]);
});
