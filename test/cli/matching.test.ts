// `wda update` and `wda delete` against a real server: filters, values, the question before, refusals.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { parseAssignment } from '../../src/cli/commands/matching.ts';
import { use, useServer } from '../support/resources.ts';
import { wda } from './wda.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('t/cli-matching', {
    entities: {
      items: {
        fields: {
          name: { type: 'string' },
          stock: { type: 'integer', min: 0 },
          code: { type: 'string' },
          open: { type: 'boolean' },
          data: { type: 'json' },
        },
      },
    },
  }),
);
const run = (...args: string[]) =>
  wda(args, { env: { WDA_URL: server.url, WDA_KEY: shop.readWriteKey, WDA_WORKSPACE: shop.path } });
const stocks = async () => (await shop.call('items?sort=id')).json.data.map(({ stock }: { stock: number }) => stock);

beforeEach(async () => {
  await shop.call('items/_delete', { method: 'POST', body: { filter: { all: true }, max: 100 } });
  await shop.create('items', [
    { name: 'a', stock: 1 },
    { name: 'b', stock: 2 },
    { name: 'c', stock: 3 },
  ]);
});

test('records that match are changed, by values of the type of the field and operators', async () => {
  const args = ['items', '--filter', 'stock,gte,2', '--filter', 'name,in,b,c,d', '--max', '10', '--yes'];
  const { code, stdout, stderr } = await run('update', ...args, '--set', 'stock={"$inc": 10}', '--set', 'code=007');
  assert.deepEqual([code, stdout, stderr], [0, '2 records of items changed\n', '']);
  const { data } = (await shop.call('items?sort=id&filter=stock,gte,2')).json;
  assert.deepEqual(
    data.map(({ stock, code: text }: Record<string, unknown>) => [stock, text]),
    [
      [12, '007'],
      [13, '007'],
    ],
  );
});

test('records that match are deleted; --all says all', async () => {
  assert.equal(
    (await run('delete', 'items', '--filter', 'name,eq,b', '--max', '1', '--yes')).stdout,
    '1 record of items deleted\n',
  );
  assert.deepEqual(await stocks(), [1, 3]);
  const { stdout } = await run('delete', 'items', '--all', '--max', '5', '--yes', '--json');
  assert.deepEqual(JSON.parse(stdout), { matched: 2, deleted: 2 });
  assert.deepEqual(await stocks(), []);
});

for (const [args, code, message] of [
  [
    ['update', 'items', '--all', '--set', 'stock=1', '--max', '5'],
    2,
    /It asks first, which needs a terminal: repeat it with --yes/,
  ],
  [['update', 'items', '--set', 'stock=1', '--max', '5', '--yes'], 2, /Say which records: by --filter, or --all/],
  [['delete', 'items', '--all', '--filter', 'stock,eq,1', '--max', '5', '--yes'], 2, /Say which records/],
  [['delete', 'items', '--all', '--max', 'many', '--yes'], 2, /--max takes a number of records, not many/],
  [['delete', 'items', '--all', '--yes'], 2, /--max/],
  [['update', 'items', '--all', '--set', 'stock', '--max', '5', '--yes'], 2, /--set takes <field>=<value>, not stock/],
  [['update', 'items', '--all', '--set', 'data={', '--max', '5', '--yes'], 2, /--set data: \{ is not JSON/],
  [['update', 'items', '--all', '--set', 'stok=1', '--max', '5', '--yes'], 1, /Did you mean stock\?/],
  [
    ['update', 'items', '--all', '--set', 'stock={"$inc": -2}', '--max', '5', '--yes'],
    1,
    /\n {2}id \d+, stock: OUT_OF_RANGE must be at least 0/,
  ],
  [['delete', 'items', '--all', '--max', '2', '--yes'], 1, /3 records match, and max is 2/],
  [['delete', 'itms', '--all', '--max', '2', '--yes'], 1, /itms/],
] as const) {
  test(`${args.join(' ')} is refused, and nothing is written`, async () => {
    const outcome = await run(...args);
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stderr, message);
    assert.deepEqual(await stocks(), [1, 2, 3]);
  });
}

test('more than 10,000 records are a job, which is waited for, listed and shown', async () => {
  const body = Array.from({ length: 10_000 }, () => '{"stock":2}').join('\n');
  const headers = { 'Content-Type': 'application/x-ndjson' };
  assert.equal((await shop.call('items/_import', { method: 'POST', body, headers })).status, 200);
  assert.equal((await run('jobs')).stdout, 'No jobs in t/cli-matching\n');
  const args = ['items', '--all', '--max', '20000', '--yes'];
  const failed = await run('update', ...args, '--set', 'stock={"$inc": -2}');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^Job \d+: update items\n/);
  assert.match(failed.stderr, /Job \d+ has failed: .*must be at least 0/);
  assert.match(
    failed.stderr,
    /0 of 10,003 records were processed, and stay as they are\n *id \d+: stock must be at least 0/,
  );
  const done = await run('update', ...args, '--set', 'stock={"$inc": 1}');
  assert.deepEqual([done.code, done.stdout], [0, '10,003 records of items changed\n'], done.stderr);
  const listed = await run('jobs', '--json');
  const [job, ...others] = JSON.parse(listed.stdout);
  assert.deepEqual([job.state, job.updated, others.length], ['succeeded', 10_003, 1]);
  assert.match((await run('jobs', 'show', String(job.id), '--follow')).stdout, /Processed +10,003/);
  assert.equal((await run('jobs', 'cancel', String(job.id))).stdout, `Job ${job.id}: succeeded\n`);
  const started = await run('delete', ...args, '--no-wait');
  assert.match(started.stdout, /^Job \d+ is running: wda jobs show \d+ --follow\n$/);
  const deleted = await run('jobs', 'show', String(job.id + 1), '--follow', '--json');
  assert.deepEqual([deleted.code, JSON.parse(deleted.stdout).deleted], [0, 10_003]);
});

test('values have the type of their field', () => {
  const types: Readonly<Record<string, string>> = { name: 'string', stock: 'integer', open: 'boolean', data: 'json' };
  for (const [text, value] of [
    ['name=7', '7'],
    ['name=null', null],
    ['name="null"', 'null'],
    ['name=a=b', 'a=b'],
    ['name=', ''],
    ['stock=7', 7],
    ['open=true', true],
    ['data=[1]', [1]],
    ['data=7', 7],
    ['ownerId=7', 7],
    ['stock={"$inc":1}', { $inc: 1 }],
  ] as const)
    assert.deepEqual(parseAssignment(text, (field) => types[field])[1], value, text);
});
