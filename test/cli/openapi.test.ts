// `wda openapi`: printed, written to a file, refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { makeShop } from '../support/shop.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { wda } from './wda.ts';

const server = useServer();
const shop = use(() => makeShop(server));
const folder = useFolder();

const run = (...args: string[]) =>
  wda(['openapi', ...args], { env: { WDA_URL: server.url, WDA_KEY: shop.key, WDA_WORKSPACE: 'acme/shop' } });

test('the document is printed as the server gives it', async () => {
  const { code, stdout, stderr } = await run('--selection', 'fixed', '--entities', 'orders');
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout, `${(await shop.call('_openapi.json?selection=fixed&entities=orders')).text}\n`);
});

test('the document is written to a file', async () => {
  const file = join(folder, 'admin.json');
  const { code, stdout, stderr } = await run('--admin', '-o', file);
  assert.deepEqual([code, stdout, stderr], [0, `Written to ${file}\n`, '']);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).openapi, '3.1.1');
});

test('the document of the admin API needs no credential, as on the server', async () => {
  const { code, stdout, stderr } = await wda(['openapi', '--admin'], { env: { WDA_URL: server.url } });
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout, `${(await server.call('/api/admin/v1/openapi.json')).text}\n`);
  const workspace = await wda(['openapi', '-w', 'acme/shop'], { env: { WDA_URL: server.url } });
  assert.deepEqual([workspace.code, /A credential is needed/.test(workspace.stderr)], [2, true], workspace.stderr);
});

for (const [args, code, says] of [
  [['--entities', 'order'], 1, /Unknown entity order\. Did you mean orders\?/],
  [['--admin', '--selection', 'fixed'], 2, /--admin goes without --selection, --entities and --role/],
  [['--admin', '--role', 'agent'], 2, /--admin goes without --selection, --entities and --role/],
  [['--role', 'agent'], 1, /Unknown role agent\. Known: none/],
  [['-o', join(folder, 'nowhere', 'a.json')], 1, /Cannot write .*a\.json/],
] as const) {
  test(`wda openapi ${args[0]} ${args[1]} is refused`, async () => {
    const refused = await run(...args);
    assert.equal(refused.code, code, refused.stderr);
    assert.match(refused.stderr, says);
  });
}
