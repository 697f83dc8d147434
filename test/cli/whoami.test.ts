// `wda whoami` against a real server, for keys of all kinds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { wda } from './wda.ts';

const server = useServer();
const shop = use(() => server.workspace('acme/shop', { entities: { notes: {}, orders: {} } }));

const run = (key: string, ...args: string[]) =>
  wda(['whoami', ...args], { env: { WDA_URL: server.url, WDA_KEY: key } });

test('a key with a scope is shown with its workspace', async () => {
  const body = { name: 'nightly', permissions: 'READ_ONLY', entities: ['orders'], expiresAt: '2999-01-01T00:00:00Z' };
  const { key } = (await shop.admin('api-keys', { method: 'POST', body })).json.data;
  assert.deepEqual(await run(key), {
    code: 0,
    stdout: [
      'Name         nightly',
      'Permissions  READ_ONLY',
      'Workspace    acme/shop',
      'Entities     orders',
      'Expires      2999-01-01T00:00:00Z',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('the operator has all, and JSON is what the server says', async () => {
  assert.match((await run(ADMIN_KEY)).stdout, /^Permissions {2}everything\nWorkspace {4}all$/m);
  const { stdout } = await run(shop.readOnlyKey, '--json');
  const told = await server.call('/api/admin/v1/session', { credential: shop.readOnlyKey });
  assert.deepEqual(JSON.parse(stdout), told.json.data);
});

test('a key that is none is refused', async () => {
  const { code, stderr } = await run('wda_nothing');
  assert.equal(code, 1);
  assert.match(stderr, /401|credential/i);
});

test('members of a workspace and of an organization are added, listed, changed and removed', async () => {
  const members = async (...args: string[]) => {
    const { code, stdout, stderr } = await wda(['members', ...args], {
      env: { WDA_URL: server.url, WDA_KEY: ADMIN_KEY, WDA_WORKSPACE: 'acme/shop' },
    });
    return { code, text: stdout + stderr };
  };
  assert.match((await members('list')).text, /No members in acme\/shop/);
  const added = await members('add', 'Ada@example.com', '--role', 'editor', '--json');
  const { id, ...member } = JSON.parse(added.text);
  assert.deepEqual([member.email, member.role, member.person], ['ada@example.com', 'editor', null]);
  const byClaim = (await members('add', '--claim', 'support', '--role', 'viewer')).text;
  assert.match(byClaim, /claim support/);
  assert.doesNotMatch(byClaim, /invited/);
  assert.match((await members('list')).text, /ada@example\.com +editor +- +invited/);
  assert.match((await members('update', String(id), '--role', 'owner')).text, /Role +owner/);
  assert.match((await members('add', 'ada@example.com', '--role', 'editor')).text, /exists already/);
  for (const wrong of [['x'], ['a@b.c', '--claim', 'x'], []])
    assert.notEqual((await members('add', ...wrong, '--role', 'editor')).code, 0, String(wrong));
  assert.match((await members('add', 'a@b.c', '--role', 'boss')).text, /role/);
  assert.match((await members('remove', String(id))).text, /Removed member \d+ of acme\/shop/);
  assert.match((await members('add', 'o@b.c', '--role', 'owner', '--organization', 'acme')).text, /o@b\.c/);
  assert.match((await members('list', '--organization', 'acme')).text, /o@b\.c +owner/);
});
