// Internal tokens in use: on the data and the admin API of their workspace and nowhere else, until they expire, their
// client is deleted; through rotations; in every process. Never confused with an external token. That they end with a key that
// is revoked is in operation/in-force.test.ts, what each permission may in admin/oauth-clients.test.ts.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import { reasonFor } from '../../support/error-catalog.ts';
import { createClient, tokenOf, until } from '../../support/oauth.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, startTestServer, type TestServer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'text' }, owner: { type: 'string' } },
      rowRules: [{ column: 'owner', claim: 'sub', enabled: true }],
    },
  },
};
const ROTATE = '/api/admin/v1/signing-keys/rotate';
const PUBLIC_URL = 'http://localhost:3210';
const ENV = { PUBLIC_URL, WDA_IDP_PRIVATE_NETWORK: 'allow' };

const server = useServer(ENV);
const second = useServer(ENV, server);
const workspace = use(() => server.workspace('acme/use', SCHEMA));
const other = use(() => server.workspace('acme/other', SCHEMA));
prepare(async () => {
  await workspace.create('notes', [
    { text: 'a', owner: 'ann' },
    { text: 'b', owner: 'ben' },
  ]);
});
const client = use(() => createClient(workspace));

const notes = (at: TestServer, credential: string): Promise<Answer> =>
  at.call('/api/v1/acme/use/notes', { credential });
const rotate = async (at: TestServer, query = ''): Promise<void> => {
  const answer = await at.call(`${ROTATE}${query}`, { method: 'POST', credential: ADMIN_KEY });
  assert.equal(answer.status, 200, answer.text);
};

function refused(answer: Answer, message = 'The credential is not valid here'): void {
  assert.deepEqual(
    [answer.status, answer.json.error],
    [401, { code: 'UNAUTHORIZED', message, reason: reasonFor(message) }],
  );
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="workspace-data-api", error="invalid_token"');
}

test('a token is an owner of its workspace: all records, whatever the row rules, and all operations', async () => {
  const credential = await tokenOf(server, client);
  const listed = await notes(server, credential);
  assert.deepEqual([listed.status, listed.json.meta.totalElements], [200, 2]);
  const made = await workspace.call('notes', { method: 'POST', body: { text: 'c', owner: 'cid' }, credential });
  assert.equal(made.status, 201, made.text);
  const gone = await workspace.call(`notes/${made.json.data.id}`, { method: 'DELETE', credential });
  assert.equal(gone.status, 204);
});

test('a token is nothing in other workspaces, there or not', async () => {
  const credential = await tokenOf(server, client);
  refused(await other.call('notes', { credential }));
  refused(await server.call('/api/v1/acme/nowhere/notes', { credential }));
});

test('a token expires', async () => {
  const short = await startTestServer({ ...ENV, WDA_TOKEN_LIFETIME_SECONDS: '2' }, server.database);
  try {
    const credential = await tokenOf(short, client);
    const { iat, exp } = decodeJwt(credential);
    assert.equal((exp as number) - (iat as number), 2);
    // Used before, so that a verdict on it is remembered (unless the machine took two seconds to get here).
    assert.ok([200, 401].includes((await notes(short, credential)).status));
    await until(async () => (await notes(short, credential)).status === 401);
    refused(await notes(short, credential), 'Token has expired');
    refused(await notes(server, credential), 'Token has expired');
    refused(await workspace.admin('schema', { credential }), 'Token has expired');
  } finally {
    await short.stop();
  }
});

test('the tokens of a deleted client end in every process, and those of others go on', async () => {
  const passing = await createClient(workspace);
  const credential = await tokenOf(server, passing);
  const staying = await tokenOf(server, client);
  for (const at of [server, second]) assert.equal((await notes(at, credential)).status, 200);
  assert.equal((await workspace.admin(`oauth-clients/${passing.clientId}`, { method: 'DELETE' })).status, 204);
  refused(await notes(server, credential));
  await until(async () => (await notes(second, credential)).status === 401);
  refused(await second.call('/api/admin/v1/organizations/acme/workspaces/use/schema', { credential }));
  for (const at of [server, second]) assert.equal((await notes(at, staying)).status, 200);
});

test('a token works at once in a process that has never seen its key', async () => {
  const old = await tokenOf(second, client);
  assert.equal((await notes(second, old)).status, 200);
  await rotate(server);
  const credential = await tokenOf(server, client);
  assert.notEqual(decodeProtectedHeader(credential).kid, decodeProtectedHeader(old).kid);
  assert.equal((await notes(second, credential)).status, 200);
});

test('no request fails while keys are rotated, old tokens go on, and every process signs with the new key', async () => {
  const first = await tokenOf(server, client);
  let rotating = true;
  const users = [server, second, server, second].map(async (at, index) => {
    const to = index < 2 ? at : at === server ? second : server;
    let asked = 0;
    while (rotating || asked < 3) {
      const credential = await tokenOf(at, client);
      for (const target of [at, to]) {
        const answer = await notes(target, credential);
        assert.equal(answer.status, 200, answer.text);
      }
      asked++;
    }
  });
  const rotations = (async () => {
    for (let turn = 0; turn < 4; turn++) await rotate(turn % 2 === 0 ? server : second);
    rotating = false;
  })();
  await Promise.all([...users, rotations]);
  for (const at of [server, second]) assert.equal((await notes(at, first)).status, 200);
  const [newest] = await server.database.query('select kid from wda.signing_key where rotated_at is null');
  for (const at of [server, second]) {
    await until(async () => decodeProtectedHeader(await tokenOf(at, client)).kid === newest?.kid);
  }
});

test('processes that rotate at the same time leave one key that signs', async () => {
  await Promise.all([rotate(server), rotate(second), rotate(server), rotate(second)]);
  const [row] = await server.database.query(
    'select count(*)::int as signing from wda.signing_key where rotated_at is null',
  );
  assert.equal(row?.signing, 1);
});

test('a key goes when the last token that it may have signed has expired', async () => {
  await rotate(server);
  const [kept] = await server.database.query(
    `update wda.signing_key set rotated_at = rotated_at - make_interval(secs => token_lifetime_seconds + 61)
     where id = (select max(id) from wda.signing_key where rotated_at is not null) returning kid`,
  );
  const kids = async (): Promise<string[]> =>
    (await second.call('/oauth/jwks')).json.keys.map(({ kid }: { kid: string }) => kid);
  await until(async () => !(await kids()).includes(String(kept?.kid)));
  await rotate(server);
  const rows = await server.database.query('select from wda.signing_key where kid = $1', [kept?.kid]);
  assert.equal(rows.length, 0);
});

test('a key that is old is replaced by itself', async () => {
  const before = await tokenOf(server, client);
  await server.database.query(
    `update wda.signing_key set created_at = created_at - interval '91 days' where rotated_at is null`,
  );
  const { kid } = decodeProtectedHeader(before);
  await until(async () => decodeProtectedHeader(await tokenOf(server, client)).kid !== kid);
  assert.equal((await notes(second, before)).status, 200);
});

test('a token signed by somebody else with our issuer is refused on every API', async () => {
  const { privateKey } = await generateKeyPair('ES256');
  const real = await tokenOf(server, client);
  const { kid } = decodeProtectedHeader(real);
  for (const header of [{ kid }, { kid: 'unknown' }, {}]) {
    const credential = await new SignJWT(decodeJwt(real))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header } as JWTHeaderParameters)
      .sign(privateKey);
    refused(await notes(server, credential), 'Token signature is invalid');
    refused(await workspace.admin('schema', { credential }), 'Token signature is invalid');
  }
});

test('internal and external tokens are never taken for each other', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'external', alg: 'ES256', use: 'sig' };
  const provider = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const issuerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  try {
    const configured = await workspace.admin('identity-provider', {
      method: 'PUT',
      body: {
        issuerUrl,
        jwksUri: `${issuerUrl}/jwks`,
        audience: null,
        defaultPermissions: 'READ_WRITE',
        enabled: true,
      },
    });
    assert.ok([200, 201].includes(configured.status), configured.text);
    const internal = await tokenOf(server, client);
    const claims = decodeJwt(internal);
    const sign = (change: Readonly<Record<string, unknown>>): Promise<string> =>
      new SignJWT({ ...claims, ...change })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'external' })
        .sign(privateKey);

    // The provider's own tokens are external users under the row rules, however much they look like ours.
    const external = await sign({ iss: issuerUrl, sub: 'ann' });
    const seen = await notes(server, external);
    assert.deepEqual([seen.status, seen.json.meta.totalElements], [200, 1], seen.text);
    assert.equal((await workspace.admin('schema', { credential: external })).status, 403);

    // With our issuer they are judged by our keys.
    refused(await notes(server, await sign({})), 'Token signature is invalid');
    // Ours are owners with or without a provider, and have no row rules.
    const owned = await notes(server, internal);
    assert.equal(owned.json.meta.totalElements, 2);
    // Our key set configured as a provider's makes our tokens no users: our issuer is no provider's.
    const ours = await other.admin('identity-provider', {
      method: 'PUT',
      body: { issuerUrl: PUBLIC_URL, jwksUri: null, audience: null, defaultPermissions: 'READ_WRITE', enabled: true },
    });
    assert.equal(ours.status, 400, ours.text);
    await other.admin('identity-provider', {
      method: 'PUT',
      body: {
        issuerUrl,
        jwksUri: `${server.url}/oauth/jwks`,
        audience: null,
        defaultPermissions: 'READ_WRITE',
        enabled: true,
      },
    });
    refused(await other.call('notes', { credential: internal }));
  } finally {
    provider.closeAllConnections();
    provider.close();
  }
});
