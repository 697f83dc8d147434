// `wda search` against a real server: tables, JSON, options, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../support/resources.ts';
import { wda } from './wda.ts';

const server = useServer();
const FOUND = { type: 'text', searchable: true };
const workspace = use(() =>
  server.workspace('acme/search', {
    entities: { people: { fields: { name: FOUND, note: FOUND, age: { type: 'decimal' } } }, plain: {} },
  }),
);
let env: Record<string, string> = {};
prepare(async () => {
  await workspace.create('people', [
    { name: 'Ann Lee', note: 'likes tea', age: 1.5 },
    { name: 'Anna Leeds', note: 'x'.repeat(100) },
    { name: 'Bob Lee', note: 'likes coffee' },
  ]);
  env = { WDA_URL: server.url, WDA_KEY: workspace.readOnlyKey, WDA_WORKSPACE: workspace.path };
});

const run = (...args: string[]) => wda(['search', ...args], { env });

test('the best matches are a table, numbers with their digits, long texts cut', async () => {
  const { code, stdout, stderr } = await run('people', 'lee', '--fields', 'id,name,age,note', '--sort', 'id');
  assert.equal(stderr, '');
  assert.equal(code, 0);
  assert.deepEqual(stdout.split('\n').slice(0, 3), [
    'id  name        age  note',
    '1   Ann Lee     1.5  likes tea',
    `2   Anna Leeds  -    ${'x'.repeat(59)}…`,
  ]);
});

test('words are one search, with phrases, exclusions and filters', async () => {
  const ids = async (...args: string[]): Promise<number[]> => {
    const { code, stdout, stderr } = await run('people', '--json', '--fields', 'id', ...args);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).map(({ id }: { id: number }) => id);
  };
  assert.deepEqual((await ids('ann', 'le')).sort(), [1]);
  assert.deepEqual((await ids('lee')).sort(), [1, 2, 3]);
  assert.deepEqual(await ids('--', '"ann lee"'), [1]);
  assert.deepEqual(await ids('--filter', 'name,startsWith,b', '--', '-tea', 'lee'), [3]);
});

test('fewer than there are says how many there are; nothing says so', async () => {
  assert.match((await run('people', 'lee', '--first', '2')).stdout, /\n\n2 of 3 records\n$/);
  assert.equal((await run('people', 'nobody')).stdout, 'Nothing was found.\n');
});

test('refusals of the server and of the options', async () => {
  const plain = await run('plain', 'lee');
  assert.equal(plain.code, 1);
  assert.match(plain.stderr, /plain has no searchable field/);
  for (const first of ['0', 'x', '1001']) {
    const { code, stderr } = await run('people', 'lee', '--first', first);
    assert.deepEqual([code, stderr.includes('--first takes a number of records from 1 to 1000')], [2, true]);
  }
});
