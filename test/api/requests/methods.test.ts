// Paths, ids, methods and headers of the data API, whatever the entity.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { rawRequest, sendBytes } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { makeShop } from '../../support/shop.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer();
const shop = use(() => makeShop(server));

runScenarios(shop, [
  {
    name: 'an entity that does not exist is named, with a suggestion and what there is',
    path: 'custommers',
    status: 404,
    code: 'NOT_FOUND',
    message: /^Entity custommers does not exist\. Did you mean customers\? Known: countries, customers,/,
  },
  { name: 'entity names are case-sensitive', path: 'Customers/1', status: 404, code: 'NOT_FOUND' },
  {
    name: 'a path below a record names nothing, and the refusal says where related records are',
    path: 'customers/1/orders',
    status: 404,
    code: 'NOT_FOUND',
    message:
      /^Records are at \S+, and one at \{entity\}\/\{id\}\. Did you mean customers\/1\?expand=orders or orders\?filter=customerId,eq,1\? Entities: /,
  },
  {
    name: 'a path below a record that no relation has',
    path: 'customers/1/nothing',
    status: 404,
    code: 'NOT_FOUND',
    message: /^Records are at \S+, and one at \{entity\}\/\{id\}\. Entities: /,
  },
  { name: 'an operation that does not exist', path: 'customers/_search', status: 404, code: 'NOT_FOUND' },
  { name: 'a trailing slash of a list', path: 'tags/?size=1', status: 200, data: [{ id: 1, name: 'gift' }] },
  { name: 'a trailing slash of a record', path: 'tags/1/', status: 200, data: { id: 1, name: 'gift' } },
  { name: 'percent-encoded names are decoded', path: '%74ags/%31', status: 200, data: { id: 1, name: 'gift' } },
]);

for (const id of ['abc', "1'--"]) {
  runScenarios(shop, [
    {
      name: `id ${id} is malformed`,
      path: `customers/${id}`,
      status: 400,
      code: 'BAD_REQUEST',
      message: /^Id .* is malformed/,
    },
    {
      name: `id ${id} is malformed for a delete`,
      method: 'DELETE',
      path: `customers/${id}`,
      status: 400,
      code: 'BAD_REQUEST',
    },
  ]);
}
for (const id of ['0', '9223372036854775807', '9223372036854775808']) {
  runScenarios(shop, [
    { name: `no record has id ${id}`, path: `customers/${id}`, status: 404, code: 'NOT_FOUND' },
    {
      name: `no record with id ${id} to update`,
      method: 'PUT',
      path: `customers/${id}`,
      body: { vip: true },
      status: 404,
      code: 'NOT_FOUND',
    },
    {
      name: `no record with id ${id} to delete`,
      method: 'DELETE',
      path: `customers/${id}`,
      status: 404,
      code: 'NOT_FOUND',
    },
  ]);
}

const COLLECTION = 'GET, HEAD, POST, OPTIONS';
const RECORD = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS';
for (const [method, path, allowed] of [
  ['PUT', 'customers', COLLECTION],
  ['PATCH', 'customers', COLLECTION],
  ['DELETE', 'customers', COLLECTION],
  ['PROPFIND', 'customers', COLLECTION],
  ['POST', 'customers/1', RECORD],
  ['QUERY', 'customers/1', RECORD],
  ['GET', 'customers/_query', 'POST, OPTIONS'],
  ['DELETE', 'customers/_query', 'POST, OPTIONS'],
  ['GET', 'customers/_import', 'POST, OPTIONS'],
  ['POST', 'customers/_export', 'GET, HEAD, OPTIONS'],
] as const) {
  runScenarios(shop, [
    {
      name: `${method} is not allowed on ${path}`,
      method,
      path,
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
      message: `Method ${method} is not allowed here. Allowed: ${allowed}`,
      check: ({ headers }) => assert.equal(headers.get('allow'), allowed),
    },
  ]);
}

for (const path of ['customers?size=2', 'customers/1', 'customers/1?expand=orders', 'customers/99', 'nothing']) {
  test(`HEAD ${path} answers with the headers of GET and no body`, async () => {
    const get = await shop.call(path);
    const head = await shop.call(path, { method: 'HEAD' });
    assert.equal(head.status, get.status);
    assert.equal(head.text, '');
    for (const name of ['content-type', 'content-length', 'etag', 'vary']) {
      assert.equal(head.headers.get(name), get.headers.get(name), name);
    }
  });
}

test('OPTIONS is answered, also without a credential', async () => {
  for (const path of ['customers', 'customers/1', 'nothing']) {
    const answer = await shop.call(path, { method: 'OPTIONS', credential: null });
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get('allow') ?? '', /GET.*POST.*PUT.*DELETE/);
  }
});

test('a write takes no query parameters but those that start with an underscore', async () => {
  const refused = await shop.call('tags?expand=orders', { method: 'POST', body: { name: 'x' } });
  assert.equal(refused.status, 400);
  assert.match(refused.json.error.message, /^Unknown query parameter expand\./);
  assert.equal((await shop.call('tags/1?fields=id', { method: 'PUT', body: {} })).status, 400);
  assert.equal((await shop.call('tags/1?size=1', { method: 'DELETE' })).status, 400);
  assert.equal((await shop.call('tags/1?_=1', { method: 'PUT', body: {} })).status, 200);
});

test('a DELETE with a body deletes, and the connection goes on', async () => {
  const [tag] = await shop.create('tags', [{ name: 'with a body' }]);
  const gone = await shop.call(`tags/${tag.id}`, { method: 'DELETE', body: { any: 'thing' } });
  assert.equal(gone.status, 204);
  assert.equal((await shop.call('tags/1')).status, 200);
});

test('every response has a request id of its own', async () => {
  const ids = new Set<string | null>();
  for (const [path, credential] of [
    ['tags', shop.key],
    ['tags/99', shop.key],
    ['tags', null],
  ] as const) {
    ids.add((await shop.call(path, { credential })).headers.get('x-request-id'));
  }
  assert.equal(ids.size, 3);
  assert.ok(!ids.has(null));
});

test('an expectation that is unknown is ignored, as RFC 9110 section 10.1.1 allows', async () => {
  const headers = [`Authorization: Bearer ${shop.key}`, 'Expect: wonders'];
  const answer = await sendBytes(server.url, rawRequest('GET', '/api/v1/acme/shop/tags/1?fields=id', headers));
  assert.deepEqual([answer.status, answer.text], [200, '{"data":{"id":1}}']);
  assert.ok(answer.headers.get('x-request-id'));
});

test('the whole URL as the target of a request is taken, as RFC 9112 says', async () => {
  const headers = [`Authorization: Bearer ${shop.key}`];
  for (const [target, status] of [
    ['http://test/api/v1/acme/shop/tags/1?fields=id', 200],
    ['HTTPS://example.com:8443/api/v1/acme/shop/tags/1?fields=id', 200],
    ['http://test/healthz', 200],
    ['http://test', 200],
    ['http://test?x=1', 400],
    ['*', 400],
    ['ftp://test/api/v1/acme/shop/tags/1', 404],
  ] as const) {
    const answer = await sendBytes(server.url, rawRequest('GET', target, headers));
    assert.equal(answer.status, status, `${target}: ${answer.text}`);
    if (target.includes('fields')) assert.equal(answer.text, '{"data":{"id":1}}');
  }
  assert.equal((await sendBytes(server.url, rawRequest('OPTIONS', '*', []))).status, 204);
});

/** Sent on one connection before the first is answered. */
const COUNT = 40;

test('requests that wait on one connection are all answered, and are no leak to Node', async () => {
  const workspace = await server.workspace('acme/pipelined', {
    entities: { items: { fields: { n: { type: 'integer' } } } },
  });
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on('warning', onWarning);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  try {
    const requests = Array.from({ length: COUNT }, (_, n) => {
      const body = JSON.stringify({ data: [{ n }] });
      return `POST /api/v1/${workspace.path}/items/_bulk HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${workspace.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    });
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk;
    });
    socket.write(requests.join(''));
    const statuses = (): string[] => answers.match(/HTTP\/1\.1 \d+/g) ?? [];
    await until('all are answered', () => statuses().length === COUNT);
    assert.deepEqual(new Set(statuses()), new Set(['HTTP/1.1 201']));
    assert.deepEqual(
      warnings.filter((warning) => warning.startsWith('MaxListeners')),
      [],
    );
  } finally {
    socket.destroy();
    process.off('warning', onWarning);
  }
});
