// `wda workspace limits`, `wda org limits` and `wda workspace usage`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { type Outcome, wda } from './wda.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('acme/shop', { entities: { notes: { fields: { text: { type: 'string' } } } } }),
);
const run = (...args: readonly string[]): Promise<Outcome> =>
  wda(args, { env: { WDA_URL: server.url, WDA_KEY: ADMIN_KEY } });

test('limits are set, shown and given back', async () => {
  const { stdout, stderr } = await run('workspace', 'limits', 'acme/shop', '--max-records', '5000');
  assert.match(stdout, /^Records +5,000$/m, stderr);
  assert.match(stdout, /^Bytes +\(that of the organization\)$/m);
  assert.match(
    (await run('org', 'limits', 'acme', '--max-requests-per-minute', '60')).stdout,
    /^Requests a minute +60$/m,
  );
  assert.deepEqual(JSON.parse((await run('workspace', 'limits', 'acme/shop', '--json')).stdout), { maxRecords: 5000 });
  await shop.create('notes', [{ text: 'one' }]);
  const usage = await run('workspace', 'usage', 'acme/shop');
  assert.match(usage.stdout, /^Records +1 of 5,000$/m, usage.stderr);
  assert.match(usage.stdout, /^Requests today +[\d,]+, 60 a minute at most$/m);
  assert.match(usage.stdout, /^\d{4}-\d\d-\d\d +\d+ +1 /m);
  const none = await run('workspace', 'limits', 'acme/shop', '--max-records', 'none');
  assert.match(none.stdout, /^Records +\(that of the organization\)$/m);
});

test('what is no limit is refused before it is sent', async () => {
  const { code, stderr } = await run('workspace', 'limits', 'acme/shop', '--max-records', 'many');
  assert.equal(code, 2);
  assert.match(stderr, /A limit is a whole number, or none/);
});
