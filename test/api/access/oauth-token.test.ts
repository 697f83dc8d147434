// The token endpoint: client authentication, the token, refusals in RFC 6749's form, the key set and the metadata.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { calculateJwkThumbprint, createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { makeApp } from '../../../src/app.ts';
import { readConfig } from '../../../src/config.ts';
import { makeObserver } from '../../../src/observer.ts';
import { askToken, basic, createClient, tokenOf } from '../../support/oauth.ts';
import { use, useServer } from '../../support/resources.ts';
import { type Answer, startTestServer } from '../../support/server.ts';

const PUBLIC_URL = 'https://data.example.com/api-host';
const GRANT = { grant_type: 'client_credentials' } as const;

const server = useServer({ PUBLIC_URL: `${PUBLIC_URL}/`, WDA_CORS_ORIGINS: 'https://app.example.com' });
const workspace = use(() =>
  server.workspace('acme/tokens', { entities: { notes: { fields: { text: { type: 'text' } } } } }),
);
const client = use(() => createClient(workspace));

function refused(answer: Answer, status: number, error: string, description: RegExp = /./): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(Object.keys(answer.json), ['error', 'error_description']);
  assert.equal(answer.json.error, error, answer.text);
  assert.match(answer.json.error_description, description);
  assert.doesNotMatch(answer.text, /select|wda\.|\.ts:|oops/);
}

test('client_secret_basic and client_secret_post give a bearer token', async () => {
  const { clientId, clientSecret } = client;
  for (const answer of [
    await askToken(server, GRANT, basic(client)),
    await askToken(server, { ...GRANT, client_id: clientId, client_secret: clientSecret }),
  ]) {
    assert.equal(answer.status, 200, answer.text);
    const { access_token: token, ...rest } = answer.json;
    assert.deepEqual(rest, { expires_in: 3600, token_type: 'Bearer' });
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.notEqual(answer.headers.get('x-request-id'), null);
    assert.equal(answer.headers.get('set-cookie'), null);
    assert.equal((await workspace.call('notes', { credential: token })).status, 200);
  }
});

test('the token is a JWT access token of RFC 9068, signed by the published key', async () => {
  const token = await tokenOf(server, client);
  const { alg, typ, kid, ...others } = decodeProtectedHeader(token);
  assert.deepEqual([alg, typ, others], ['ES256', 'at+jwt', {}]);
  const { iat, exp, jti, ...claims } = decodeJwt(token);
  const [row] = await server.database.query(`select id::text from wda.workspace where slug = 'tokens'`);
  assert.deepEqual(claims, {
    iss: PUBLIC_URL,
    aud: PUBLIC_URL,
    sub: client.clientId,
    client_id: client.clientId,
    workspace_id: row?.id,
  });
  assert.equal((exp as number) - (iat as number), 3600);
  assert.notEqual(jti, decodeJwt(await tokenOf(server, client)).jti);

  const keySet = createRemoteJWKSet(new URL(`${server.url}/oauth/jwks`));
  const verified = await jwtVerify(token, keySet, { issuer: PUBLIC_URL, audience: PUBLIC_URL, typ: 'at+jwt' });
  assert.equal(verified.protectedHeader.kid, kid);
});

test('the key set shows public halves only, each under its thumbprint', async () => {
  await tokenOf(server, client);
  const answer = await server.call('/oauth/jwks');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/jwk-set+json');
  assert.ok(answer.json.keys.length > 0);
  for (const key of answer.json.keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    assert.deepEqual([key.kty, key.crv, key.alg, key.use], ['EC', 'P-256', 'ES256', 'sig']);
    assert.equal(key.kid, await calculateJwkThumbprint(key));
  }
});

test('the metadata of RFC 8414 names PUBLIC_URL, whatever host the request names', async () => {
  const answer = await server.call('/.well-known/oauth-authorization-server', {
    headers: { 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'http' },
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, {
    issuer: PUBLIC_URL,
    authorization_endpoint: `${PUBLIC_URL}/oauth/authorize`,
    token_endpoint: `${PUBLIC_URL}/oauth/token`,
    jwks_uri: `${PUBLIC_URL}/oauth/jwks`,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  });
});

test('a wrong secret and an unknown client are the same refusal', async () => {
  const { clientId, clientSecret } = client;
  const wrong = [
    { clientId, clientSecret: `${clientSecret.slice(0, -1)}${clientSecret.endsWith('A') ? 'B' : 'A'}` },
    { clientId, clientSecret: 'x' },
    { clientId: `${clientId.slice(0, -4)}AAAA`, clientSecret },
    { clientId: 'nobody', clientSecret },
    { clientId: 'a\0b', clientSecret },
    { clientId: 'https://client.example.com/metadata', clientSecret },
    // The hash is what the database holds: it opens nothing.
    { clientId, clientSecret: await storedHash(clientId) },
  ];
  const texts = new Set<string>();
  for (const credentials of wrong) {
    const byPost = await askToken(server, {
      ...GRANT,
      client_id: credentials.clientId,
      client_secret: credentials.clientSecret,
    });
    refused(byPost, 401, 'invalid_client');
    texts.add(byPost.text);
    if (credentials.clientId.includes('\0') || credentials.clientId.includes(':')) continue;
    const byHeader = await askToken(server, GRANT, basic(credentials));
    refused(byHeader, 401, 'invalid_client');
    assert.match(byHeader.headers.get('www-authenticate') ?? '', /^Basic realm=/);
    texts.add(byHeader.text);
  }
  assert.equal(texts.size, 1);
});

async function storedHash(clientId: string): Promise<string> {
  const [row] = await server.database.query(
    `select encode(secret_hash, 'hex') as hash from wda.oauth_client where client_id = $1`,
    [clientId],
  );
  return String(row?.hash);
}

test('what is not a client credentials request is refused', async () => {
  const authorized = basic(client);
  const { clientId, clientSecret } = client;
  refused(await askToken(server, { grant_type: 'password' }, authorized), 400, 'unsupported_grant_type');
  refused(await askToken(server, { grant_type: 'constructor' }, authorized), 400, 'unsupported_grant_type');
  refused(await askToken(server, { grant_type: 'refresh_token' }, authorized), 400, 'unsupported_grant_type');
  refused(await askToken(server, {}, authorized), 400, 'invalid_request', /grant_type/);
  refused(await askToken(server, 'grant_type=client_credentials&grant_type=x', authorized), 400, 'invalid_request');
  refused(await askToken(server, GRANT), 400, 'invalid_request', /authentication/);
  refused(await askToken(server, { ...GRANT, client_id: clientId }), 401, 'invalid_client');
  refused(
    await askToken(server, { ...GRANT, client_id: clientId, client_secret: clientSecret }, authorized),
    400,
    'invalid_request',
    /one mechanism/,
  );
  refused(await askToken(server, GRANT, { authorization: `Bearer ${workspace.key}` }), 400, 'invalid_request');
  refused(await askToken(server, GRANT, { authorization: 'Basic !!!' }), 400, 'invalid_request');
  refused(
    await askToken(server, { ...GRANT, resource: 'https://elsewhere.example.com' }, authorized),
    400,
    'invalid_target',
  );
  refused(
    await askToken(server, JSON.stringify(GRANT), { ...authorized, 'content-type': 'application/json' }),
    400,
    'invalid_request',
    /urlencoded/,
  );
  refused(await askToken(server, { ...GRANT, pad: 'x'.repeat(100_000) }, authorized), 400, 'invalid_request');
  // The secret in the URL is not looked at.
  const query = `?grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`;
  refused(await server.call(`/oauth/token${query}`, { method: 'POST' }), 400, 'invalid_request');
});

test('a scope is not granted, and asking for our own resource changes nothing', async () => {
  const answer = await askToken(server, { ...GRANT, scope: 'records:read', resource: PUBLIC_URL }, basic(client));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(decodeJwt(answer.json.access_token).scope, undefined);
});

test('other methods are refused in the form of RFC 6749, with Allow', async () => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await server.call('/oauth/token', { method });
    refused(answer, 405, 'invalid_request');
    assert.equal(answer.headers.get('allow'), 'POST');
  }
  refused(await server.call('/oauth/jwks', { method: 'POST' }), 405, 'invalid_request');
  refused(await server.call('/.well-known/oauth-authorization-server', { method: 'DELETE' }), 405, 'invalid_request');
  for (const path of ['/oauth/jwks', '/.well-known/oauth-authorization-server/']) {
    const head = await server.call(path, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
  }
});

test('no other path of the library is served', async () => {
  for (const path of [
    '/auth',
    '/oauth',
    '/session/end',
    '/.well-known/openid-configuration',
    '/me',
    '/interaction/x',
  ]) {
    assert.equal((await server.call(path)).status, 404, path);
  }
});

test('refusals are JSON for whoever asks for HTML', async () => {
  const answer = await askToken(server, { grant_type: 'x' }, { ...basic(client), accept: 'text/html' });
  refused(answer, 400, 'unsupported_grant_type');
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
});

test('CORS is that of the whole server', async () => {
  const from = (origin: string): Promise<Answer> => askToken(server, GRANT, { ...basic(client), origin });
  const allowed = await from('https://app.example.com');
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example.com');
  const other = await from('https://other.example.com');
  assert.deepEqual([other.status, other.headers.get('access-control-allow-origin')], [200, null]);
  const keys = await server.call('/oauth/jwks', { headers: { origin: 'https://other.example.com' } });
  assert.equal(keys.headers.get('access-control-allow-origin'), null);
  const preflight = await server.call('/oauth/token', {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /POST/);
});

test('a body that never ends is refused and its connection closed', async () => {
  const { port } = new URL(server.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  const chunk = `${(8192).toString(16)}\r\n${'x'.repeat(8192)}\r\n`;
  for (let sent = 0; sent < 16; sent++) socket.write(chunk);
  let text = '';
  socket.on('data', (data) => {
    text += String(data);
  });
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(text, /^HTTP\/1\.1 400 .*"error":"invalid_request"/s);
});

test('a body that stops arriving ends the connection', async () => {
  const impatient = await startTestServer({ WDA_BODY_TIMEOUT_MS: '100' }, server.database);
  try {
    const socket = connect(Number(new URL(impatient.url).port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100';
    socket.write(`POST /oauth/token HTTP/1.1\r\nHost: x\r\n${form}\r\n\r\ngrant_type`);
    await new Promise((resolve) => socket.once('close', resolve));
  } finally {
    await impatient.stop();
  }
});

test('any base URL that the settings accept can issue', async () => {
  for (const url of ['http://[::1]:3000', 'http://127.0.0.1:8080', 'https://EXAMPLE.com/a_b/c', 'http://my_host:1']) {
    const other = await startTestServer({ PUBLIC_URL: url }, server.database);
    try {
      const token = await tokenOf(other, client);
      assert.equal(decodeJwt(token).iss, url);
      assert.equal((await other.call('/api/v1/acme/tokens/notes', { credential: token })).status, 200);
      // For another issuer it is a token of somebody else.
      assert.equal((await workspace.call('notes', { credential: token })).status, 401);
    } finally {
      await other.stop();
    }
  }
  for (const url of [
    'https://example.com/?a=b',
    'https://example.com/#x',
    'https://user:pass@example.com',
    'ftp://x',
  ]) {
    assert.throws(() => readConfig({ PUBLIC_URL: url }), /PUBLIC_URL/);
  }
});

test('a limit on requests holds for the token endpoint', async () => {
  const limited = await startTestServer({ WDA_RATE_LIMIT: '3' }, server.database);
  try {
    const answers: Answer[] = [];
    for (let asked = 0; asked < 4; asked++) answers.push(await askToken(limited, GRANT, basic(client)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 429],
    );
    const last = answers[3] as Answer;
    refused(last, 429, 'temporarily_unavailable');
    assert.match(last.headers.get('retry-after') ?? '', /^\d+$/);
  } finally {
    await limited.stop();
  }
});

test('while the database is away the answer is 503, in the same form, and the metadata is there', async () => {
  const DATABASE_URL = 'postgres://127.0.0.1:1/nowhere';
  const config = readConfig({ PORT: '0', DATABASE_URL, LOG_LEVEL: 'silent', PUBLIC_URL });
  const app = makeApp(config, { connectionString: DATABASE_URL }, makeObserver(config, false));
  const url = `http://127.0.0.1:${await app.listen()}`;
  try {
    for (const [path, method] of [
      ['/oauth/token', 'POST'],
      ['/oauth/jwks', 'GET'],
    ] as const) {
      const answer = await fetch(url + path, { method });
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.equal(((await answer.json()) as { error: string }).error, 'temporarily_unavailable');
    }
    assert.equal((await fetch(`${url}/.well-known/oauth-authorization-server`)).status, 200);
  } finally {
    await app.close(1000);
  }
});
