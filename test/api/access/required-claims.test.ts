// One provider, many workspaces: claims that a token must carry to be for a workspace, and the warning without them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aboutProvider, isAccepted, isRefused, makeNotes } from '../../support/notes-fixture.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const server = useServer(LOCAL_PROVIDER);
const other = useServer(LOCAL_PROVIDER, server);
const issuer = useIssuer();
const notes = use(() => makeNotes(server, 'acme/notes'));
const twin = use(() => makeNotes(server, 'acme/twin'));
const tokens = use(async () => ({ make: await makeUsers(notes, issuer) }));
const tokenOf: TokenOf = (claims) => tokens.make(claims);

const PATH = 'identity-provider';
const MESSAGE = 'Token is not for this workspace';
const TWIN = 'The same issuer and audience as';

const put = (body: unknown, workspace = notes) => workspace.admin(PATH, { method: 'PUT', body });

test('a token needs the claim from the next request on, also one that was accepted before, in every process', async () => {
  const [mine, listed, foreign] = [{ org_id: 'acme' }, { org_id: ['x', 'acme'] }, { org_id: 'x' }].map(tokenOf);
  const elsewhere = (credential = '') => other.call('/api/v1/acme/notes/notes', { credential });
  await isAccepted(notes, foreign as string);
  assert.equal((await elsewhere(foreign)).status, 200);
  const answer = await put({ requiredClaims: { org_id: 'acme' } });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.data.requiredClaims, { org_id: 'acme' });
  await isRefused(notes, foreign as string, MESSAGE);
  assert.equal((await elsewhere(foreign)).status, 401);
  await isAccepted(notes, mine as string);
  await isAccepted(notes, listed as string);
  await put({ requiredClaims: {} });
  await isAccepted(notes, foreign as string);
  assert.equal((await notes.admin(PATH)).json.data.requiredClaims, undefined);
});

test('required claims keep all digits, and a change of others keeps them', async () => {
  const body = '{"requiredClaims":{"tenant":9007199254740993,"__proto__":{"a":1.50}}}';
  const headers = { 'content-type': 'application/json' };
  const answer = await notes.admin(PATH, { method: 'PUT', body, headers });
  assert.equal(answer.status, 200, answer.text);
  await put({ roleClaim: null });
  assert.match(
    (await notes.admin(PATH)).text,
    /"requiredClaims":\{"tenant":9007199254740993,"__proto__":\{"a":1\.50\}\}/,
  );
  await isAccepted(notes, tokenOf('{"tenant":9007199254740993,"__proto__":{"a":1.5}}'));
  await isRefused(notes, tokenOf('{"tenant":9007199254740992,"__proto__":{"a":1.5}}'), MESSAGE);
  await isRefused(notes, tokenOf('{"tenant":"9007199254740993","__proto__":{"a":1.5}}'), MESSAGE);
});

test('a test of a token says which claims it lacks', async () => {
  await put({ requiredClaims: { org_id: 'acme', plan: 2 } });
  const answer = await notes.admin(`${PATH}/test`, { method: 'POST', body: { token: tokenOf({ org_id: 'x' }) } });
  assert.equal(answer.json.data.accepted, false);
  const checks: readonly { check: string; passed: boolean; message: string | null }[] = answer.json.data.checks;
  assert.deepEqual(
    checks.filter(({ passed }) => !passed),
    [
      {
        check: 'requiredClaims',
        passed: false,
        message: `${MESSAGE}: claim org_id is "x", must be "acme"; claim plan is missing, must be 2`,
      },
    ],
  );
  assert.equal(checks[checks.findIndex(({ check }) => check === 'requiredClaims') - 1]?.check, 'audience');
});

for (const [why, requiredClaims, detail] of [
  ['are a list', ['org_id'], 'requiredClaims TYPE_MISMATCH'],
  ['are a text', 'org_id', 'requiredClaims TYPE_MISMATCH'],
  ['are too long', { org_id: 'x'.repeat(4096) }, 'requiredClaims TOO_LONG'],
  ['have no name', { '': 'acme' }, 'requiredClaims INVALID'],
  ['have a NUL', { org: ['a\u0000'] }, 'requiredClaims INVALID'],
  ['have a lone surrogate', { 'a\ud800': 1 }, 'requiredClaims INVALID'],
] as const) {
  test(`required claims that ${why} are refused`, async () => {
    const answer = await put({ requiredClaims });
    assert.equal(answer.status, 400, answer.text);
    const [{ field, code }] = answer.json.error.details;
    assert.equal(`${field} ${code}`, detail);
  });
}

test('the admin API refuses every user with 403, as it did', async () => {
  await put({ requiredClaims: { org_id: 'acme' } });
  const answer = await server.call('/api/admin/v1/organizations/acme/workspaces/notes', {
    credential: tokenOf({ org_id: 'x' }),
  });
  assert.equal(answer.status, 403, answer.text);
});

test('another workspace with the same issuer and audience is a warning, by name to the operator alone', async () => {
  const whole = { issuerUrl: issuer.url, defaultPermissions: 'READ_ONLY', enabled: true, audience: 'urn:api' };
  const warn = async (workspace = notes, isOwner = false) => {
    const credential = isOwner ? { credential: workspace.key } : {};
    const answer = await workspace.admin(PATH, { method: 'PUT', body: { audience: 'urn:api' }, ...credential });
    return aboutProvider(answer.json.meta?.warnings);
  };
  await put(whole);
  assert.deepEqual(await warn(), []);
  await put(whole, twin);
  assert.deepEqual(await warn(twin, true), [
    `${TWIN} another workspace: tokens for one workspace are valid in the other, as neither has requiredClaims`,
  ]);
  assert.deepEqual(await warn(twin), [
    `${TWIN} acme/notes: tokens for one workspace are valid in the other, as neither has requiredClaims`,
  ]);
  await put({ enabled: false });
  assert.deepEqual(await warn(twin), []);
  await put({ enabled: true, requiredClaims: { org_id: 'acme' } });
  assert.deepEqual(await warn(twin), []);
  assert.deepEqual(await warn(notes), []);
  await put({ requiredClaims: null, audience: null });
  assert.deepEqual(await warn(twin), []);
});
