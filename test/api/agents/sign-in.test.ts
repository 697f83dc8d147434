// A person's way to the tools: the address alone, the metadata that a 401 names, the provider of the workspace with its
// sign-in (authorization code with PKCE), and then the records of that person.
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import Provider, { type Configuration } from 'oidc-provider';
import { connectAgent, sendMessage } from '../../support/agent.ts';
import { use, useServer } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const CALLBACK = 'https://host.example.com/callback';

/** A provider where everybody who comes is Eve. */
async function startProvider() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const configuration: Configuration = {
    clients: [
      {
        client_id: 'host',
        token_endpoint_auth_method: 'none',
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' } as never] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: 'host', accountId: oidc.session?.accountId as string });
      grant.addOIDCScope('openid');
      grant.addResourceScope(String(oidc.params?.resource), '');
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
  const provider = new Provider(url, configuration);
  const answer = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: 'eve' } });
  });
  return {
    url,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows redirects as a browser does, with cookies, until one leads to the callback. */
async function browse(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = start;
  for (let steps = 0; !next.href.startsWith(CALLBACK); steps++) {
    assert.ok(steps < 10, `it leads nowhere: ${next}`);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    assert.ok(location !== null, `${next.pathname}: ${response.status} ${await response.text()}`);
    next = new URL(location, next);
  }
  return next;
}

const provider = use(startProvider, (started) => started.stop());
const server = useServer({ ...LOCAL_PROVIDER, PUBLIC_URL: 'https://data.example.com' });
const notes = use(() =>
  server.workspace('acme/notes', {
    entities: {
      notes: {
        fields: { title: { type: 'string' }, owner: { type: 'string' } },
        rowRules: [{ column: 'owner', claim: 'sub' }],
      },
    },
  }),
);

test('a person who signs in at the provider of the workspace sees own records, and nowhere else with this token', async () => {
  const body = {
    issuerUrl: provider.url,
    audience: 'https://data.example.com',
    defaultPermissions: 'READ_ONLY',
    enabled: true,
  };
  assert.equal((await notes.admin('identity-provider', { method: 'PUT', body })).status, 200);
  await notes.create('notes', [
    { title: 'of eve', owner: 'eve' },
    { title: 'of mallory', owner: 'mallory' },
  ]);
  const stranger = await sendMessage(server, notes.path, { method: 'tools/list' });
  const [, place = ''] = /resource_metadata="([^"]+)"/.exec(stranger.headers.get('www-authenticate') ?? '') ?? [];
  const { json: metadata } = await server.call(new URL(place).pathname);
  const issuer = metadata.authorization_servers[1];
  const endpoints = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as {
    authorization_endpoint: string;
    token_endpoint: string;
  };
  const verifier = randomBytes(32).toString('base64url');
  const start = new URL(endpoints.authorization_endpoint);
  start.search = new URLSearchParams({
    client_id: 'host',
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid',
    resource: metadata.resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  const code = (await browse(start)).searchParams.get('code') ?? '';
  const answer = await fetch(endpoints.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'host',
      code,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      resource: metadata.resource,
    }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const agent = await connectAgent(server, notes.path, token);
  const text = await agent.text('query_records', { entity: 'notes' });
  assert.match(text, /of eve/);
  assert.doesNotMatch(text, /mallory/);
  assert.match(await agent.text('explain_access'), /^You are the user whose sub is eve, with READ_ONLY permissions,/);
  await agent.close();
  assert.equal((await notes.call('notes', { credential: token })).status, 401);
});
