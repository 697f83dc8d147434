// Tokens that nobody should accept, each made from what an attacker can know or from a mistake of a provider: what is
// refused, in which words, and which refusal comes first when several are due.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { forge, signature } from '../../support/issuer.ts';
import { startKeyServer } from '../../support/key-server.ts';
import { configure, isAccepted, isRefused, makeNotes } from '../../support/notes-fixture.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { startTestServer } from '../../support/server.ts';

const API = 'urn:example:api';
const SIGNATURE = 'Token signature is invalid';
const NO_JWT = 'Token is not a valid JWT';
const ISSUER = 'Token issuer does not match configured identity provider';
const AUDIENCE = 'Token audience does not match configured audience';
const EXPIRED = 'Token has expired';
const NO_SUB = 'Token is missing the sub claim';
const NO_EXP = 'Token is missing the exp claim';

const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const issuer = useIssuer();
const keys = use(startKeyServer, (server) => server.stop());
const notes = use(() => makeNotes(server, 'acme/notes'));
const odd = use(() => makeNotes(server, 'acme/odd'));
prepare(async () => {
  await configure(notes, { issuerUrl: issuer.url, audience: API });
  const jwk = (key: KeyObject, more: object): object => ({ ...key.export({ format: 'jwk' }), ...more });
  keys.serve('/jwks', {
    keys: [
      jwk(weak.publicKey, { kid: 'weak' }),
      jwk(strong.publicKey, { kid: 'twice' }),
      jwk(second.publicKey, { kid: 'twice' }),
      jwk(strong.publicKey, { kid: 'ps-only', alg: 'PS256' }),
      jwk(strong.publicKey, { kid: 'enc', use: 'enc' }),
      jwk(p256.publicKey, { kid: 'p256' }),
      jwk(p384.publicKey, { kid: 'p384' }),
      jwk(p521.publicKey, { kid: 'p521' }),
      jwk(edwards.publicKey, { kid: 'ed' }),
      { kty: 'oct', k: shared, kid: 'oct' },
      { kty: 'oct', k: shared, kid: 'oct', alg: 'HS256' },
      { kty: 'RSA', n: 'AQAB', e: '', kid: 'broken' },
      { ...p256.publicKey.export({ format: 'jwk' }), x: 'AAAA', kid: 'off-curve' },
    ],
  });
  await configure(odd, { issuerUrl: ODD, jwksUri: `${keys.origin}/jwks` });
});

type Claims = Readonly<Record<string, unknown>>;
const seconds = (): number => Math.floor(Date.now() / 1000);
const claims = (change: Claims = {}): Claims => ({
  iss: issuer.url,
  sub: 'app',
  aud: API,
  exp: seconds() + 600,
  iat: seconds(),
  ...change,
});

/** The claims without one of them. */
const without = (name: string): Claims => {
  const { [name]: _, ...rest } = claims();
  return rest;
};
/** A token that only the provider itself could have signed. */
const signed = (payload: object | string, header: object = {}): string => {
  const { kid, privateKey } = issuer.key('RS256');
  return forge({ alg: 'RS256', kid, ...header }, payload, signature('RS256', privateKey));
};
const header = (change: object = {}): object => ({ alg: 'RS256', kid: issuer.key('RS256').kid, ...change });

const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
const attackerEc = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicOf = (key: KeyObject): KeyObject => createPublicKey(key);
const hmac =
  (secret: string | Buffer, digest = 'sha256') =>
  (input: Buffer): Buffer =>
    createHmac(digest, secret).update(input).digest();

// Keys of a provider that is odd: published at a server of the test.
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const strong = generateKeyPairSync('rsa', { modulusLength: 2048 });
const second = generateKeyPairSync('rsa', { modulusLength: 2048 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const edwards = generateKeyPairSync('ed25519');
const shared = 'c2hhcmVkLXNlY3JldC1vZi10aGUtcHJvdmlkZXI';
const ODD = 'https://odd.example.com/';

test('the form that all of these are made from is accepted', async () => {
  await isAccepted(notes, signed(claims()));
});

const forged: readonly (readonly [name: string, token: () => string, message: string])[] = [
  ['no algorithm', () => forge({ alg: 'none' }, claims()), SIGNATURE],
  ['no algorithm, in other letters', () => forge({ alg: 'nOnE', kid: issuer.key('RS256').kid }, claims()), SIGNATURE],
  ['no algorithm and a signature', () => forge({ alg: 'none' }, claims(), () => Buffer.from('x')), SIGNATURE],
  ['an empty algorithm', () => forge(header({ alg: '' }), claims()), SIGNATURE],
  ['a removed signature', () => signed(claims()).replace(/[^.]*$/, ''), SIGNATURE],
  [
    'HMAC with the public key as PEM',
    () =>
      forge(
        header({ alg: 'HS256' }),
        claims(),
        hmac(publicOf(issuer.key('RS256').privateKey).export({ type: 'spki', format: 'pem' })),
      ),
    SIGNATURE,
  ],
  [
    'HMAC with the public key as JWK',
    () =>
      forge(
        header({ alg: 'HS512' }),
        claims(),
        hmac(JSON.stringify(publicOf(issuer.key('RS256').privateKey).export({ format: 'jwk' })), 'sha512'),
      ),
    SIGNATURE,
  ],
  [
    'a key of the attacker under a known kid',
    () => forge(header(), claims(), signature('RS256', attacker.privateKey)),
    SIGNATURE,
  ],
  [
    'a key of the attacker in the header',
    () =>
      forge(
        header({ jwk: attacker.publicKey.export({ format: 'jwk' }) }),
        claims(),
        signature('RS256', attacker.privateKey),
      ),
    SIGNATURE,
  ],
  [
    'a key set of the attacker in the header',
    () => {
      keys.serve('/evil', { keys: [{ ...attacker.publicKey.export({ format: 'jwk' }), kid: 'evil' }] });
      const url = `${keys.origin}/evil`;
      return forge(header({ kid: 'evil', jku: url, x5u: url }), claims(), signature('RS256', attacker.privateKey));
    },
    SIGNATURE,
  ],
  [
    'another algorithm than the key is for',
    () => forge(header({ alg: 'PS256' }), claims(), signature('PS256', issuer.key('RS256').privateKey)),
    SIGNATURE,
  ],
  [
    'an algorithm of another key',
    () => forge({ alg: 'ES256', kid: issuer.key('RS256').kid }, claims(), signature('ES256', attackerEc.privateKey)),
    SIGNATURE,
  ],
  ['EdDSA', () => forge(header({ alg: 'EdDSA' }), claims(), () => Buffer.alloc(64)), SIGNATURE],
  ['ES256K', () => forge(header({ alg: 'ES256K' }), claims(), () => Buffer.alloc(64)), SIGNATURE],
  [
    'a signature of zeros',
    () => forge({ alg: 'ES256', kid: issuer.key('ES256').kid }, claims(), () => Buffer.alloc(64)),
    SIGNATURE,
  ],
  [
    'an ES256 signature in DER',
    () => {
      const der = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return forge({ alg: 'ES256', kid: issuer.key('ES256').kid }, claims(), () =>
        Buffer.from(der.publicKey.export({ type: 'spki', format: 'der' })),
      );
    },
    SIGNATURE,
  ],
  [
    'another payload under a true signature',
    () =>
      signed(claims()).replace(
        /\.[^.]*\./,
        `.${Buffer.from(JSON.stringify(claims({ sub: 'else' }))).toString('base64url')}.`,
      ),
    SIGNATURE,
  ],
  ['a path as kid', () => forge(header({ kid: '../../../../dev/null' }), claims(), hmac('')), SIGNATURE],
  [
    'SQL as kid',
    () => forge(header({ kid: "x' union select 'secret' --" }), claims(), signature('RS256', attacker.privateKey)),
    SIGNATURE,
  ],
  [
    'a member of Object.prototype as kid',
    () => forge(header({ kid: '__proto__' }), claims(), signature('RS256', attacker.privateKey)),
    SIGNATURE,
  ],
  [
    'a huge kid',
    () => forge(header({ kid: 'k'.repeat(4000) }), claims(), signature('RS256', attacker.privateKey)),
    SIGNATURE,
  ],
  [
    'a kid that is a number',
    () => forge(header({ kid: 7 }), claims(), signature('RS256', attacker.privateKey)),
    NO_JWT,
  ],
  [
    'no kid, by the attacker',
    () => forge({ alg: 'RS256' }, claims(), signature('RS256', attacker.privateKey)),
    SIGNATURE,
  ],
  ['an extension that must be understood', () => signed(claims(), { crit: ['exp'], exp: seconds() + 600 }), SIGNATURE],
  ['an unencoded payload (RFC 7797)', () => signed(claims(), { crit: ['b64'], b64: false }), SIGNATURE],
  ['an empty crit', () => signed(claims(), { crit: [] }), SIGNATURE],
  ['a claim twice', () => signed(JSON.stringify(claims()).replace('{', '{"sub":"else",')), NO_JWT],
  ['a claim twice, in escapes', () => signed(JSON.stringify(claims()).replace('{', '{"\\u0073ub":"else",')), NO_JWT],
  ['claims that are no object', () => signed('"claims"'), NO_JWT],
  ['claims that are no JSON', () => signed('claims'), NO_JWT],
  ['text that is no token', () => 'hello', NO_JWT],
  ['an encrypted token', () => `${signed(claims())}.e30.e30`, NO_JWT],
  ['no issuer', () => signed(without('iss')), ISSUER],
  ['an issuer that is a list', () => signed(claims({ iss: [issuer.url] })), ISSUER],
  ['an issuer with a slash too many', () => signed(claims({ iss: `${issuer.url}/` })), ISSUER],
  ['an issuer in other letters', () => signed(claims({ iss: issuer.url.replace('http', 'HTTP') })), ISSUER],
  ['an issuer with a space', () => signed(claims({ iss: `${issuer.url} ` })), ISSUER],
  ['expired', () => signed(claims({ exp: seconds() - 1 })), EXPIRED],
  ['expired long ago', () => signed(claims({ exp: 0 })), EXPIRED],
  ['expired before 1970', () => signed(claims({ exp: -1e9 })), EXPIRED],
  ['no exp', () => signed(without('exp')), NO_EXP],
  ['exp as text', () => signed(claims({ exp: String(seconds() + 600) })), NO_EXP],
  ['exp null', () => signed(claims({ exp: null })), NO_EXP],
  ['exp as a list', () => signed(claims({ exp: [seconds() + 600] })), NO_EXP],
  ['exp without end', () => signed(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e999')), NO_EXP],
  ['no sub', () => signed(without('sub')), NO_SUB],
  ['an empty sub', () => signed(claims({ sub: '' })), NO_SUB],
  ['a sub that is a number', () => signed(claims({ sub: 7 })), NO_SUB],
  ['a sub that is null', () => signed(claims({ sub: null })), NO_SUB],
  ['no aud', () => signed(without('aud')), AUDIENCE],
  ['another aud', () => signed(claims({ aud: 'urn:example:other' })), AUDIENCE],
  ['an aud in other letters', () => signed(claims({ aud: API.toUpperCase() })), AUDIENCE],
  ['an aud that contains it as a part', () => signed(claims({ aud: `${API} urn:other` })), AUDIENCE],
  ['an empty list of aud', () => signed(claims({ aud: [] })), AUDIENCE],
  ['an aud that is an object', () => signed(claims({ aud: { [API]: true } })), AUDIENCE],
  ['a list in a list of aud', () => signed(claims({ aud: [[API]] })), AUDIENCE],
  ['not before tomorrow', () => signed(claims({ nbf: seconds() + 86_400 })), 'Token is not valid yet'],
  ['nbf as text', () => signed(claims({ nbf: 'tomorrow' })), NO_JWT],
  // Several reasons: the signature comes before anything that the token says of itself, but its issuer.
  ['expired and forged', () => forge(header(), claims({ exp: 1 }), signature('RS256', attacker.privateKey)), SIGNATURE],
  [
    'of another issuer and forged',
    () => forge(header(), claims({ iss: 'https://else.example.com' }), signature('RS256', attacker.privateKey)),
    ISSUER,
  ],
  ['without algorithm, of another issuer', () => forge({ alg: 'none' }, claims({ iss: 'x' })), ISSUER],
  ['expired, for somebody else, of nobody', () => signed({ iss: issuer.url, exp: 1, aud: 'x' }), EXPIRED],
  ['for somebody else, of nobody', () => signed({ iss: issuer.url, exp: seconds() + 60, aud: 'x' }), AUDIENCE],
  ['of nobody, without end', () => signed({ iss: issuer.url, aud: API }), NO_SUB],
];
for (const [name, token, message] of forged) {
  test(`refused: ${name}`, async () => {
    await isRefused(notes, token(), message);
    // A refusal is never taken for anything else the second time.
    await isRefused(notes, token(), message);
  });
}

const accepted: readonly (readonly [name: string, token: () => string])[] = [
  ['a list of audiences with the right one', () => signed(claims({ aud: ['urn:other', API] }))],
  ['a fraction of a second in exp', () => signed(claims({ exp: seconds() + 600.5 }))],
  ['an exponent in exp', () => signed(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":4e9'))],
  ['nbf in the past', () => signed(claims({ nbf: seconds() - 1 }))],
  [
    'no kid, by the provider',
    () => forge({ alg: 'RS256' }, claims(), signature('RS256', issuer.key('RS256').privateKey)),
  ],
  ['any typ', () => signed(claims(), { typ: 'at+jwt' })],
  [
    'header members that mean nothing here',
    () => signed(claims(), { jku: 'https://evil.example.com/', x5c: ['x'], x5t: 'y' }),
  ],
];
for (const [name, token] of accepted) {
  test(`accepted: ${name}`, async () => isAccepted(notes, token()));
}

test('nobody asked the key set of the attacker', () => assert.equal(keys.count('/evil'), 0));

/** A token of the odd provider. */
const oddToken = (alg: string, kid: string | undefined, sign: (input: Buffer) => Buffer): string =>
  forge({ alg, ...(kid === undefined ? {} : { kid }) }, { iss: ODD, sub: 'app', exp: seconds() + 600 }, sign);

const oddities: readonly (readonly [name: string, token: () => string, accepted: boolean])[] = [
  ['an RSA key of 1024 bits is too weak', () => oddToken('RS256', 'weak', signature('RS256', weak.privateKey)), false],
  [
    'of two keys under one kid the first verifies',
    () => oddToken('RS256', 'twice', signature('RS256', strong.privateKey)),
    true,
  ],
  [
    'of two keys under one kid the second verifies',
    () => oddToken('RS512', 'twice', signature('RS512', second.privateKey)),
    true,
  ],
  ['a key for PS256 verifies that', () => oddToken('PS256', 'ps-only', signature('PS256', strong.privateKey)), true],
  [
    'a key for PS256 verifies no RS256',
    () => oddToken('RS256', 'ps-only', signature('RS256', strong.privateKey)),
    false,
  ],
  [
    'a key to encrypt with verifies nothing',
    () => oddToken('RS256', 'enc', signature('RS256', strong.privateKey)),
    false,
  ],
  ['P-384 verifies ES384', () => oddToken('ES384', 'p384', signature('ES384', p384.privateKey)), true],
  ['P-521 verifies ES512', () => oddToken('ES512', 'p521', signature('ES512', p521.privateKey)), true],
  ['P-384 verifies no ES256', () => oddToken('ES256', 'p384', signature('ES256', p384.privateKey)), false],
  ['P-256 verifies no ES512', () => oddToken('ES512', 'p256', signature('ES512', p256.privateKey)), false],
  ['EdDSA is no algorithm here', () => oddToken('EdDSA', 'ed', () => Buffer.alloc(64)), false],
  [
    'a shared secret in the set verifies nothing',
    () => oddToken('HS256', 'oct', hmac(Buffer.from(shared, 'base64url'))),
    false,
  ],
  ['a key that is none harms nobody', () => oddToken('RS256', 'broken', signature('RS256', strong.privateKey)), false],
  [
    'a point that is not on its curve verifies nothing',
    () => oddToken('ES256', 'off-curve', signature('ES256', p256.privateKey)),
    false,
  ],
  [
    'without a kid every fitting key is tried',
    () => oddToken('RS256', undefined, signature('RS256', second.privateKey)),
    true,
  ],
  [
    'without a kid a key that is not in the set is not found',
    () => oddToken('ES256', undefined, signature('ES256', attackerEc.privateKey)),
    false,
  ],
];
for (const [name, token, good] of oddities) {
  test(name, () => (good ? isAccepted(odd, token()) : isRefused(odd, token(), SIGNATURE)));
}

test("a token of one workspace's provider is nothing in another workspace", async () => {
  await isRefused(odd, signed(claims()), ISSUER);
  await isRefused(notes, oddToken('RS256', 'twice', signature('RS256', strong.privateKey)), ISSUER);
});

test('a token that calls itself ours is judged by our own keys only', async () => {
  const { url } = server;
  for (const iss of [url, 'http://localhost:0']) {
    const answer = await notes.call('notes', { credential: signed(claims({ iss })) });
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.json.error.code, 'UNAUTHORIZED');
  }
});

test('a token of more than 8 KiB is refused unread', async () => {
  const answer = await notes.call('notes', { credential: signed(claims({ padding: 'x'.repeat(7000) })) });
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.json.error.code, 'UNAUTHORIZED');
  await isAccepted(notes, signed(claims({ padding: 'x'.repeat(5000) })));
});

test('a clock skew that is allowed is allowed to both ends', async () => {
  const lenient = await startTestServer({ WDA_IDP_PRIVATE_NETWORK: 'allow', WDA_CLOCK_SKEW_SECONDS: '60' });
  try {
    const workspace = await makeNotes(lenient, 'acme/notes');
    await configure(workspace, { issuerUrl: issuer.url, audience: API });
    await isAccepted(workspace, signed(claims({ exp: seconds() - 20, nbf: seconds() + 20 })));
    await isRefused(workspace, signed(claims({ exp: seconds() - 90 })), EXPIRED);
    await isRefused(workspace, signed(claims({ nbf: seconds() + 90 })), 'Token is not valid yet');
  } finally {
    await lenient.stop();
  }
});
