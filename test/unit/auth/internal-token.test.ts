// Which texts pass as internal tokens: those that we have signed, for us, in time, for a client that is there.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { CompactSign, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import { makeInternalVerifier } from '../../../src/auth/internal-token.ts';
import { ApiError, serviceUnavailable } from '../../../src/errors.ts';

const ISSUER = 'https://data.example.com';
const CLIENT = `wdac_${'a'.repeat(22)}`;
const NOW = Date.UTC(2026, 0, 1);
const SECONDS = NOW / 1000;

const ours = await generateKeyPair('ES256', { extractable: true });
const others = await generateKeyPair('ES256', { extractable: true });
const CLAIMS = {
  iss: ISSUER,
  aud: ISSUER,
  sub: CLIENT,
  client_id: CLIENT,
  workspace_id: '7',
  jti: 'once',
  iat: SECONDS - 60,
  exp: SECONDS + 60,
};
const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'ours' };

const verify = makeInternalVerifier({
  issuer: ISSUER,
  verificationKey: async (kid) => (kid === 'ours' ? ours.publicKey : undefined),
  findClient: async (clientId, kid) =>
    clientId === CLIENT && kid === 'ours'
      ? { workspaceId: '7', workspaceVersion: 3, permissions: 'OWNER' as const, grants: null, scope: ['4', '9'] }
      : undefined,
  now: () => NOW,
});

type SigningKey = KeyObject | Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** Signs CLAIMS with changes; undefined takes a claim out. */
function sign(
  change: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
  key: SigningKey = ours.privateKey,
): Promise<string> {
  return new SignJWT({ ...CLAIMS, ...change })
    .setProtectedHeader({ ...HEADER, ...header } as JWTHeaderParameters)
    .sign(key);
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

async function refusal(token: string, verifier = verify): Promise<ApiError> {
  try {
    await verifier(token, undefined, undefined);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'the token was accepted' });
}

async function refused(token: string, message: string): Promise<void> {
  const error = await refusal(token);
  assert.deepEqual([error.status, error.code, error.message], [401, 'UNAUTHORIZED', message]);
}

const EXPIRED = 'Token has expired';
const SIGNATURE = 'Token signature is invalid';
const NO_JWT = 'Token is not a valid JWT';
const INVALID = 'The credential is not valid here';

test('a token of ours is the owner of its workspace until it expires', async () => {
  assert.deepEqual(await verify(await sign(), undefined, undefined), {
    principal: {
      kind: 'owner',
      permissions: 'OWNER',
      workspaceId: '7',
      scope: ['4', '9'],
      credentialId: `client:${CLIENT}`,
      expiresAt: NOW + 60_000,
    },
    workspaceVersion: 3,
    expiresAt: NOW + 60_000,
  });
});

test('an expired token is refused from its second on', async () => {
  await refused(await sign({ exp: SECONDS - 1 }), EXPIRED);
  await refused(await sign({ exp: SECONDS }), EXPIRED);
  await verify(await sign({ exp: SECONDS + 1 }), undefined, undefined);
});

test('a token that somebody else has signed is refused, whatever it names', async () => {
  const foreign = others.privateKey;
  await refused(await sign({}, {}, foreign), SIGNATURE);
  await refused(await sign({}, { kid: 'theirs' }, foreign), SIGNATURE);
  await refused(await sign({}, { kid: undefined }, foreign), SIGNATURE);
  await refused(await sign({}, { kid: '../ours' }, foreign), SIGNATURE);
  const jwk = await exportJWK(others.publicKey);
  await refused(await sign({}, { jwk }, foreign), SIGNATURE);
  await refused(await sign({}, { kid: 'theirs', jwk }, foreign), SIGNATURE);
  await refused(await sign({}, { jku: 'https://evil.example.com/jwks' }, foreign), SIGNATURE);
  // Expired as well: what is not signed by us tells nothing.
  await refused(await sign({ exp: SECONDS - 1 }, {}, foreign), SIGNATURE);
});

test('changed claims, a cut and an exchanged signature are refused', async () => {
  const [head, , signature] = (await sign()).split('.') as [string, string, string];
  await refused(`${head}.${part({ ...CLAIMS, workspace_id: '8' })}.${signature}`, SIGNATURE);
  await refused(`${head}.${part(CLAIMS)}.`, SIGNATURE);
  await refused(`${head}.${part(CLAIMS)}.${signature.slice(0, -8)}`, SIGNATURE);
  await refused(`${head}.${part(CLAIMS)}.${'A'.repeat(86)}`, SIGNATURE);
});

test('no other algorithm passes: none, HMAC with the public key, other curves, RSA', async () => {
  await refused(`${part({ ...HEADER, alg: 'none' })}.${part(CLAIMS)}.`, SIGNATURE);
  const publicText = JSON.stringify(await exportJWK(ours.publicKey));
  for (const secret of [publicText, 'ours']) {
    const input = `${part({ ...HEADER, alg: 'HS256' })}.${part(CLAIMS)}`;
    await refused(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`, SIGNATURE);
  }
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  await refused(await sign({}, { alg: 'ES384' }, p384), SIGNATURE);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  await refused(await sign({}, { alg: 'RS256' }, rsa), SIGNATURE);
});

test('a token of ours of another kind, for another API, or that lacks a claim is refused', async () => {
  for (const typ of ['JWT', 'logout+jwt', undefined]) await refused(await sign({}, { typ }), INVALID);
  await refused(await sign({ aud: 'https://elsewhere.example.com' }), INVALID);
  await refused(await sign({ aud: `${ISSUER}/` }), INVALID);
  await refused(await sign({ iss: `${ISSUER}/` }), INVALID);
  for (const claim of Object.keys(CLAIMS)) await refused(await sign({ [claim]: undefined }), INVALID);
  for (const workspace_id of [7, null, ['7'], '8']) await refused(await sign({ workspace_id }), INVALID);
  await refused(await sign({ sub: `wdac_${'b'.repeat(22)}` }), INVALID);
  await refused(
    await sign({ client_id: "x'; drop table wda.oauth_client", sub: "x'; drop table wda.oauth_client" }),
    INVALID,
  );
});

test('the token of a client that is gone is refused', async () => {
  const other = `wdac_${'b'.repeat(22)}`;
  await refused(await sign({ sub: other, client_id: other }), INVALID);
});

test('what is no JWT is refused as such', async () => {
  for (const text of ['x', 'a.b.c', '..', `${part(HEADER)}.x.`, `${part([])}.${part(CLAIMS)}.x`]) {
    const { status, message } = await refusal(text);
    assert.equal(status, 401, text);
    assert.ok([NO_JWT, SIGNATURE].includes(message), `${text}: ${message}`);
  }
  // Extensions that must be understood are not.
  const critical = await new CompactSign(Buffer.from(JSON.stringify(CLAIMS)))
    .setProtectedHeader({ ...HEADER, b64: true, crit: ['b64'] })
    .sign(ours.privateKey);
  assert.equal((await refusal(critical.replace(/^[^.]+/, part({ ...HEADER, crit: ['x'], x: 1 })))).status, 401);
});

test('a database that is away is no verdict', async () => {
  const away = makeInternalVerifier({
    issuer: ISSUER,
    verificationKey: () => Promise.reject(serviceUnavailable('DATABASE_UNAVAILABLE', 'away')),
    findClient: () => Promise.reject(serviceUnavailable('DATABASE_UNAVAILABLE', 'away')),
    now: () => NOW,
  });
  assert.equal((await refusal(await sign(), away)).status, 503);
});
