// `wda history` and `wda restore-record` against a real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../support/resources.ts';
import { wda } from './wda.ts';

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/shop', {
    entities: {
      orders: {
        fields: { status: { type: 'string' }, total: { type: 'decimal', precision: 20, scale: 2 } },
        settings: { changes: 'history' },
      },
    },
  }),
);
let env: Record<string, string> = {};
let id = 0;
prepare(async () => {
  env = { WDA_URL: server.url, WDA_KEY: workspace.key, WDA_WORKSPACE: workspace.path };
  const created = await workspace.call('orders', { method: 'POST', body: { status: 'open', total: 1 } });
  id = created.json.data.id;
  for (const status of ['pa\u001bid', 'shipped'])
    await workspace.call(`orders/${id}`, { method: 'PATCH', body: { status } });
});

/** Replaces what differs between runs. */
const plain = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/by key [\w-]+/g, 'by key owner')
    .replaceAll(/e_[\w-]{22}/g, 'EVENT');

test('history prints a line an event, and restore-record writes the record as it was', async () => {
  const { code, stdout } = await wda(['history', 'orders', String(id)], { env });
  assert.equal(code, 0);
  assert.deepEqual(plain(stdout).trim().split('\n'), [
    'TIME  updated  status: pa\\u001bid -> shipped  by key owner  EVENT',
    'TIME  updated  status: open -> pa\\u001bid  by key owner  EVENT',
    'TIME  created  status: open, total: 1.00  by key owner  EVENT',
    'Complete since TIME',
  ]);
  const [first = ''] = stdout
    .split('\n')
    .flatMap((line) => (line.includes('created') ? [line.split('  ').at(-1)] : []));
  const restored = await wda(['restore-record', 'orders', String(id), first], { env });
  assert.deepEqual([restored.code, restored.stdout], [0, `Restored orders ${id}\n`]);
  const { stdout: last } = await wda(['history', 'orders', String(id), '--first', '1', '--fields', 'status'], { env });
  assert.deepEqual(plain(last).trim().split('\n'), [
    'TIME  updated  status: shipped -> open  by key owner  EVENT',
    'There is more: see --first',
  ]);
});

test('with --json both print what the API answers, and a refusal is exit code 1', async () => {
  const { stdout } = await wda(['history', 'orders', String(id), '--json'], { env });
  const { data } = (await workspace.call(`orders/${id}/_history`)).json;
  assert.deepEqual(JSON.parse(stdout), data);
  const restored = await wda(['restore-record', 'orders', String(id), data[0].id, '--json'], { env });
  assert.equal(JSON.parse(restored.stdout).status, 'open');
  const refused = await wda(['restore-record', 'orders', String(id), 'e_x'], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The record has no such event/);
});
