// The recipes of many workspaces, and of the life of one: their commands run as written, and do what the pages say.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { readCommands, runCommands } from '../support/page-commands.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';

const server = useServer();
const folder = useFolder();
const shop = use(() => server.workspace('acme/shop', DEMO_SCHEMA));
const globex = use(() => server.workspace('acme/globex', DEMO_SCHEMA));
let env: Record<string, string> = {};
prepare(async () => {
  for (const workspace of [shop, globex])
    for (const [entity, records] of DEMO_RECORDS) await workspace.create(entity, records);
  env = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY };
});

const run = async (commands: string): Promise<string> => (await runCommands(commands, env, folder)).stdout;

test('a staging copy has the records, its key works, and its schema changes alone', { timeout: 300_000 }, async () => {
  const [copy = '', keys = '', apply = '', remove = ''] = readCommands('docs/recipes/staging-copy.md');
  writeFileSync(join(folder, 'schema.yaml'), JSON.stringify(DEMO_SCHEMA));
  await run(copy);
  const key = /wda_[\w-]+/.exec(await run(keys))?.[0] ?? '';
  const { status, json } = await server.call('/api/v1/acme/shop-staging/orders', { credential: key });
  assert.deepEqual([status, json.data], [200, (await shop.call('orders')).json.data]);
  await run(apply);
  await run(remove);
  assert.equal((await server.call('/api/v1/acme/shop-staging/orders', { credential: key })).status, 401);
});

test('yesterday of a customer comes back, its key goes on, and what came later can be looked up', {
  timeout: 300_000,
}, async () => {
  const page = 'docs/recipes/yesterday-of-one-customer.md';
  const [backup = '', restore = '', look = '', remove = ''] = readCommands(page).map((commands) =>
    commands.replaceAll('/srv/backups', folder),
  );
  const before = (await globex.call('orders')).json.data;
  await run(backup);
  await globex.create('customers', [{ name: 'Later' }]);
  await globex.create('orders', [{ customerId: 1, total: 1 }]);
  const former = /globex-before-[\d-]+\d/.exec(await run(restore))?.[0] ?? '';
  assert.deepEqual((await globex.call('orders')).json.data, before);
  const named = (commands: string): string => commands.replaceAll(/globex-before-[\d-]+\d/g, former);
  assert.equal((await run(named(look))).trim().split('\n').length, before.length + 2);
  await run(named(remove));
});

test('a schema is published, changed and rolled out to the workspaces that follow it', {
  timeout: 300_000,
}, async () => {
  const [first = '', change = '', plan = '', start = '', after = ''] = readCommands(
    'docs/recipes/200-tenants-one-schema.md',
  );
  const write = (name: string, document: object): void => writeFileSync(join(folder, name), JSON.stringify(document));
  write('helpdesk.yaml', { entities: { tickets: { fields: { title: { type: 'string' } } } } });
  write('access.yaml', { apiKeys: [{ name: 'server', permissions: 'READ_WRITE' }] });
  const key = /wda_[\w-]+/.exec(await run(first))?.[0] ?? '';
  const call = (method: string, body?: object) =>
    server.call('/api/v1/acme/initech/tickets', { method, body, credential: key });
  assert.equal((await call('POST', { title: 'Printer' })).status, 201);
  write('helpdesk.yaml', {
    entities: { tickets: { fields: { subject: { type: 'string', renamedFrom: 'title' } } } },
  });
  await run(change);
  await run(plan);
  // A single workspace is the first wave and the last one, after which there is nothing to resume.
  await run(start.split('\n')[0] ?? '');
  assert.equal((await call('GET')).json.data[0].subject, 'Printer');
  assert.match(await run(after.split('\n').at(-2) ?? ''), /initech/);
});
