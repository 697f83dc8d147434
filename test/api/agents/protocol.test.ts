// The endpoint of agents as a protocol: who may speak to it, how, and what is refused before any tool is used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAgent, MODERN, sendMessage } from '../../support/agent.ts';
import { use, useServer } from '../../support/resources.ts';
import { SHOP } from '../../support/shop-document.ts';

const READING = [
  'list_entities',
  'describe_entities',
  'query_records',
  'count_records',
  'aggregate_records',
  'read_record',
  'explain_access',
];

const server = useServer({ WDA_MCP_RATE_LIMIT: '5', WDA_CORS_ORIGINS: 'https://app.example.com' });
const shop = use(() => server.workspace('acme/shop', { entities: SHOP }));
const other = use(() => server.workspace('acme/other', { entities: SHOP }));
const closed = useServer({ WDA_MCP: 'off' }, server);

const list = (over: Partial<Parameters<typeof sendMessage>[2]> = {}) =>
  sendMessage(server, shop.path, { method: 'tools/list', credential: shop.readOnlyKey, ...over });

for (const mode of ['modern', 'legacy'] as const) {
  test(`a ${mode} client connects, lists the tools and uses one`, async () => {
    const agent = await connectAgent(server, shop.path, mode === 'modern' ? shop.key : shop.readWriteKey, { mode });
    const { tools } = await agent.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      READING,
    );
    for (const { annotations } of tools) assert.equal(annotations?.readOnlyHint, true);
    assert.match(agent.client.getInstructions() ?? '', /acme\/shop/);
    assert.match(await agent.text('list_entities'), /^\d+ entities in acme\/shop/);
    await agent.close();
  });
}

test('lists of tools say how long they may be kept, and that they are of one credential', async () => {
  const { json, status, text } = await list();
  assert.equal(status, 200, text);
  assert.equal(json.result.ttlMs, 300_000);
  assert.equal(json.result.cacheScope, 'private');
});

test('GET and DELETE are no methods of the endpoint', async () => {
  for (const method of ['GET', 'DELETE']) {
    const answer = await shop.call('_mcp', { method });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST, OPTIONS');
  }
});

test('a header that says another tool than the message is refused', async () => {
  const { status, json } = await sendMessage(server, shop.path, {
    method: 'tools/call',
    params: { name: 'list_entities', arguments: {} },
    headers: { 'mcp-name': 'read_record' },
    credential: shop.readWriteKey,
  });
  assert.equal(status, 400);
  assert.equal(json.error.code, -32020);
});

test('a message of many values besides the arguments of its tool is refused before it is looked at', async () => {
  const icons = Array.from({ length: 2000 }, () => ({}));
  const refused = await server.call(`/api/v1/${shop.path}/_mcp`, {
    method: 'POST',
    credential: shop.readOnlyKey,
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { clientInfo: { icons } } },
  });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.json.error.message, /at most 500 values/);
  const args = Object.fromEntries(icons.map((_, at) => [`a${at}`, at]));
  const params = { name: 'list_entities', arguments: args };
  const told = await sendMessage(server, other.path, { method: 'tools/call', params, credential: other.readOnlyKey });
  assert.match(told.json.result.content[0].text, /Unknown member a0 of the arguments/);
});

test('an unknown version of the protocol is told the known ones', async () => {
  const answer = await server.call(`/api/v1/${shop.path}/_mcp`, {
    method: 'POST',
    credential: shop.readOnlyKey,
    headers: { 'mcp-protocol-version': '2031-01-01', 'mcp-method': 'tools/list' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2031-01-01',
          'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  });
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.json.error.data.supported, [MODERN]);
});

test('no credential, and one of another workspace, are refused alike wherever they are sent', async () => {
  const none = await list({ credential: null });
  assert.equal(none.status, 401);
  assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer /);
  const foreign = await list({ credential: other.key });
  const nowhere = await sendMessage(server, 'acme/nowhere', { method: 'tools/list', credential: other.key });
  assert.equal(foreign.status, 401);
  assert.equal(foreign.text, nowhere.text);
});

test('a page of somebody else may not use the endpoint', async () => {
  const refused = await list({ headers: { origin: 'https://evil.example' } });
  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.error.message,
    'Pages of https://evil.example may not use this server: WDA_CORS_ORIGINS does not list them',
  );
  assert.equal((await list({ headers: { origin: 'https://app.example.com' } })).status, 200);
  assert.equal((await list({ headers: { origin: 'http://localhost:0' } })).status, 200);
});

test('the origins of the workspace take the place of those of the server, for its metadata, too', async () => {
  const allow = (corsOrigins: readonly string[] | null) => shop.admin('', { method: 'PUT', body: { corsOrigins } });
  await allow(['https://own.example.com']);
  const refused = await list({ headers: { origin: 'https://app.example.com' } });
  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.error.message,
    'Pages of https://app.example.com may not use this server: corsOrigins does not list them',
  );
  const origin = 'https://own.example.com';
  assert.equal((await list({ headers: { origin } })).status, 200);
  const metadata = await server.call(`/.well-known/oauth-protected-resource/api/v1/${shop.path}/_mcp`, {
    headers: { origin },
  });
  assert.equal(metadata.headers.get('access-control-allow-origin'), origin);
  await allow(null);
});

test('what narrows the endpoint is spelt right or refused', async () => {
  assert.equal((await list({ query: '?access=read' })).status, 200);
  const misspelt = await list({ query: '?acces=read' });
  assert.equal(misspelt.status, 400);
  assert.match(misspelt.json.error.message, /^Unknown query parameter acces\. Did you mean access\?/);
  assert.equal((await list({ query: '?access=write' })).status, 400);
});

test('only one JSON message is taken', async () => {
  const post = (body: unknown, headers = {}) =>
    server.call(`/api/v1/${shop.path}/_mcp`, { method: 'POST', credential: shop.readOnlyKey, headers, body });
  assert.equal((await post([])).status, 400);
  assert.equal((await post('{"jsonrpc":', { 'content-type': 'application/json' })).status, 400);
  assert.equal((await post('{}', { 'content-type': 'text/plain' })).status, 415);
  // One that is none of JSON-RPC is refused in the words of the protocol.
  const { status, json } = await post({});
  assert.equal(status, 400);
  assert.equal(json.error.code, -32600);
});

test('there is no stream of changes', async () => {
  const { text } = await list({
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true } },
  });
  assert.match(text, /-32\d{3}/);
});

test('an unknown tool is an error that lists the known ones', async () => {
  const { json } = await sendMessage(server, shop.path, {
    method: 'tools/call',
    params: { name: 'drop_everything', arguments: {} },
    credential: shop.readOnlyKey,
  });
  assert.equal(json.error.code, -32602);
  assert.match(json.error.message, /Known: list_entities, /);
});

test('calls have a limit of their own; lists do not count', async () => {
  const credential = (
    await shop.admin('api-keys', { method: 'POST', body: { name: 'agent', permissions: 'READ_ONLY' } })
  ).json.data.key;
  const call = () =>
    sendMessage(server, shop.path, {
      method: 'tools/call',
      params: { name: 'list_entities', arguments: {} },
      credential,
    });
  for (let count = 0; count < 5; count++) assert.equal((await call()).status, 200);
  const refused = await call();
  assert.equal(refused.status, 429);
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  assert.equal((await list({ credential })).status, 200);
});

test('a server without agents answers as if there were no such place', async () => {
  const answer = await sendMessage(closed, shop.path, { method: 'tools/list', credential: shop.key });
  assert.equal(answer.status, 404);
  assert.equal(answer.json.error.message, 'This workspace is not served to agents');
});

test('calls are counted by tool', async () => {
  const metrics = await server.metrics();
  assert.match(metrics, /^wda_requests_total\{operation="mcp_list_entities",status="200"\} \d+$/m);
  assert.match(metrics, /^wda_requests_total\{operation="mcp",status="200"\} \d+$/m);
  assert.doesNotMatch(metrics, /drop_everything/);
});
