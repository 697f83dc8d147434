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
