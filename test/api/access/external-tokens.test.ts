// Tokens of a real, certified OpenID provider that a workspace trusts: what they open, when they stop, and what happens
// when the provider changes its keys or is away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startIssuer } from '../../support/issuer.ts';
import { BLANK_AUDIENCE, configure, isAccepted, isRefused, makeNotes } from '../../support/notes-fixture.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';

const API = 'urn:example:api';
const ISSUER_MISMATCH = 'Token issuer does not match configured identity provider';
const NO_PROVIDER = 'No external identity provider configured for this workspace';
const NO_KEYS = 'Failed to discover JWKS endpoint for issuer';

const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const issuer = useIssuer();
const notes = use(() => makeNotes(server, 'acme/notes'));
const bare = use(() => makeNotes(server, 'acme/bare'));

const token = (algorithm: 'RS256' | 'PS256' | 'ES256' = 'RS256'): Promise<string> =>
  issuer.token({ resource: API, algorithm });

for (const algorithm of ['RS256', 'PS256', 'ES256'] as const) {
  test(`a token signed with ${algorithm} opens the workspace, its keys discovered`, async () => {
    assert.deepEqual(await configure(notes, { issuerUrl: issuer.url }), BLANK_AUDIENCE);
    await isAccepted(notes, await token(algorithm));
  });
}

test('the key set may be configured instead of being discovered', async () => {
  const discovered = issuer.requests.get('/.well-known/openid-configuration');
  assert.deepEqual(await configure(notes, { issuerUrl: issuer.url, jwksUri: issuer.jwksUri }), BLANK_AUDIENCE);
  await isAccepted(notes, await token());
  assert.equal(issuer.requests.get('/.well-known/openid-configuration'), discovered);
});

for (const path of ['/', '/tenant', '/tenant/']) {
  test(`an issuer whose URL ends in ${path} is found, and is another one than without or with the slash`, async () => {
    const other = await startIssuer(path);
    try {
      assert.deepEqual(await configure(notes, { issuerUrl: other.url }), BLANK_AUDIENCE);
      const credential = await other.token({ resource: API });
      await isAccepted(notes, credential);
      const twin = path.endsWith('/') ? other.url.slice(0, -1) : `${other.url}/`;
      await configure(notes, { issuerUrl: twin, jwksUri: other.jwksUri });
      await isRefused(notes, credential, ISSUER_MISMATCH);
    } finally {
      await other.stop();
    }
  });
}

test('a token that was asked for without a resource is opaque, and is refused', async () => {
  await configure(notes, { issuerUrl: issuer.url });
  const opaque = await issuer.token();
  assert.ok(!opaque.includes('.'));
  await isRefused(notes, opaque, 'Token is not a valid JWT');
});

test('a configured audience must be among those of the token, case and all', async () => {
  const credential = await token();
  await configure(notes, { issuerUrl: issuer.url, audience: API });
  await isAccepted(notes, credential);
  for (const audience of ['urn:example:API', 'urn:example', 'urn:example:api/']) {
    await configure(notes, { issuerUrl: issuer.url, audience });
    await isRefused(notes, credential, 'Token audience does not match configured audience');
  }
});

test('a token stops when it expires, also when it was accepted before', async () => {
  await configure(notes, { issuerUrl: issuer.url });
  const credential = await issuer.token({ resource: API, lifetimeSeconds: 4 });
  await isAccepted(notes, credential);
  const { exp } = JSON.parse(Buffer.from(credential.split('.')[1] as string, 'base64url').toString());
  while (Date.now() < exp * 1000) await new Promise((resolve) => setTimeout(resolve, 50));
  await isRefused(notes, credential, 'Token has expired');
});

test('a workspace without a provider, with a disabled one and one that does not exist answer the same', async () => {
  const credential = await token();
  await isRefused(bare, credential, NO_PROVIDER);
  await configure(notes, { issuerUrl: issuer.url, enabled: false });
  await isRefused(notes, credential, NO_PROVIDER);
  for (const path of ['acme/nothing/notes', 'nobody/nothing/notes', 'acme/bare/nothing']) {
    const answer = await server.call(`/api/v1/${path}`, { credential });
    assert.equal(answer.status, 401);
    assert.equal(answer.json.error.message, NO_PROVIDER);
  }
  await configure(notes, { issuerUrl: issuer.url, enabled: true });
  await isAccepted(notes, credential);
  // What was remembered for one workspace says nothing in another.
  await isRefused(bare, credential, NO_PROVIDER);
});

test('Read Only refuses every write, before it looks at body, record or parameters', async () => {
  await configure(notes, { issuerUrl: issuer.url, defaultPermissions: 'READ_ONLY' });
  const credential = await token();
  await isAccepted(notes, credential);
  assert.equal((await notes.call('notes/1', { credential })).status, 200);
  assert.equal((await notes.call('notes/_query', { credential, method: 'POST', body: {} })).status, 200);
  assert.equal((await notes.call('notes/_export?format=csv', { credential })).status, 200);
  for (const [method, path, body] of [
    ['POST', 'notes', { text: 'three' }],
    ['POST', 'notes', '{not json'],
    ['PUT', 'notes/1', { text: 'three' }],
    ['PATCH', 'notes/1', { text: 'three' }],
    ['DELETE', 'notes/1', undefined],
    ['DELETE', 'notes/99', undefined],
    ['PUT', 'notes/not-an-id?unknown=1', { nothing: 1 }],
    ['POST', 'notes/_import', 'text\nthree'],
    ['POST', 'nothing', { text: 'three' }],
  ] as const) {
    const answer = await notes.call(path, { method, credential, body });
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
    assert.deepEqual(answer.json, {
      error: {
        code: 'FORBIDDEN',
        message: 'READ_ONLY permissions - data modifications are not allowed',
        reason: 'READ_ONLY',
      },
    });
  }
  await isAccepted(notes, credential);
});

test('Read & Write allows all of them, and a change of the permissions holds for tokens in use', async () => {
  const credential = await token();
  await configure(notes, { issuerUrl: issuer.url, defaultPermissions: 'READ_ONLY' });
  assert.equal((await notes.call('notes', { method: 'POST', credential, body: { text: 'x' } })).status, 403);
  await configure(notes, { issuerUrl: issuer.url, defaultPermissions: 'READ_WRITE' });
  const made = await notes.call('notes', { method: 'POST', credential, body: { text: 'x' } });
  assert.equal(made.status, 201, made.text);
  const path = `notes/${made.json.data.id}`;
  assert.equal((await notes.call(path, { method: 'PUT', credential, body: { text: 'y' } })).status, 200);
  assert.equal((await notes.call(path, { method: 'DELETE', credential })).status, 204);
});

test('row rules see the claims of the token', async () => {
  await configure(notes, { issuerUrl: issuer.url });
  const credential = await token();
  const list = await notes.call('letters?fields=text', { credential });
  assert.deepEqual(list.json.data, [{ text: 'to the app' }]);
  assert.equal(list.json.meta.totalElements, 1);
  assert.equal((await notes.call('letters/2', { credential })).status, 404);
});

test('the admin API refuses tokens that no workspace would accept with 401', async () => {
  const stranger = await startIssuer();
  const credential = await stranger.token({ resource: API });
  await stranger.stop();
  for (const path of ['/organizations', '/organizations/acme/workspaces/notes/schema']) {
    const answer = await server.call(`/api/admin/v1${path}`, { credential });
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.json.error.message, NO_PROVIDER);
  }
});

test('when the provider changes its keys while requests run, tokens of either kind of key hold or fail cleanly', async () => {
  const rotating = await startIssuer();
  try {
    await configure(notes, { issuerUrl: rotating.url });
    const before = await rotating.token({ resource: API });
    await isAccepted(notes, before);
    let stop = false;
    const running = Array.from({ length: 4 }, async () => {
      while (!stop) await isAccepted(notes, before);
    });
    rotating.rotate();
    const after = await rotating.token({ resource: API });
    await isAccepted(notes, after);
    stop = true;
    // A token of the old key is not verified anew while it is remembered; nothing of the running requests failed.
    await Promise.all(running);
    const fetches = rotating.requests.get('/jwks');
    for (let attempt = 0; attempt < 5; attempt++) await isAccepted(notes, after);
    assert.equal(rotating.requests.get('/jwks'), fetches);
    // A token of the old key that nobody has seen yet has no key any more.
    await configure(notes, { issuerUrl: rotating.url });
    await isRefused(notes, before, 'Token signature is invalid');
  } finally {
    await rotating.stop();
  }
});

test('tokens with a key that is not there cause one fetch, and harm nobody', async () => {
  const flooded = await startIssuer();
  try {
    await configure(notes, { issuerUrl: flooded.url });
    const good = await flooded.token({ resource: API });
    await isAccepted(notes, good);
    const fetches = flooded.requests.get('/jwks') ?? 0;
    const strangers = Array.from({ length: 40 }, (_, index) => {
      const parts = good.split('.');
      const header = { alg: 'RS256', kid: `random-${index}` };
      return [Buffer.from(JSON.stringify(header)).toString('base64url'), parts[1], parts[2]].join('.');
    });
    await Promise.all([
      ...strangers.map((stranger) => isRefused(notes, stranger, 'Token signature is invalid')),
      ...strangers.map(() => isAccepted(notes, good)),
    ]);
    assert.equal(flooded.requests.get('/jwks'), fetches + 1);
  } finally {
    await flooded.stop();
  }
});

test('a provider that is away costs nobody whose key is known', async () => {
  const absent = await startIssuer();
  await configure(notes, { issuerUrl: absent.url });
  const known = await absent.token({ resource: API });
  const unseen = await absent.token({ resource: API });
  const otherKey = await absent.token({ resource: API, algorithm: 'ES256' });
  await isAccepted(notes, known);
  await absent.stop();
  await isAccepted(notes, known);
  await isAccepted(notes, unseen);
  await isAccepted(notes, otherKey);
  // Not even a new configuration forgets the keys.
  await configure(notes, { issuerUrl: absent.url, defaultPermissions: 'READ_ONLY' });
  await isAccepted(notes, unseen);
});

test('a provider that was never reached is said to be away, at once for all who come after', async () => {
  const absent = await startIssuer();
  const credential = await absent.token({ resource: API });
  await absent.stop();
  const warnings = await configure(notes, { issuerUrl: absent.url, audience: API });
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] as string,
    /^No token can be verified at the moment: .*openid-configuration refused the connection$/,
  );
  for (let attempt = 0; attempt < 3; attempt++) await isRefused(notes, credential, NO_KEYS);
});

test('nothing of a token or of the keys gets into an answer of the admin API but the configuration', async () => {
  await configure(notes, { issuerUrl: issuer.url, audience: API });
  const answer = await notes.admin('identity-provider');
  assert.deepEqual(answer.json, {
    data: { issuerUrl: issuer.url, jwksUri: null, audience: API, defaultPermissions: 'READ_WRITE', enabled: true },
  });
});
