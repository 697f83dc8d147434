// Which tokens agents may use, and how a client that knows nothing but the address comes to one.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MODERN, sendMessage } from '../../support/agent.ts';
import { askToken, basic, createClient } from '../../support/oauth.ts';
import { use, useIssuer } from '../../support/resources.ts';
import type { TestServer } from '../../support/server.ts';
import { startTestServer } from '../../support/server.ts';
import { SHOP } from '../../support/shop-document.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

/** The URL of the server has to be known before it listens: tokens are for it. */
async function freePort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as { port: number };
  await new Promise((resolve) => holder.close(resolve));
  return port;
}

const issuer = useIssuer();
const server: TestServer = use(
  async () => {
    const port = String(await freePort());
    return startTestServer({ ...LOCAL_PROVIDER, PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` });
  },
  (started) => started.stop(),
);
const shop = use(() => server.workspace('acme/shop', { entities: SHOP }));
const bare = use(() => server.workspace('acme/bare', { entities: SHOP }));
const client = use(() => createClient(shop));

const urlOf = (path: string): string => `${server.url}/api/v1/${path}/_mcp`;
const list = (credential: string | null) => sendMessage(server, shop.path, { method: 'tools/list', credential });
const metadata = async (path: string) => server.call(`/.well-known/oauth-protected-resource/api/v1/${path}/_mcp`);

const setProvider = async (audience: string | null) => {
  const body = { issuerUrl: issuer.url, audience, defaultPermissions: 'READ_WRITE', enabled: true };
  const answer = await shop.admin('identity-provider', { method: 'PUT', body });
  assert.equal(answer.status, 200, answer.text);
};

test('a 401 says where clients learn who gives tokens', async () => {
  const { status, headers } = await list(null);
  assert.equal(status, 401);
  assert.equal(
    headers.get('www-authenticate'),
    `Bearer realm="workspace-data-api", resource_metadata="${server.url}/.well-known/oauth-protected-resource/api/v1/${shop.path}/_mcp"`,
  );
  const rest = await shop.call('tags', { credential: null });
  assert.doesNotMatch(rest.headers.get('www-authenticate') ?? '', /resource_metadata/);
  const odd = await sendMessage(server, 'a%22%0Ab/shop', { method: 'tools/list' });
  assert.equal(odd.status, 401);
});

test('the metadata name us first, and the provider of a workspace that has one', async () => {
  const own = await metadata(bare.path);
  assert.deepEqual(own.json, {
    resource: urlOf(bare.path),
    authorization_servers: [server.url],
    bearer_methods_supported: ['header'],
    resource_name: bare.path,
  });
  await setProvider(null);
  assert.deepEqual((await metadata(shop.path)).json.authorization_servers, [server.url, issuer.url]);
  await shop.admin('mcp', { method: 'PUT', body: { enabled: false } });
  assert.deepEqual((await metadata(shop.path)).json.authorization_servers, [server.url]);
  assert.equal((await shop.call('')).json.data.mcp, null);
  await shop.admin('mcp', { method: 'PUT', body: { enabled: true } });
  assert.deepEqual((await metadata(shop.path)).json.authorization_servers, [server.url, issuer.url]);
  const nowhere = await metadata('acme/nowhere');
  assert.deepEqual(nowhere.json, { ...own.json, resource: urlOf('acme/nowhere'), resource_name: 'acme/nowhere' });
  assert.equal((await server.call('/.well-known/oauth-protected-resource/api/v1/acme/shop/tags')).status, 404);
});

test('a token of a provider must be for the endpoint, or for the configured audience', async () => {
  await setProvider(null);
  const forAgents = await issuer.token({ resource: urlOf(shop.path) });
  const forOther = await issuer.token({ resource: 'https://other.example.com' });
  assert.equal((await list(forAgents)).status, 200);
  const refused = await list(forOther);
  assert.equal(refused.status, 401);
  assert.equal(
    refused.json.error.message,
    `Token is not for agents: its aud must have ${urlOf(shop.path)}, or the configured audience`,
  );
  // Without a configured audience the data API takes any.
  assert.equal((await shop.call('tags', { credential: forOther })).status, 200);
  await setProvider('https://other.example.com');
  assert.equal((await list(forOther)).status, 200);
  assert.equal((await list(forAgents)).status, 200);
  const rest = await shop.call('tags', { credential: forAgents });
  assert.equal(rest.status, 401);
  assert.equal(rest.json.error.message, 'Token audience does not match configured audience');
});

test('a token of a client may be for the endpoint of its workspace, and then is for nothing else', async () => {
  const grant = { grant_type: 'client_credentials' };
  const made = await askToken(server, { ...grant, resource: urlOf(shop.path) }, basic(client));
  assert.equal(made.status, 200, made.text);
  const credential = made.json.access_token;
  const [, claims = ''] = credential.split('.');
  assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).aud, urlOf(shop.path));
  assert.equal((await list(credential)).status, 200);
  assert.equal((await shop.call('tags', { credential })).status, 401);
  assert.equal((await server.call('/api/admin/v1/organizations/acme/workspaces', { credential })).status, 401);
  // Not even by the words that it is remembered by.
  const headers = { Authorization: `${urlOf(shop.path)} ${credential}` };
  assert.equal((await shop.call('tags', { credential: null, headers })).status, 401);
  const elsewhere = await sendMessage(server, bare.path, { method: 'tools/list', credential });
  assert.equal(elsewhere.status, 401);
  const foreign = await askToken(server, { ...grant, resource: urlOf(bare.path) }, basic(client));
  assert.equal(foreign.status, 400);
  assert.equal(foreign.json.error, 'invalid_target');
  const usual = await askToken(server, grant, basic(client));
  assert.equal((await list(usual.json.access_token)).status, 200);
});

test('a client that knows nothing but the address and its secret gets a token by itself', async () => {
  const { clientId, clientSecret } = client;
  const agent = new Client({ name: 'service', version: '1' }, { versionNegotiation: { mode: { pin: MODERN } } });
  const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: server.url });
  await agent.connect(new StreamableHTTPClientTransport(new URL(urlOf(shop.path)), { authProvider }));
  const { content } = await agent.callTool({ name: 'explain_access', arguments: {} });
  assert.match(JSON.stringify(content), new RegExp(`client:${clientId} with OWNER permissions`));
  const token = authProvider.tokens()?.access_token as string;
  assert.equal((await shop.call('tags', { credential: token })).status, 401);
  await agent.close();
});
