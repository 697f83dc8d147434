// `wda aggregate` against a real server: tables, JSON, all pages, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { makeShop } from '../support/shop.ts';
import { wda } from './wda.ts';

const server = useServer();
const shop = use(() => makeShop(server));
let env: Record<string, string> = {};
prepare(() => {
  env = { WDA_URL: server.url, WDA_KEY: shop.readOnlyKey, WDA_WORKSPACE: shop.path };
});

const run = (...args: string[]) => wda(['aggregate', ...args], { env });

test('without options the records are counted', async () => {
  assert.deepEqual(await run('orders'), { code: 0, stdout: 'count\n    8\n', stderr: '' });
});

test('groups are a table, what is missing a dash, numbers with their digits to the right', async () => {
  const { stdout, stderr } = await run('orders', '--select', 'count, sum:total', '--group', 'status');
  assert.equal(stderr, '');
  assert.equal(
    stdout,
    [
      'status   count    sum:total',
      'open         3        34.00',
      'paid         2       117.40',
      'shipped      2        69.30',
      '-            1  12345678.90',
      '',
    ].join('\n'),
  );
});

test('every option is a parameter', async () => {
  const { code, stdout, stderr } = await run(
    ...['orders', '--select', 'count', '--group', 'placedAt:day,customer.country.code', '--tz', 'America/New_York'],
    ...[
      '--filter',
      'id,gt,1',
      '--filter',
      'id,lt,8',
      '--or',
      'status,eq,open;status,eq,paid',
      '--having',
      'count,gte,1',
    ],
    ...['--sort', 'customer.country.code,desc', '--sort', 'placedAt:day,desc', '--first', '2'],
  );
  assert.equal(code, 0, stderr);
  assert.equal(
    stdout,
    [
      'placedAt:day  customer.country.code  count',
      '2026-03-02    -                          1',
      '2026-03-01    TR                         1',
      '',
      '2 of 4 groups',
      '',
    ].join('\n'),
  );
});

test('with --json the groups are one array', async () => {
  const { stdout } = await run('orders', '--select', 'sum:total', '--group', 'status', '--first', '1', '--json');
  assert.equal(stdout, '[\n  {\n    "status": "open",\n    "sum:total": 34.00\n  }\n]\n');
  assert.deepEqual(JSON.parse((await run('orders', '--filter', 'id,gt,99', '--group', 'status', '--json')).stdout), []);
});

test('more groups than the server answers at once are all printed', async () => {
  const lines = Array.from({ length: 1996 }, (_, index) => `{"name":"tag ${index}"}\n`).join('');
  const answer = await shop.call('tags/_import', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines,
  });
  assert.equal(answer.status, 200, answer.text);
  const all = JSON.parse((await run('tags', '--group', 'id', '--json')).stdout);
  assert.equal(all.length, 2000);
  assert.equal(new Set(all.map(({ id }: { id: number }) => id)).size, 2000);
  const some = await run('tags', '--group', 'id', '--first', '1500');
  assert.match(some.stdout, /\n1,500 of 2,000 groups\n$/);
  assert.equal(some.stdout.split('\n').length, 1500 + 4);
});

test('a refusal is that of the server', async () => {
  const { code, stdout, stderr } = await run('orders', '--select', 'sum:note');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /sum does not apply to a field of type text\. It applies to integer,.*400 BAD_REQUEST/);
  const search = await run('orders', '--search', 'tea');
  assert.match(search.stderr, /orders has no searchable field/);
  assert.equal((await wda(['aggregate', 'orders'], { env: { ...env, WDA_KEY: `${ADMIN_KEY}x` } })).code, 1);
});
