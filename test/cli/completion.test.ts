// `wda completion <shell>` and what its scripts ask: commands, options, names of the server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { spawnWda as wda } from './wda.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('acme/shop', { entities: { orders: { fields: {} }, others: { fields: {} }, tags: { fields: {} } } }),
);

/** What a shell would suggest for the last of the words. */
async function suggested(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await wda(['complete', '--', ...words], { env: { WDA_URL: server.url, ...env } });
  assert.deepEqual([code, stderr], [0, '']);
  const lines = stdout.trimEnd().split('\n').slice(0, -1);
  return lines.map((line) => line.split('\t')[0] as string).sort();
}

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`there is a script for ${shell}`, async () => {
    const { code, stdout } = await wda(['completion', shell]);
    assert.equal(code, 0);
    assert.match(stdout, /wda complete -- /);
  });
}

test('bash can read its script twice', async (t) => {
  const { stdout } = await wda(['completion', 'bash']);
  const twice = `${stdout}\n${stdout}\necho $ShellCompDirectiveKeepOrder`;
  const ran = spawnSync('bash', ['--norc', '-c', twice], { encoding: 'utf8' });
  if (ran.error !== undefined) return t.skip('there is no bash');
  assert.deepEqual([ran.status, ran.stdout, ran.stderr], [0, '32\n', '']);
});

test('a shell that nobody knows is refused with those that there are', async () => {
  const { code, stderr } = await wda(['completion', 'tcsh']);
  assert.equal(code, 2);
  assert.match(stderr, /zsh, bash, fish/);
});

test('commands and options are suggested without a server', async () => {
  const env = { WDA_URL: 'http://127.0.0.1:1', WDA_KEY: 'none', WDA_WORKSPACE: 'acme/shop' };
  assert.deepEqual(await suggested(['sch'], env), ['schema']);
  assert.deepEqual(await suggested(['schema', 'pl'], env), ['plan']);
  assert.deepEqual(await suggested(['schema', 'apply', '--al'], env), ['--allow-destructive']);
  assert.deepEqual(await suggested(['export', ''], env), []);
});

test('entities of the workspace are suggested, with any key of it', async () => {
  const env = { WDA_KEY: shop.readOnlyKey, WDA_WORKSPACE: 'acme/shop' };
  assert.deepEqual(await suggested(['export', ''], env), ['orders', 'others', 'tags']);
  assert.deepEqual(await suggested(['search', 'o'], env), ['orders', 'others']);
  assert.deepEqual(await suggested(['export', ''], { ...env, WDA_KEY: 'wrong' }), []);
  assert.deepEqual(await suggested(['export', ''], { WDA_WORKSPACE: 'acme/shop' }), []);
});

test('workspaces are suggested to the operator: the organization first', async () => {
  const env = { WDA_KEY: ADMIN_KEY };
  assert.deepEqual(await suggested(['export', '-w', ''], env), ['acme/']);
  assert.deepEqual(await suggested(['export', '--workspace', 'acme/'], env), ['acme/shop']);
});
