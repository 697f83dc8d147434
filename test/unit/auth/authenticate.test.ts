// Authorization headers become principals; what was found out is remembered as long as it holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashCredential, makeKey } from '../../../src/auth/api-key.ts';
import { makeAuthenticator, type Verified } from '../../../src/auth/authenticate.ts';
import { ApiError, invalidCredential } from '../../../src/errors.ts';
import type { Workspace } from '../../../src/model/workspace.ts';
import type { StoredKey } from '../../../src/store/credentials.ts';
import { refusalOf } from '../../support/error-response.ts';
import { external, makeShop } from '../../support/field-types-fixture.ts';

const ISSUER = 'https://data.example.com';
const USER = external({ sub: 'ann' });
const OPERATOR_KEY = 'operator-key-of-the-tests-0123456789';
const SHOP = makeShop();
/** A token that names its issuer; nobody here looks at the signature. */
const tokenOf = (iss: unknown): string => `${encoded({ alg: 'ES256' })}.${encoded({ iss, sub: 'ann' })}.c2ln`;
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const atVersion = (version: string): Workspace => ({ ...SHOP, version });

/** A store with one key of the workspace, and an authenticator over it on a clock that the test sets. */
function makeScene(expiresAt: number | null = null) {
  const { key, hash } = makeKey();
  const stored: StoredKey = {
    id: '12',
    workspaceId: '7',
    workspaceVersion: 1,
    permissions: 'OWNER',
    grants: null,
    scope: null,
    expiresAt,
  };
  const store = new Map<string, StoredKey>([[hash.toString('hex'), stored]]);
  const scene = {
    header: `Bearer ${key}`,
    key,
    time: 1_000_000,
    lookups: 0,
    touched: [] as (readonly string[])[],
    operatorHash: hashCredential(OPERATOR_KEY).toString('hex') as string | undefined,
    change: (change: Partial<StoredKey>) => void store.set(hash.toString('hex'), { ...stored, ...change }),
    revoke: () => store.clear(),
    /** Who was asked to judge a token, for which workspace. */
    judged: [] as string[],
    judge(who: string, _token: string, workspace: Workspace | undefined): Verified {
      scene.judged.push(`${who} ${workspace?.slug}`);
      return { principal: USER, workspaceVersion: 1, expiresAt: 2_000_000 };
    },
    authenticator: undefined as unknown as ReturnType<typeof makeAuthenticator>,
  };
  scene.authenticator = makeAuthenticator({
    async findApiKey(wanted) {
      scene.lookups++;
      return store.get(wanted.toString('hex'));
    },
    async touchApiKeys(ids) {
      scene.touched.push(ids);
    },
    operatorHash: () => scene.operatorHash,
    verifySession: () => Promise.reject(new Error('no session is asked for')),
    verifyInternal: async (token, workspace) => scene.judge('internal', token, workspace),
    verifyExternal: async (token, workspace) => scene.judge('external', token, workspace),
    identifyExternal: async (token) => scene.judge('some provider', token, undefined),
    issuer: ISSUER,
    now: () => scene.time,
  });
  return scene;
}

async function refusal(run: () => Promise<unknown>): Promise<ApiError> {
  const error = await run().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, `nothing was refused, or not by us: ${String(error)}`);
  return error;
}

test('a key is the owner that it was made for', async () => {
  const { authenticator, header } = makeScene();
  assert.deepEqual(await authenticator.authenticate(header), {
    kind: 'owner',
    permissions: 'OWNER',
    scope: null,
    workspaceId: '7',
    credentialId: 'key:12',
  });
});

test('the operator’s key is the operator, without a look into the database', async () => {
  const scene = makeScene();
  const principal = await scene.authenticator.authenticate(`Bearer ${OPERATOR_KEY}`);
  assert.deepEqual(principal, { kind: 'operator', scope: null, credentialId: 'operator' });
  assert.equal(scene.lookups, 0);
});

test('while the operator’s key is not known, nobody is the operator', async () => {
  const scene = makeScene();
  scene.operatorHash = undefined;
  assert.equal((await refusal(() => scene.authenticator.authenticate(`Bearer ${OPERATOR_KEY}`))).code, 'UNAUTHORIZED');
});

test('the scheme is case-insensitive and may be followed by several spaces', async () => {
  const { authenticator, key } = makeScene();
  for (const header of [`bearer ${key}`, `BEARER ${key}`, `Bearer   ${key}`, `Bearer ${key} `]) {
    assert.equal((await authenticator.authenticate(header)).kind, 'owner', header);
  }
});

for (const header of [undefined, '', '   ']) {
  test(`without a credential (${JSON.stringify(header)}) the challenge names no error`, async () => {
    const { authenticator } = makeScene();
    for (const { status, code, message, headers } of [
      await refusal(() => authenticator.authenticate(header)),
      refusalOf(() => authenticator.recall(header, SHOP)),
    ]) {
      assert.equal(status, 401);
      assert.equal(code, 'UNAUTHORIZED');
      assert.equal(message, 'A credential is needed: send Authorization: Bearer <credential>');
      assert.deepEqual(headers, { 'WWW-Authenticate': 'Bearer realm="workspace-data-api"' });
    }
  });
}

for (const header of [
  'Bearer',
  'Bearer ',
  'Basic dXNlcjpwYXNz',
  'wda_x',
  'Bearer a b',
  'Bearer wda_ä',
  'Bearer,wda_x',
  `Bearer ${'x'.repeat(10_000)}`,
  'Bearer wda_unknown',
  `Bearer ${makeKey().key}`,
]) {
  test(`a malformed or unknown credential (${header.slice(0, 30)}) is one and the same 401`, async () => {
    const { authenticator } = makeScene();
    for (const run of [authenticator.authenticate, authenticator.identify]) {
      const { status, message, headers } = await refusal(() => run(header));
      assert.equal(status, 401);
      assert.equal(message, 'The credential is not valid here');
      assert.deepEqual(headers, { 'WWW-Authenticate': 'Bearer realm="workspace-data-api", error="invalid_token"' });
    }
  });
}

test('an opaque token is told that it is no JWT', async () => {
  const scene = makeScene();
  for (const token of ['opaque', 'a.b', 'a.b.c', `${tokenOf(ISSUER)}.x`]) {
    assert.equal(
      (await refusal(() => scene.authenticator.authenticate(`Bearer ${token}`))).message,
      'Token is not a valid JWT',
    );
  }
  assert.deepEqual(scene.judged, []);
});

for (const [name, iss, judges] of [
  ['our own issuer is judged by us', ISSUER, ['internal undefined', 'internal undefined']],
  [
    'another issuer by the provider of the workspace, or by whichever there is',
    'https://idp.example.com',
    ['external shop', 'some provider undefined'],
  ],
  ['our issuer with a slash behind it by the provider', `${ISSUER}/`, ['external shop', 'some provider undefined']],
  ['no issuer by the provider, who refuses it', undefined, ['external shop', 'some provider undefined']],
  ['an issuer that is no text by the provider', [ISSUER], ['external shop', 'some provider undefined']],
] as const) {
  test(`a token of ${name}`, async () => {
    const scene = makeScene();
    const header = `Bearer ${tokenOf(iss)}`;
    assert.equal(await scene.authenticator.authenticate(header, async () => SHOP), USER);
    assert.equal(await scene.authenticator.identify(header), USER);
    assert.deepEqual(scene.judged, judges);
    assert.equal(scene.lookups, 0);
  });
}

test('the workspace is asked for only to judge a token of its provider', async () => {
  const scene = makeScene();
  const asked: string[] = [];
  const ask = (header: string) =>
    scene.authenticator
      .authenticate(header, async () => {
        asked.push(header);
        return SHOP;
      })
      .catch(() => undefined);
  const external = `Bearer ${tokenOf('https://idp.example.com')}`;
  for (const header of [
    '',
    'Bearer',
    'Bearer opaque',
    scene.header,
    `Bearer ${makeKey().key}`,
    `Bearer ${tokenOf(ISSUER)}`,
  ]) {
    await ask(header);
  }
  assert.deepEqual(asked, []);
  await ask(external);
  assert.deepEqual(asked, [external]);
});

test('a credential has one verdict, however its header is written', async () => {
  const { authenticator, key } = makeScene();
  for (const header of [`Bearer ${key}`, `bearer ${key}`, `Bearer  ${key}`, `BEARER ${key}  `]) {
    const principal = await authenticator.authenticate(header);
    assert.equal(authenticator.recall(header, SHOP), principal, header);
    assert.equal(authenticator.size(), 1);
  }
  assert.notEqual(authenticator.recall(`bEARER   ${key}`, SHOP), undefined);
});

test('a token is recalled until it expires, and leaves no use of a key behind', async () => {
  const scene = makeScene();
  const header = `Bearer ${tokenOf('https://idp.example.com')}`;
  await scene.authenticator.authenticate(header, async () => SHOP);
  assert.equal(scene.authenticator.recall(header, SHOP), USER);
  assert.equal(scene.authenticator.recall(header, atVersion('2')), undefined);
  scene.time = 2_000_000;
  assert.equal(scene.authenticator.recall(header, SHOP), undefined);
  await scene.authenticator.flush();
  assert.deepEqual(scene.touched, []);
});

test('a token that is refused is not recalled any more', async () => {
  const scene = makeScene();
  const header = `Bearer ${tokenOf('https://idp.example.com')}`;
  await scene.authenticator.authenticate(header, async () => SHOP);
  scene.judge = () => {
    throw invalidCredential();
  };
  await refusal(() => scene.authenticator.authenticate(header, async () => SHOP));
  assert.equal(scene.authenticator.recall(header, SHOP), undefined);
});

test('junk with the looks of a key is refused without a look into the database', async () => {
  const scene = makeScene();
  const last = scene.key.endsWith('0') ? '1' : '0';
  await refusal(() => scene.authenticator.authenticate(`Bearer ${scene.key.slice(0, -1)}${last}`));
  assert.equal(scene.lookups, 0);
});

test('a key is recalled for its workspace, and only after it was looked up', async () => {
  const scene = makeScene();
  assert.equal(scene.authenticator.recall(scene.header, SHOP), undefined);
  const principal = await scene.authenticator.authenticate(scene.header);
  assert.equal(scene.authenticator.recall(scene.header, SHOP), principal);
  assert.equal(scene.authenticator.recall(scene.header, { ...SHOP, id: '8' }), undefined);
  assert.equal(scene.authenticator.size(), 1);
  assert.equal(scene.lookups, 1);
});

test('a change of the workspace makes it look the key up again', async () => {
  const scene = makeScene();
  await scene.authenticator.authenticate(scene.header);
  assert.equal(scene.authenticator.recall(scene.header, atVersion('2')), undefined);
  scene.change({ workspaceVersion: 2, permissions: 'READ_ONLY' });
  await scene.authenticator.authenticate(scene.header);
  const recalled = scene.authenticator.recall(scene.header, atVersion('2'));
  assert.equal(recalled?.kind === 'owner' && recalled.permissions, 'READ_ONLY');
});

test('a snapshot older than the look-up does not matter for a second, and versions are compared as numbers', async () => {
  const scene = makeScene();
  scene.change({ workspaceVersion: 10 });
  await scene.authenticator.authenticate(scene.header);
  assert.notEqual(scene.authenticator.recall(scene.header, atVersion('9')), undefined);
  scene.time += 999;
  assert.notEqual(scene.authenticator.recall(scene.header, atVersion('9')), undefined);
  assert.notEqual(scene.authenticator.recall(scene.header, atVersion('10')), undefined);
  assert.equal(scene.authenticator.recall(scene.header, atVersion('11')), undefined);
});

test('what was looked up in a time that the database has lost does not last', async () => {
  const scene = makeScene();
  scene.change({ workspaceVersion: 10 });
  await scene.authenticator.authenticate(scene.header);
  scene.time += 1000;
  assert.equal(scene.authenticator.recall(scene.header, atVersion('9')), undefined);
  assert.notEqual(scene.authenticator.recall(scene.header, atVersion('10')), undefined);
  // A clock that is put back makes nothing last longer.
  scene.time -= 5000;
  assert.equal(scene.authenticator.recall(scene.header, atVersion('9')), undefined);
});

test('a revoked key is forgotten when it is looked up', async () => {
  const scene = makeScene();
  await scene.authenticator.authenticate(scene.header);
  scene.revoke();
  await refusal(() => scene.authenticator.authenticate(scene.header));
  assert.equal(scene.authenticator.recall(scene.header, SHOP), undefined);
  assert.equal(scene.authenticator.size(), 0);
});

test('a key expires at its time, recalled or not', async () => {
  const scene = makeScene(2_000_000);
  scene.time = 1_999_999;
  await scene.authenticator.authenticate(scene.header);
  assert.notEqual(scene.authenticator.recall(scene.header, SHOP), undefined);
  scene.time = 2_000_000;
  assert.equal(scene.authenticator.recall(scene.header, SHOP), undefined);
  assert.equal(
    (await refusal(() => scene.authenticator.authenticate(scene.header))).message,
    'The credential is not valid here',
  );
});

test('the last use of a key is noted once a minute', async () => {
  const scene = makeScene();
  const use = () => scene.authenticator.recall(scene.header, SHOP);
  await scene.authenticator.flush();
  assert.deepEqual(scene.touched, []);
  await scene.authenticator.authenticate(scene.header);
  use();
  await scene.authenticator.flush();
  assert.deepEqual(scene.touched, [['12']]);
  scene.time += 59_999;
  use();
  await scene.authenticator.flush();
  assert.equal(scene.touched.length, 1);
  scene.time += 1;
  use();
  use();
  await scene.authenticator.flush();
  await scene.authenticator.flush();
  assert.deepEqual(scene.touched, [['12'], ['12']]);
});

test('however many resources a credential is used at, it takes two places in memory at most', async () => {
  const scene = makeScene();
  const token = `Bearer ${tokenOf(ISSUER)}`;
  const resourceOf = (at: number) => `https://data.example.com/api/v1/acme/nowhere-${at}/_mcp`;
  for (const header of [scene.header, token]) {
    for (let at = 0; at < 20; at++) await scene.authenticator.authenticate(header, async () => SHOP, resourceOf(at));
    await scene.authenticator.authenticate(header, async () => SHOP);
  }
  assert.equal(scene.authenticator.size(), 3);
  const recall = (at: number) => scene.authenticator.recall(token, atVersion('1'), resourceOf(at));
  assert.deepEqual([recall(19) === USER, recall(18)], [true, undefined]);
});
