// `wda console` against a real server: a link for the operator, and for nobody else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postSession } from '../support/console-client.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { wda } from './wda.ts';

const server = useServer({ PUBLIC_URL: 'https://data.example.com' });
const shop = use(() => server.workspace('acme/shop', { entities: {} }));

const run = (key: string, ...args: string[]) =>
  wda(['console', ...args], { env: { WDA_URL: server.url, WDA_KEY: key } });

test('it prints a link that signs in', async () => {
  const { code, stdout } = await run(ADMIN_KEY);
  assert.equal(code, 0);
  const [, secret] =
    /^https:\/\/data\.example\.com\/console\/login#([\w-]{43})\n\nIt signs you in once, until /.exec(stdout) ?? [];
  assert.equal((await postSession(server, { code: secret })).status, 201, stdout);
  const { url } = JSON.parse((await run(ADMIN_KEY, '--json')).stdout);
  assert.match(url, /#[\w-]{43}$/);
});

test('an owner gets none', async () => {
  const { code, stderr } = await run(shop.key);
  assert.notEqual(code, 0);
  assert.match(stderr, /Only the operator/);
});
