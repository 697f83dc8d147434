// Traces as a collector gets them: one for each request, below the caller's span, with its statements; and nothing in them
// that a client sent or a record holds.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { MODERN } from '../support/agent.ts';
import { use, useDatabase } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';

const TOOLS = join(import.meta.dirname, '../tools/otel');
const skip = existsSync(join(TOOLS, 'node_modules')) ? false : 'npm ci --prefix test/tools/otel has not been run';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A collector: takes spans by OTLP over HTTP, in JSON, and keeps them. */
async function startCollector() {
  const spans: Span[] = [];
  const resources: string[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as {
      resourceSpans: { resource: unknown; scopeSpans: { spans: Span[] }[] }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(JSON.stringify(resource));
      spans.push(...scopeSpans.flatMap((scope) => scope.spans));
    }
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, spans, resources, close: () => server.close() };
}

const database = useDatabase();
const collector = use(startCollector, ({ close }) => close());
const preload = [join(TOOLS, 'resolve.mjs'), join(import.meta.dirname, '../../src/otel.ts')];
const server = use(
  async () => {
    if (skip !== false) return { url: '', stop: async () => {} };
    return startServerProcess({
      DATABASE_URL: database.url,
      WDA_DEMO: 'on',
      NODE_OPTIONS: preload.map((path) => `--import ${pathToFileURL(path)}`).join(' '),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_SERVICE_NAME: 'shop-data',
    });
  },
  (started) => started.stop(),
);

const SECRET = 'Blue-Whale-4711';
const CALLER = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly key?: string;
  readonly trace?: string;
}

const ask = (path: string, { method = 'GET', body, key = ADMIN_KEY, trace }: Asked = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(trace === undefined ? {} : { traceparent: `00-${trace}-${CALLER.span}-01` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const attributesOf = ({ attributes }: Span): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** The spans of a trace, once its request's own is there, which comes after its statements. */
async function traceOf(id: string): Promise<{ readonly request: Span; readonly statements: readonly Span[] }> {
  const ofTrace = (): Span[] => collector.spans.filter(({ traceId }) => traceId === id);
  await until('the span of the request has come', () => ofTrace().some(({ kind }) => kind === 2));
  const [requests, statements] = [
    ofTrace().filter(({ kind }) => kind === 2),
    ofTrace().filter(({ kind }) => kind === 3),
  ];
  assert.equal(requests.length, 1);
  return { request: requests[0]!, statements };
}

test('a start without the packages names the command of the page, with the versions that these tests have', () => {
  const path = (name: string): string => join(import.meta.dirname, '../..', name);
  const { status, stderr } = spawnSync(process.execPath, ['--import', path('src/otel.ts'), '-e', '0'], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  const [command = ''] = /npm install @open.*/.exec(stderr) ?? [];
  assert.ok(readFileSync(path('docs/operations/traces.md'), 'utf8').includes(`\n${command}\n`), command);
  const { dependencies } = JSON.parse(readFileSync(join(TOOLS, 'package.json'), 'utf8'));
  const named = command.split(' ').slice(2);
  assert.equal(named.length, Object.keys(dependencies).length);
  for (const [name, version] of Object.entries(dependencies))
    assert.ok(
      named.some((one) => `${name}@${version}`.startsWith(`${one}.`)),
      `${name}@${version}`,
    );
});

test('a request is one trace below the span of its caller, with its statements', { skip }, async () => {
  const answer = await ask('/api/v1/demo/shop/orders?expand=customer&size=2', { trace: CALLER.trace });
  assert.equal(answer.status, 200);
  const { request, statements } = await traceOf(CALLER.trace);
  assert.equal(request.parentSpanId, CALLER.span);
  assert.equal(request.name, 'GET list');
  const { 'wda.request_id': id, ...attributes } = attributesOf(request);
  assert.equal(id, answer.headers.get('x-request-id'));
  assert.deepEqual(attributes, {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'http.response.status_code': 200,
    'wda.operation': 'list',
    'wda.workspace': 'demo/shop',
    'wda.entity': 'orders',
  });
  assert.ok(statements.every(({ parentSpanId }) => parentSpanId === request.spanId));
  // A request may set off a comparison of snapshots that it does not wait for.
  const within = statements.filter(
    ({ startTimeUnixNano: start, endTimeUnixNano: end }) =>
      BigInt(start) >= BigInt(request.startTimeUnixNano) && BigInt(end) <= BigInt(request.endTimeUnixNano),
  );
  const list = {
    'db.system.name': 'postgresql',
    'db.operation.name': 'SELECT',
    'wda.pool': 'read',
    'db.response.returned_rows': 1,
  };
  assert.ok(
    within.some((statement) => statement.name === 'SELECT' && isDeepStrictEqual(attributesOf(statement), list)),
  );
  assert.match(collector.resources[0]!, /shop-data/);
});

test('requests without a traceparent are traces of their own', { skip }, async () => {
  await Promise.all([1, 2, 3].map(() => ask('/api/v1/demo/shop/customers/1')));
  const own = (): Span[] => collector.spans.filter(({ name }) => name === 'GET read');
  await until('three traces have come', () => own().length >= 3);
  assert.equal(new Set(own().map(({ traceId }) => traceId)).size, 3);
  assert.ok(own().every(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === ''));
});

test('a message of an agent that names its caller has a span below it, with the statements of the call', {
  skip,
}, async () => {
  const trace = 'cd'.repeat(16);
  const call = (id: number, meta: object): Promise<Response> =>
    fetch(`${server.url}/api/v1/demo/shop/_mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        'content-type': 'application/json',
        'mcp-protocol-version': MODERN,
        'mcp-method': 'tools/call',
        'mcp-name': 'count_records',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: {
          name: 'count_records',
          arguments: { entity: 'orders' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': MODERN,
            'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
            ...meta,
          },
        },
      }),
    });
  const answer = await call(1, { traceparent: `00-${trace}-${CALLER.span}-01`, tracestate: 'shop=1' });
  assert.equal(answer.status, 200, await answer.clone().text());
  const { request, statements } = await traceOf(trace);
  assert.equal(request.parentSpanId, CALLER.span);
  assert.equal(request.name, 'mcp_count_records');
  assert.deepEqual(attributesOf(request), {
    'wda.operation': 'mcp_count_records',
    'wda.request_id': answer.headers.get('x-request-id'),
  });
  assert.ok(statements.length > 0 && statements.every(({ parentSpanId }) => parentSpanId === request.spanId));

  // What is no traceparent is nobody's.
  for (const traceparent of [SECRET, 7]) assert.equal((await call(2, { traceparent })).status, 200);
  const ofRequests = (): Span[] => collector.spans.filter(({ name }) => name === 'POST mcp');
  await until('the spans of all three requests have come', () => ofRequests().length === 3);
  assert.ok(ofRequests().every((span) => span.traceId !== trace && !span.parentSpanId));
});

test('no value, query, credential or text of SQL is in any span', { skip }, async () => {
  const shop = '/api/v1/demo/shop';
  const asked: readonly (readonly [path: string, asked: Asked, status: number, operation: string])[] = [
    [`${shop}/customers`, { method: 'POST', body: { name: SECRET, email: `${SECRET}@example.com` } }, 201, 'INSERT'],
    [`${shop}/customers?filter=name,eq,${SECRET}`, {}, 200, 'SELECT'],
    [`${shop}/customers/1`, { method: 'PATCH', body: { name: SECRET } }, 200, 'UPDATE'],
    [
      `${shop}/_batch`,
      {
        method: 'POST',
        body: { operations: [{ method: 'PATCH', entity: 'customers', id: 1, body: { name: SECRET } }] },
      },
      200,
      'UPDATE',
    ],
    [`${shop}/${SECRET}`, {}, 404, ''],
    [`/api/v1/${SECRET}/shop/orders`, { key: SECRET }, 401, ''],
    [`/${SECRET}`, {}, 404, ''],
    [`${shop}/customers?search=${SECRET}`, {}, 400, ''],
  ];
  for (const [index, [path, request, status, operation]] of asked.entries()) {
    const trace = `${index + 1}`.padStart(32, 'a');
    const answer = await ask(path, { ...request, trace });
    assert.equal(answer.status, status, `${path}: ${await answer.text()}`);
    const { request: span, statements } = await traceOf(trace);
    assert.equal(attributesOf(span)['http.response.status_code'], status);
    if (operation !== '')
      assert.ok(
        statements.some(({ name }) => name === operation),
        `${path} has no ${operation}`,
      );
  }
  const all = JSON.stringify([collector.spans, collector.resources]);
  for (const hidden of [SECRET, ADMIN_KEY, 'example.com', 'filter', 'select ', 'Bearer'])
    assert.ok(!all.includes(hidden), `${hidden} is in a span`);
});

test('the spans of the last requests are sent before the server ends', { skip }, async () => {
  const trace = 'ee'.repeat(16);
  await ask('/healthz', { trace });
  await server.stop();
  assert.equal((await traceOf(trace)).request.name, 'GET /healthz');
});
