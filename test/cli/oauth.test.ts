// `wda client` and `wda signing-key` against a real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askToken, basic, type TestClient, tokenOf } from '../support/oauth.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { wda } from './wda.ts';

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/shop', { roles: ['public'], entities: { notes: { fields: { text: { type: 'text' } } } } }),
);

async function run(args: readonly string[], key = ADMIN_KEY, code = 0): Promise<string> {
  const env = { WDA_URL: server.url, WDA_KEY: key, WDA_WORKSPACE: 'acme/shop' };
  const outcome = await wda(args, { env });
  assert.equal(outcome.code, code, `wda ${args.join(' ')}\n${outcome.stderr}`);
  return code === 0 ? outcome.stdout : outcome.stderr;
}

test('a client is created with permissions', async () => {
  const made = JSON.parse(await run(['client', 'create', 'reader', '--permissions', 'read-only', '--json']));
  assert.equal(made.permissions, 'READ_ONLY');
  assert.match(await run(['client', 'create', 'x', '--permissions', 'all'], ADMIN_KEY, 2), /Permissions are OWNER/);
  await run(['client', 'delete', made.clientId]);
});

test('a client for some entities, and one of a name that stands twice', async () => {
  const create = ['client', 'create', 'twin', '--permissions', 'read-only'];
  assert.match(await run([...create, '--entities', 'notes']), /^Entities +notes$/m);
  assert.match(await run(create), /^Entities +all$/m);
  const table = await run(['client', 'list']);
  assert.match(table, /twin \(2 of this name\) +READ_ONLY +notes /);
  assert.match(table, /twin \(2 of this name\) +READ_ONLY +all /);
  assert.match(await run([...create, '--entities', 'note'], ADMIN_KEY, 1), /Did you mean notes\?/);
  assert.match(await run([...create, '--entities', 'notes,'], ADMIN_KEY, 2), /names separated by commas/);
  for (const { clientId } of JSON.parse(await run(['client', 'list', '--json'])))
    await run(['client', 'delete', clientId]);
});

for (const kind of ['key', 'client'] as const) {
  test(`a ${kind} that acts as a role is created and listed with its roles, and its claims keep their digits`, async () => {
    const create = [kind, 'create', 'website', '--permissions', 'grants'];
    const shown = await run([...create, '--roles', 'public', '--claims', '{"tenant": 9007199254740993}']);
    assert.match(shown, /^Permissions +GRANTS \(public\)$/m);
    assert.match(shown, /^Claims +\{"tenant":9007199254740993\}$/m);
    assert.match(await run([kind, 'list']), / GRANTS \(public\) /);
    assert.match(await run(create), /^Permissions +GRANTS \(no role\)$/m);
    assert.match(await run([...create, '--roles', 'publik'], ADMIN_KEY, 1), /public/);
    const [remove, id] = kind === 'key' ? ['revoke', 'id'] : ['delete', 'clientId'];
    for (const one of JSON.parse(await run([kind, 'list', '--json'])))
      if (one.permissions === 'GRANTS') await run([kind, remove, String(one[id])]);
  });
}

test('a client is created, gets a token, is listed without its secret, and deleted', async () => {
  assert.match(await run(['client', 'list']), /^No OAuth clients in acme\/shop$/m);
  const shown = await run(['client', 'create', 'nightly sync', '--permissions', 'owner']);
  assert.match(shown, /it is not shown again/);
  const client: TestClient = {
    clientId: /^Client id +(\S+)$/m.exec(shown)?.[1] ?? '',
    clientSecret: /^Client secret +(\S+)$/m.exec(shown)?.[1] ?? '',
  };
  const token = await tokenOf(server, client);
  // A token is a credential of the command line like any other.
  const table = await run(['client', 'list'], token);
  assert.match(table, new RegExp(`^${client.clientId} +nightly sync +OWNER +all +\\d{4}-`, 'm'));
  assert.ok(!table.includes(client.clientSecret));
  assert.equal(JSON.parse(await run(['client', 'list', '--json'], workspace.key)).length, 1);
  assert.deepEqual(JSON.parse(await run(['client', 'delete', client.clientId, '--json'])), {
    deleted: client.clientId,
  });
  assert.equal((await askToken(server, { grant_type: 'client_credentials' }, basic(client))).status, 401);
  assert.match(await run(['client', 'delete', client.clientId], ADMIN_KEY, 1), /404 NOT_FOUND/);
});

test('signing keys are listed and rotated with the operator key', async () => {
  const client = JSON.parse(await run(['client', 'create', 'other', '--permissions', 'owner', '--json'])) as TestClient;
  const token = await tokenOf(server, client);
  assert.match(await run(['signing-key', 'list']), /^\S{43} +signing /m);
  assert.match(await run(['signing-key', 'rotate'], workspace.key, 1), /403 FORBIDDEN/);
  const keys = JSON.parse(await run(['signing-key', 'rotate', '--json'])) as { state: string }[];
  assert.deepEqual(
    keys.map(({ state }) => state),
    ['signing', 'verifying'],
  );
  assert.equal((await workspace.call('notes', { credential: token })).status, 200);
  assert.equal(JSON.parse(await run(['signing-key', 'rotate', '--revoke', '--json'])).length, 1);
});
