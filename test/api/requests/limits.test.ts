// Limits that are settings: the size of responses and pages, requests per minute, origins of browsers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { type Answer, startTestServer, type TestServer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

/** Another process with settings of its own, over the same database. */
async function withServer(
  env: Readonly<Record<string, string>>,
  work: (call: (path: string, options?: Parameters<TestServer['call']>[1]) => Promise<Answer>) => Promise<void>,
): Promise<void> {
  const limited = await startTestServer(env, server.database);
  try {
    await work((path, options = {}) =>
      limited.call(`/api/v1/${shop.path}/${path}`, { credential: shop.key, ...options }),
    );
  } finally {
    await limited.stop();
  }
}

const TOO_LARGE =
  'The response would be larger than 1024 bytes. Narrow it: a smaller size, fewer fields (leave large ones out by fields=), or a limit on an expanded list such as <relation>.size=10';

test('a response of more bytes than its limit is refused, never cut', async () => {
  const [wide] = await shop.create('products', [{ sku: 'WIDE', title: '日'.repeat(400) }]);
  await withServer({ WDA_MAX_RESPONSE_BYTES: '1024' }, async (call) => {
    for (const [path, options] of [
      ['orders?expand=items.product', {}],
      ['customers?expand=country&sort=name', {}],
      ['customers/1?expand=orders.items.product', {}],
      ['customers?count=none&expand=orders', {}],
      ['customers/_query', { method: 'POST', body: { expand: ['country'] } }],
      // Bytes are counted, not characters.
      [`products?filter=id,eq,${wide.id}`, {}],
    ] as const) {
      const answer = await call(path, options);
      assert.equal(answer.status, 400, `${path}: ${answer.text}`);
      assert.deepEqual(answer.json, {
        error: { code: 'BAD_REQUEST', message: TOO_LARGE, reason: 'RESPONSE_TOO_LARGE' },
      });
    }
    for (const path of [
      'orders?fields=id',
      'customers?size=2',
      'customers/1?expand=orders.items.product&orders.size=1&fields=orders.items.id',
      'tags',
    ]) {
      const answer = await call(path);
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    }
  });
});

test('the largest page is a setting, for pages, expanded lists and queries', async () => {
  await withServer({ WDA_MAX_PAGE_SIZE: '3' }, async (call) => {
    assert.equal((await call('tags?size=3')).json.data.length, 3);
    for (const [path, options, name] of [
      ['tags?size=4', {}, 'size'],
      ['tags?expand=orders&orders.size=4', {}, 'orders.size'],
      ['tags/_query', { method: 'POST', body: { size: 4 } }, 'size'],
    ] as const) {
      const answer = await call(path, options);
      assert.equal(answer.status, 400);
      assert.equal(answer.json.error.message, `${name} must be an integer from 1 to 3`);
    }
    const { json } = await call('tags');
    assert.deepEqual([json.data.length, json.meta.size, json.meta.totalPages], [3, 3, 2]);
  });
});

test('requests per minute are limited by credential', async () => {
  const limit = 20;
  await withServer({ WDA_RATE_LIMIT: String(limit) }, async (call) => {
    let refused: Answer | undefined;
    let allowed = 0;
    // Some come back while the requests run; twice the limit cannot.
    while (refused === undefined && allowed <= 2 * limit) {
      const answer = await call(allowed % 2 === 0 ? 'tags/1' : 'tags?sort=nothing');
      if (answer.status === 429) refused = answer;
      else allowed++;
    }
    // One more went for the document that answers are held against.
    assert.ok(refused !== undefined && allowed >= limit - 1, `${allowed} were allowed`);
    assert.equal(refused.json.error.code, 'RATE_LIMITED');
    const seconds = refused.json.retryAfterSeconds;
    assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, refused.text);
    assert.equal(refused.headers.get('retry-after'), String(seconds));
    assert.equal(refused.json.error.message, `Too many requests; retry after ${seconds} seconds`);
    assert.equal((await call('tags/1', { credential: shop.readOnlyKey })).status, 200);
    assert.equal((await call('tags/1', { credential: null })).status, 401);
    // Here, too, one comes back every three seconds.
    let written = 0;
    for (; written <= limit; written++)
      if ((await call('tags', { method: 'POST', body: { name: `x${written}` } })).status === 429) break;
    assert.ok(written <= limit, `${written} writes were allowed`);
  });
});

test('without a setting nothing is limited', async () => {
  const answers = await Promise.all(Array.from({ length: 300 }, () => shop.call('tags/1')));
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
});

const ORIGIN = 'https://app.example.com';
const preflight = {
  method: 'OPTIONS',
  credential: null,
  headers: {
    origin: ORIGIN,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization,content-type,if-match',
  },
};

test('by default every origin may call, without cookies', async () => {
  const asked = await shop.call('tags', preflight);
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get('access-control-allow-origin'), '*');
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.ok(asked.headers.get('access-control-allow-methods')?.split(', ').includes(method), method);
  }
  for (const header of [
    ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'Idempotency-Key', 'Traceparent'],
    ...['Last-Event-ID', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
  ]) {
    assert.ok(asked.headers.get('access-control-allow-headers')?.split(', ').includes(header), header);
  }
  const headers = { origin: ORIGIN };
  for (const answer of [
    asked,
    await shop.call('tags', { headers }),
    await shop.call('tags/99', { headers }),
    await shop.call('tags', { headers, credential: null }),
    await shop.call('tags?x=1', { headers }),
    await shop.call('tags', { headers, method: 'DELETE' }),
    await server.call('/nothing', { headers }),
  ]) {
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? [];
    for (const header of ['ETag', 'Link', 'Location', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'])
      assert.ok(exposed.includes(header), header);
  }
});

test('with a list of origins only they are let in, and caches are told', async () => {
  await withServer({ WDA_CORS_ORIGINS: `${ORIGIN}, http://localhost:5173` }, async (call) => {
    for (const origin of [ORIGIN, 'http://localhost:5173']) {
      for (const options of [{}, preflight]) {
        const answer = await call('tags', { ...options, headers: { ...preflight.headers, origin } });
        assert.equal(answer.headers.get('access-control-allow-origin'), origin);
        assert.match(answer.headers.get('vary') ?? '', /\bOrigin\b/);
      }
    }
    for (const origin of [
      'https://evil.example.com',
      'http://app.example.com',
      `${ORIGIN}.evil.example`,
      `${ORIGIN}:8443`,
      'null',
      '',
    ]) {
      const answer = await call('tags', { headers: { origin } });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('access-control-allow-origin'), null, origin);
      assert.match(answer.headers.get('vary') ?? '', /\bOrigin\b/);
    }
  });
});

test('with an empty list no origin is let in', async () => {
  await withServer({ WDA_CORS_ORIGINS: '' }, async (call) => {
    assert.equal(
      (await call('tags', { headers: { origin: ORIGIN } })).headers.get('access-control-allow-origin'),
      null,
    );
  });
});
