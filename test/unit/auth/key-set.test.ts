// Key sets of providers: how often they are fetched whatever tokens come, and how long they last when nobody answers.
// The clock is the test's own; the provider is a real server.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { parseKeySet } from '../../../src/auth/jwk.ts';
import { buildDiscoveryUrl, type KeySets, type KeySource, makeKeySets } from '../../../src/auth/key-set.ts';
import { HttpClientError } from '../../../src/http-client/errors.ts';
import { makeHttpClient } from '../../../src/http-client/http-client.ts';
import { type KeyServer, type sendJson, startKeyServer } from '../../support/key-server.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const outbound = makeHttpClient({ setting: 'WDA_IDP_PRIVATE_NETWORK', allowPrivate: true });
let server: KeyServer;
let now = 0;
let errors: string[] = [];
let sets: KeySets;
let nextPath = 0;

before(async () => {
  server = await startKeyServer();
});
after(async () => {
  await outbound.close();
  await server.stop();
});
beforeEach(() => {
  errors = [];
  sets = makeKeySets({ outbound, now: () => now, onError: (_source, error) => errors.push(error.message) });
});

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keySet = (...kids: string[]): object => ({
  keys: kids.map((kid) => ({ ...publicKey.export({ format: 'jwk' }), kid })),
});
const broken = (response: Parameters<typeof sendJson>[0]): void => void response.writeHead(500).end();

/** A provider of its own for each test: its key set at a path that answers as told. */
function provider(): { readonly source: KeySource; readonly path: string } {
  const path = `/jwks-${nextPath++}`;
  return { source: { issuerUrl: `${server.origin}/issuer`, jwksUri: `${server.origin}${path}` }, path };
}

const kidsOf = async (source: KeySource): Promise<readonly (string | undefined)[]> =>
  (await sets.getCurrent(source)).keys.map(({ kid }) => kid);

async function fails(promise: Promise<unknown>): Promise<HttpClientError> {
  const error = await promise.then(
    () => assert.fail('keys were found'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HttpClientError, String(error));
  return error;
}

test('many requests at once cause one fetch', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('a'));
  const found = await Promise.all(Array.from({ length: 50 }, () => sets.getCurrent(source)));
  assert.equal(new Set(found).size, 1);
  assert.equal(server.count(path), 1);
});

test('keys are used for ten minutes, then fetched anew while the old ones serve', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('a'));
  assert.deepEqual(await kidsOf(source), ['a']);
  server.serve(path, keySet('b'));
  now += 10 * MINUTE;
  assert.deepEqual(await kidsOf(source), ['a']);
  assert.equal(server.count(path), 1);
  now += 1;
  const old = await sets.getCurrent(source);
  assert.deepEqual(
    old.keys.map(({ kid }) => kid),
    ['a'],
  );
  // The fetch in the background is under way: asking for newer keys waits for it.
  assert.deepEqual(
    (await sets.fetchNewer(source, old))?.keys.map(({ kid }) => kid),
    ['b'],
  );
  assert.equal(server.count(path), 2);
});

test('after a time without tokens the first one waits for the keys of now', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('withdrawn'));
  assert.deepEqual(await kidsOf(source), ['withdrawn']);
  server.serve(path, keySet('b'));
  now += 15 * MINUTE + 1;
  assert.deepEqual(await Promise.all([kidsOf(source), kidsOf(source)]), [['b'], ['b']]);
  assert.equal(server.count(path), 2);
});

test('keys that do not do are asked for again at once, then every 30 s', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('a'));
  const first = await sets.getCurrent(source);
  server.serve(path, keySet('a', 'b'));
  const second = await sets.fetchNewer(source, first);
  assert.deepEqual(
    second?.keys.map(({ kid }) => kid),
    ['a', 'b'],
  );
  assert.equal(await sets.getCurrent(source), second);
  assert.equal(server.count(path), 2);
  for (let step = 0; step < 29; step++) {
    now += SECOND;
    assert.equal(await sets.fetchNewer(source, second as NonNullable<typeof second>), undefined);
  }
  assert.equal(server.count(path), 2);
  now += SECOND;
  server.serve(path, keySet('c'));
  const flood = await Promise.all(
    Array.from({ length: 50 }, () => sets.fetchNewer(source, second as NonNullable<typeof second>)),
  );
  assert.equal(new Set(flood).size, 1);
  assert.deepEqual(
    flood[0]?.keys.map(({ kid }) => kid),
    ['c'],
  );
  assert.equal(server.count(path), 3);
  // Whoever still holds the set before gets this one without a fetch.
  assert.equal(await sets.fetchNewer(source, first), flood[0]);
  assert.equal(server.count(path), 3);
});

test('the same document makes no new set', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('a'));
  const first = await sets.getCurrent(source);
  assert.equal(await sets.fetchNewer(source, first), undefined);
  assert.equal(await sets.getCurrent(source), first);
  assert.equal(server.count(path), 2);
});

test('after a failure nobody asks for 10 s, then 20 s, then 30 s each', async () => {
  const { source, path } = provider();
  server.serve(path, broken);
  let count = 0;
  for (const pause of [10, 20, 30, 30]) {
    const failure = await fails(sets.getCurrent(source));
    count++;
    assert.match(failure.message, /answered 500/);
    assert.equal(server.count(path), count);
    now += pause * SECOND - 1;
    await Promise.all(Array.from({ length: 20 }, () => fails(sets.getCurrent(source))));
    assert.equal(server.count(path), count);
    now += 1;
  }
  assert.equal(errors.length, count);
  server.serve(path, keySet('a'));
  assert.deepEqual(await kidsOf(source), ['a']);
});

test('through an outage the last keys serve for 24 h', async () => {
  const { source, path } = provider();
  server.serve(path, keySet('a'));
  const first = await sets.getCurrent(source);
  server.serve(path, broken);
  for (let hour = 0; hour < 24; hour++) {
    now += HOUR;
    assert.equal(await sets.getCurrent(source), first);
    assert.equal(await sets.fetchNewer(source, first), undefined);
  }
  assert.ok(server.count(path) >= 24);
  now += 1;
  await fails(sets.getCurrent(source));
  now += 30 * SECOND;
  server.serve(path, keySet('b'));
  assert.deepEqual(await kidsOf(source), ['b']);
});

test('providers do not share keys, nor failures', async () => {
  const [one, other] = [provider(), provider()];
  server.serve(one.path, keySet('a'));
  await fails(sets.getCurrent(other.source));
  assert.deepEqual(await kidsOf(one.source), ['a']);
  server.serve(other.path, keySet('b'));
  await fails(sets.getCurrent(other.source));
  assert.deepEqual(await kidsOf({ ...other.source, issuerUrl: `${server.origin}/another` }), ['b']);
});

for (const slash of ['', '/']) {
  test(`keys are discovered from an issuer ${slash === '' ? 'without' : 'with'} a trailing slash`, async () => {
    const base = `/tenant-${nextPath++}`;
    const issuerUrl = `${server.origin}${base}${slash}`;
    assert.equal(buildDiscoveryUrl(issuerUrl), `${server.origin}${base}/.well-known/openid-configuration`);
    server.serve(`${base}/.well-known/openid-configuration`, {
      issuer: issuerUrl,
      jwks_uri: `${server.origin}${base}/keys`,
    });
    server.serve(`${base}/keys`, keySet('a'));
    assert.deepEqual(await kidsOf({ issuerUrl, jwksUri: null }), ['a']);
  });
}

const documents: readonly (readonly [why: string, document: (issuer: string) => object, message: RegExp])[] = [
  [
    'of another issuer',
    () => ({ issuer: 'https://evil.example.com', jwks_uri: 'https://evil.example.com/jwks' }),
    /its issuer is "https:\/\/evil/,
  ],
  ['that differs by a slash', (issuer) => ({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }), /its issuer is/],
  ['that differs by case', (issuer) => ({ issuer: issuer.toUpperCase(), jwks_uri: `${issuer}/keys` }), /its issuer is/],
  ['without an issuer', (issuer) => ({ jwks_uri: `${issuer}/keys` }), /its issuer is missing/],
  ['without a key set', (issuer) => ({ issuer }), /it has no jwks_uri/],
  ['that is an array', () => [], /its issuer is missing/],
  [
    'whose key set is at a metadata service',
    (issuer) => ({ issuer, jwks_uri: 'http://169.254.169.254/keys' }),
    /link-local/,
  ],
  ['whose key set is no URL', (issuer) => ({ issuer, jwks_uri: '/keys' }), /must be an https or http URL/],
  ['whose key set is a file', (issuer) => ({ issuer, jwks_uri: 'file:///etc/passwd' }), /must be an https or http URL/],
];
for (const [why, document, message] of documents) {
  test(`a discovery document ${why} is a failure`, async () => {
    const base = `/tenant-${nextPath++}`;
    const issuerUrl = `${server.origin}${base}`;
    server.serve(`${base}/.well-known/openid-configuration`, document(issuerUrl));
    server.serve(`${base}/keys`, keySet('a'));
    assert.match((await fails(sets.getCurrent({ issuerUrl, jwksUri: null }))).message, message);
    assert.equal(server.count(`${base}/keys`), 0);
  });
}

for (const [why, document] of [
  ['an array', []],
  ['keys that are no list', { keys: {} }],
  ['no keys', {}],
] as const) {
  test(`a document with ${why} is no key set`, async () => {
    const { source, path } = provider();
    server.serve(path, document);
    assert.match((await fails(sets.getCurrent(source))).message, /no JWK Set/);
  });
}

test('of a key set only what may verify is taken', () => {
  const rsa = (modulusLength: number): object =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
  const ec = (namedCurve: string): object =>
    generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
  const strong = rsa(2048);
  const usable: readonly (readonly [kid: string, jwk: object])[] = [
    ['rsa', strong],
    ['rsa for one algorithm', { ...strong, alg: 'PS256' }],
    ['rsa to verify', { ...strong, use: 'sig', key_ops: ['verify'] }],
    ['rsa with its private part', { ...strong, d: 'AQAB' }],
    ['p-256', ec('P-256')],
    ['p-384', ec('P-384')],
    ['p-521', ec('P-521')],
  ];
  const useless: readonly (readonly [kid: unknown, jwk: object])[] = [
    ['short rsa', rsa(1024)],
    [
      'a short rsa with zeros in front',
      { kty: 'RSA', e: 'AQAB', n: Buffer.concat([Buffer.alloc(128), Buffer.alloc(128, 255)]).toString('base64url') },
    ],
    ['huge rsa', { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(2048, 255).toString('base64url') }],
    ['huge exponent', { ...strong, e: Buffer.alloc(64, 255).toString('base64url') }],
    ['to encrypt', { ...strong, use: 'enc' }],
    ['to sign only', { ...strong, key_ops: ['sign'] }],
    ['secp256k1', ec('secp256k1')],
    ['ed25519', generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })],
    ['symmetric', { kty: 'oct', k: 'c2VjcmV0' }],
    ['curve from the prototype', { ...ec('P-256'), crv: 'constructor' }],
    [7, strong],
  ];
  const entries = [...useless, ...usable].map(([kid, jwk]) => ({ ...jwk, kid }));
  const keys = parseKeySet({ keys: [null, 'x', {}, ...entries] }) ?? [];
  assert.deepEqual(
    keys.map(({ kid }) => kid),
    usable.map(([kid]) => kid),
  );
  const fits = (kid: string, algorithm: Parameters<(typeof keys)[number]['fits']>[0]): boolean | undefined =>
    keys.find((key) => key.kid === kid)?.fits(algorithm);
  assert.deepEqual([fits('rsa', 'RS512'), fits('rsa', 'PS384'), fits('rsa', 'ES256')], [true, true, false]);
  assert.deepEqual([fits('rsa for one algorithm', 'PS256'), fits('rsa for one algorithm', 'RS256')], [true, false]);
  assert.deepEqual(
    [fits('p-256', 'ES256'), fits('p-256', 'ES384'), fits('p-384', 'ES384'), fits('p-521', 'ES512')],
    [true, false, true, true],
  );
});
