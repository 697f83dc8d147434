// The identity provider of a workspace as its administrators configure it: what is taken, what is refused and why, what
// a token is told about, and how soon a change is in force in every process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forge } from '../../support/issuer.ts';
import { startKeyServer } from '../../support/key-server.ts';
import { aboutProvider, configure, isAccepted, isRefused, makeNotes } from '../../support/notes-fixture.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, TestServer, TestWorkspace } from '../../support/server.ts';

const API = 'urn:example:api';
const PATH = 'identity-provider';
const NO_PROVIDER = 'No external identity provider configured for this workspace';
const WHOLE = { issuerUrl: 'https://idp.example.com/', defaultPermissions: 'READ_ONLY', enabled: true };

const open = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow', PUBLIC_URL: 'https://data.example.com/api' });
const closed = useServer({}, open);
const second = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' }, open);
const issuer = useIssuer();
const keys = use(startKeyServer, (server) => server.stop());
/** On the server that may go to private networks, the same on the one that may not, and on another that may. */
const notes = use(() => makeNotes(open, 'acme/notes'));
const guarded = use(async () => onServer(closed));
const elsewhere = use(async () => onServer(second));

/** The workspace through another process. */
function onServer(server: TestServer): TestWorkspace {
  const at = (prefix: string, credential: string): TestWorkspace['call'] => {
    return (path, call = {}) => server.call(`${prefix}${path}`, { credential, ...call });
  };
  return {
    ...notes,
    call: at('/api/v1/acme/notes/', notes.key),
    admin: at('/api/admin/v1/organizations/acme/workspaces/notes/', notes.key),
  };
}

const put = (body: unknown, workspace = notes): Promise<Answer> => workspace.admin(PATH, { method: 'PUT', body });

test('without a provider there is nothing to read or to delete', async () => {
  for (const method of ['GET', 'DELETE']) {
    const answer = await notes.admin(PATH, { method });
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, {
      error: {
        code: 'NOT_FOUND',
        message: 'The workspace has no identity provider',
        reason: 'IDENTITY_PROVIDER_NOT_FOUND',
      },
    });
  }
});

const shapes: readonly (readonly [why: string, body: unknown, details: readonly string[]])[] = [
  ['nothing', {}, ['defaultPermissions REQUIRED', 'enabled REQUIRED', 'issuerUrl REQUIRED']],
  ['an issuer alone', { issuerUrl: WHOLE.issuerUrl }, ['defaultPermissions REQUIRED', 'enabled REQUIRED']],
  ['permissions that there are not', { ...WHOLE, defaultPermissions: 'Read Only' }, ['defaultPermissions INVALID']],
  ['an owner as permission', { ...WHOLE, defaultPermissions: 'OWNER' }, ['defaultPermissions INVALID']],
  ['enabled as text', { ...WHOLE, enabled: 'yes' }, ['enabled TYPE_MISMATCH']],
  ['an audience that is a list', { ...WHOLE, audience: [API] }, ['audience TYPE_MISMATCH']],
  ['an issuer that is null', { ...WHOLE, issuerUrl: null }, ['issuerUrl TYPE_MISMATCH']],
  ['a member that there is not', { ...WHOLE, jwksUrl: 'https://idp.example.com/jwks' }, ['jwksUrl UNKNOWN_FIELD']],
];
for (const [why, body, details] of shapes) {
  test(`a body with ${why} is refused, every mistake listed`, async () => {
    const answer = await put(body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
    const found = answer.json.error.details.map(
      ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
    );
    // An enumeration may be told as what it is not in.
    assert.deepEqual(found.map((text: string) => text.replace('NOT_IN_ENUM', 'INVALID')).sort(), details);
  });
}

const refusedUrls: readonly (readonly [url: string, message: RegExp])[] = [
  ['hello', /^must be an https URL$/],
  ['http://idp.example.com', /^must be an https URL \(plain http only/],
  ['https://user:secret@idp.example.com', /^must not contain a user name or password$/],
  ['https://127.0.0.1:8443', /^must not lead to a loopback or private address, unless/],
  ['https://[::ffff:10.0.0.1]', /^must not lead to a loopback or private address/],
  ['https://localhost', /^must not lead to a loopback or private address/],
  ['https://169.254.169.254', /^must not lead to a link-local/],
];
for (const [url, message] of refusedUrls) {
  test(`${url} is refused as issuer and as key set, and says why`, async () => {
    for (const [field, body] of [
      ['issuerUrl', { ...WHOLE, issuerUrl: url }],
      ['jwksUri', { ...WHOLE, jwksUri: url }],
    ] as const) {
      const answer = await put(body, guarded);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.json.error.details.length, 1, answer.text);
      assert.equal(answer.json.error.details[0].field, field);
      assert.equal(answer.json.error.details[0].code, 'INVALID');
      assert.match(answer.json.error.details[0].message, message);
    }
    assert.equal((await guarded.admin(PATH)).status, 404);
  });
}

for (const issuerUrl of [
  'https://data.example.com/api',
  'https://data.example.com/api/',
  'https://DATA.example.com:443/api',
]) {
  test(`our own issuer is refused as ${issuerUrl}`, async () => {
    const answer = await put({ ...WHOLE, issuerUrl });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json.error.details[0].message, /^must not be this server/);
  });
}

for (const issuerUrl of ['https://idp.example.com/?tenant=1', 'https://idp.example.com/#main']) {
  test(`${issuerUrl} is no issuer`, async () => {
    assert.match((await put({ ...WHOLE, issuerUrl })).json.error.details[0].message, /query or a fragment/);
  });
}

test('link-local addresses are refused in private networks, too', async () => {
  const answer = await put({ ...WHOLE, issuerUrl: 'http://169.254.169.254/' });
  assert.equal(answer.status, 400);
  assert.match(answer.json.error.details[0].message, /^must not lead to a link-local/);
});

const warned: readonly (readonly [why: string, document: object | undefined, warning: RegExp])[] = [
  ['that does not describe itself', undefined, /openid-configuration answered 404$/],
  [
    "whose description is another issuer's",
    { issuer: 'https://idp.example.com', jwks_uri: 'https://idp.example.com/jwks' },
    /its issuer is "https:\/\/idp\.example\.com", not "http/,
  ],
  ['whose description leads inside', { jwks_uri: 'http://169.254.169.254/' }, /must not lead to a link-local/],
];
for (const [index, [why, document, warning]] of warned.entries()) {
  test(`a provider ${why} is configured, with a warning`, async () => {
    const issuerUrl = `${keys.origin}/warned-${index}`;
    if (document !== undefined)
      keys.serve(`/warned-${index}/.well-known/openid-configuration`, { issuer: issuerUrl, ...document });
    const warnings = await configure(notes, { issuerUrl, audience: API });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] as string, warning);
  });
}

test('a key set without a usable key is configured, with a warning', async () => {
  keys.serve('/useless', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] });
  const warnings = await configure(notes, { issuerUrl: 'https://idp.example.com', jwksUri: `${keys.origin}/useless` });
  assert.match(warnings[0] as string, /no RSA key/);
});

test('an owner is told one sentence about providers in a private network, whatever is there', async () => {
  const sentences = new Set<string>();
  const closedPort = await startKeyServer();
  await closedPort.stop();
  keys.serve('/other/.well-known/openid-configuration', { issuer: 'an internal value', jwks_uri: 'http://10.0.0.1/' });
  keys.serve('/no-keys', { keys: [] });
  for (const body of [
    { issuerUrl: `${keys.origin}/absent` },
    { issuerUrl: `${keys.origin}/other` },
    { issuerUrl: closedPort.origin },
    { issuerUrl: 'https://idp.example.com', jwksUri: `${keys.origin}/no-keys` },
    { issuerUrl: 'https://idp.example.com', jwksUri: `${keys.origin}/absent` },
  ]) {
    const call = { method: 'PUT', body: { ...WHOLE, audience: API, ...body } };
    const owner = await notes.admin(PATH, { ...call, credential: notes.key });
    assert.equal(owner.status, 200, owner.text);
    assert.equal(aboutProvider(owner.json.meta.warnings).length, 1);
    sentences.add(owner.json.meta.warnings[0]);
    const operator = await notes.admin(PATH, call);
    assert.ok(!sentences.has(operator.json.meta.warnings[0]), operator.text);
  }
  assert.equal(sentences.size, 1);
  assert.match([...sentences][0] as string, /^No token can be verified at the moment\. .* the log of the server/);
});

test('a change warns of a provider that gives no keys, unless it is disabled afterwards', async () => {
  await configure(notes, { issuerUrl: `${keys.origin}/gone`, audience: API });
  const inspectionWarnings = async (body: object): Promise<readonly string[]> => {
    const { status, json, text } = await put(body);
    assert.equal(status, 200, text);
    return aboutProvider(json.meta?.warnings ?? []);
  };
  assert.deepEqual(await inspectionWarnings({ enabled: false }), []);
  assert.deepEqual(await inspectionWarnings({ audience: 'urn:example:other' }), []);
  for (const body of [{ enabled: true }, { audience: API }, { defaultPermissions: 'READ_ONLY' }]) {
    const warnings = await inspectionWarnings(body);
    assert.equal(warnings.length, 1, JSON.stringify(body));
    assert.match(warnings[0] as string, /^No token can be verified at the moment: /);
  }
});

test('a blank audience is taken with a warning', async () => {
  const body = { issuerUrl: issuer.url, jwksUri: issuer.jwksUri, defaultPermissions: 'READ_WRITE', enabled: true };
  for (const audience of [undefined, null, '', ' ']) {
    const { meta } = (await put({ ...body, audience })).json;
    assert.deepEqual(aboutProvider(meta.warnings).length, 1);
    assert.match(aboutProvider(meta.warnings)[0] as string, /^audience is blank: /);
  }
  assert.deepEqual((await put({ enabled: false })).json.meta.warnings.length, 1);
  assert.equal((await put({ ...body, audience: API, enabled: false })).json.meta, undefined);
});

test('entities without row rules are named by every change that leaves them open', async () => {
  const shop = await open.workspace('acme/open', {
    entities: { customers: {}, orders: { relations: { customer: { kind: 'belongsTo', entity: 'customers' } } } },
  });
  const provider = { issuerUrl: issuer.url, jwksUri: issuer.jwksUri, audience: API, defaultPermissions: 'READ_WRITE' };
  const warned = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await shop.admin(path, { method: 'PUT', body });
    assert.ok(answer.status === 200 || answer.status === 202, answer.text);
    return answer.json.meta?.warnings;
  };
  const rules = (entity: string, ...columns: readonly string[]): Promise<unknown> =>
    warned(
      `entities/${entity}/row-rules`,
      columns.map((column) => ({ column, claim: 'customer_id' })),
    );
  assert.equal(await rules('customers'), undefined);
  assert.equal(await warned(PATH, { ...provider, enabled: false }), undefined);
  const both =
    '2 entities have neither row rules nor grants: every user may read and change all of their records: customers, orders';
  assert.deepEqual(await warned(PATH, { ...provider, enabled: true }), [both]);
  assert.deepEqual(await warned(PATH, { enabled: true }), [both]);
  const one = '1 entity has neither row rules nor grants: every user may read all of its records: ';
  await warned(PATH, { defaultPermissions: 'READ_ONLY' });
  assert.deepEqual(await rules('orders', 'customerId'), [`${one}customers`]);
  assert.equal(await rules('customers', 'id'), undefined);
  const document = {
    entities: { customers: {}, orders: { relations: { customer: { kind: 'belongsTo', entity: 'customers' } } } },
  };
  assert.equal(await warned('schema', document), undefined);
  const more = { entities: { ...document.entities, teams: {} } };
  for (const wait of [60, 0]) assert.deepEqual(await warned(`schema?wait=${wait}`, more), [`${one}teams`]);
});

test('blank key set and audience are none, and a whole configuration leaves nothing of the one before', async () => {
  const body = { issuerUrl: issuer.url, defaultPermissions: 'READ_ONLY', enabled: true };
  const blank = await put({ ...body, jwksUri: '', audience: ' ' });
  assert.deepEqual(blank.json.data, { ...body, jwksUri: null, audience: null });
  await configure(notes, { issuerUrl: issuer.url, jwksUri: issuer.jwksUri, audience: API });
  assert.deepEqual((await put(body)).json.data, { ...body, jwksUri: null, audience: null });
  assert.deepEqual((await notes.admin(PATH)).json.data, { ...body, jwksUri: null, audience: null });
});

test('a body without an issuer changes what it names', async () => {
  await configure(notes, { issuerUrl: issuer.url, audience: API });
  const whole = {
    issuerUrl: issuer.url,
    jwksUri: null,
    audience: API,
    defaultPermissions: 'READ_WRITE',
    enabled: true,
  };
  assert.deepEqual((await put({ enabled: false })).json.data, { ...whole, enabled: false });
  assert.deepEqual((await put({ defaultPermissions: 'READ_ONLY', enabled: true })).json.data, {
    ...whole,
    defaultPermissions: 'READ_ONLY',
  });
  assert.deepEqual((await put({ audience: null, defaultPermissions: 'READ_WRITE' })).json.data, {
    ...whole,
    audience: null,
  });
  assert.deepEqual((await put({ jwksUri: issuer.jwksUri })).json.data, {
    ...whole,
    audience: null,
    jwksUri: issuer.jwksUri,
  });
  assert.equal((await put({ jwksUri: 'ftp://idp.example.com' })).status, 400);
  assert.deepEqual((await put({ jwksUri: '' })).json.data, { ...whole, audience: null });
});

test('deleted means that no token holds any more', async () => {
  await configure(notes, { issuerUrl: issuer.url });
  const token = await issuer.token({ resource: API });
  await isAccepted(notes, token);
  const answer = await notes.admin(PATH, { method: 'DELETE' });
  assert.equal(answer.status, 204);
  assert.equal(answer.text, '');
  await isRefused(notes, token, NO_PROVIDER);
  assert.equal((await notes.admin(PATH, { method: 'DELETE' })).status, 404);
});

test('a workspace with a provider can be deleted', async () => {
  const other = await makeNotes(open, 'acme/other');
  await configure(other, { issuerUrl: issuer.url });
  assert.equal((await other.admin('?confirm=other', { method: 'DELETE' })).status, 204);
});

test('every change made through one process is in force in another within a second', async () => {
  const token = await issuer.token({ resource: API });
  // A request each 10 ms keeps what the other process remembers as fresh as it gets.
  const seen = async (expected: (answer: Answer) => boolean, what: string): Promise<void> => {
    const deadline = performance.now() + 1000;
    for (;;) {
      const asked = performance.now();
      const answer = await elsewhere.call('notes', { credential: token, method: 'GET' });
      if (expected(answer)) return;
      assert.ok(asked < deadline, `${what}: after a second the answer is still ${answer.status} ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const says = (message: string) => (answer: Answer) => answer.json.error?.message === message;
  const works = (answer: Answer): boolean => answer.status === 200;
  await seen(says(NO_PROVIDER), 'no provider');
  for (let round = 0; round < 3; round++) {
    await configure(notes, { issuerUrl: issuer.url });
    await seen(works, 'configured');
    await put({ enabled: false });
    await seen(says(NO_PROVIDER), 'disabled');
    await put({ enabled: true });
    await seen(works, 'enabled');
    await put({ audience: 'urn:example:other' });
    await seen(says('Token audience does not match configured audience'), 'another audience');
    await configure(notes, { issuerUrl: `${issuer.url}/`, jwksUri: issuer.jwksUri });
    await seen(says('Token issuer does not match configured identity provider'), 'another issuer');
    await notes.admin(PATH, { method: 'DELETE' });
    await seen(says(NO_PROVIDER), 'deleted');
  }
});

test('a token is told which checks it passes, and which records it would see', async () => {
  await configure(notes, { issuerUrl: issuer.url, audience: API, defaultPermissions: 'READ_ONLY' });
  const ask = async (token: string) => {
    const answer = await notes.admin(`${PATH}/test`, { method: 'POST', body: { token } });
    assert.equal(answer.status, 200, answer.text);
    const { checks, ...rest } = answer.json.data;
    const told = checks.map(({ check, passed }: { check: string; passed: boolean | null }) => [check, passed]);
    const messages = checks.flatMap(({ message }: { message: string | null }) => message ?? []);
    return { ...rest, checks: Object.fromEntries(told), messages };
  };
  const all = (change: object = {}): object => ({
    format: true,
    provider: true,
    enabled: true,
    issuer: true,
    algorithm: true,
    keys: true,
    signature: true,
    expiry: true,
    audience: true,
    requiredClaims: true,
    subject: true,
    expiryClaim: true,
    notBefore: true,
    ...change,
  });
  const good = await ask(await issuer.token({ resource: API }));
  assert.equal(good.accepted, true);
  assert.equal(good.permissions, 'READ_ONLY');
  assert.equal(good.claims.sub, 'app');
  assert.deepEqual(good.checks, all());
  assert.deepEqual(good.messages, []);
  const letters = good.entities.find(({ entity }: { entity: string }) => entity === 'letters');
  assert.deepEqual(letters.rules, [{ column: 'owner', claim: 'sub', value: 'app', reason: null }]);

  const foreign = await ask((await issuer.token({ resource: 'urn:example:other' })).replace(/.{6}$/, 'AAAAAA'));
  assert.equal(foreign.accepted, false);
  assert.equal(foreign.permissions, null);
  assert.deepEqual(foreign.checks, all({ signature: false, audience: false }));
  assert.deepEqual(foreign.messages, [
    'Token signature is invalid',
    'Token audience does not match configured audience',
  ]);

  const endless = await ask(forge({ alg: 'RS256' }, { sub: 'eve' }));
  assert.equal(endless.checks.expiry, null, 'of a token without an end nothing says that it has not come');
  assert.equal(endless.checks.expiryClaim, false);

  const opaque = await ask(await issuer.token());
  assert.equal(opaque.claims, null);
  assert.deepEqual(opaque.entities, []);
  const none = {
    issuer: null,
    algorithm: null,
    signature: null,
    expiry: null,
    audience: null,
    requiredClaims: null,
    subject: null,
    expiryClaim: null,
    notBefore: null,
  };
  assert.deepEqual(opaque.checks, all({ ...none, format: false }));
  assert.deepEqual(opaque.messages, ['Token is not a valid JWT']);

  await put({ enabled: false });
  const disabled = await ask(await issuer.token({ resource: API }));
  assert.deepEqual([disabled.accepted, disabled.checks], [false, all({ enabled: false })]);
  await notes.admin(PATH, { method: 'DELETE' });
  const absent = await ask(await issuer.token({ resource: API }));
  const without = {
    provider: false,
    enabled: null,
    issuer: null,
    keys: null,
    signature: null,
    audience: null,
    requiredClaims: null,
  };
  assert.deepEqual([absent.accepted, absent.checks], [false, all(without)]);
});
