// What one workspace waits for keeps no other waiting: neither rows nor tables that somebody has locked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { lockWhole } from '../../support/database.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' } } } } };

const server = useServer();
const loud = use(() => server.workspace('loud/one', SCHEMA));
const quiet = use(() => server.workspace('quiet/two', SCHEMA));
prepare(async () => {
  for (const workspace of [loud, quiet]) await workspace.create('notes', [{ text: 'a' }, { text: 'b' }]);
});

/** Holds a lock in the loud workspace, and tells how many of its requests were answered meanwhile. */
async function whileLocked(
  statement: string,
  requests: () => Promise<Answer>[],
  work: () => Promise<void>,
): Promise<readonly Answer[]> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    const { rows } = await client.query("select database_schema as name from wda.workspace where slug = 'one'");
    for (const text of [`set search_path to "${rows[0].name}"`, 'begin', statement]) await client.query(text);
    let answered = 0;
    const waiting = requests().map((request) => request.finally(() => answered++));
    await work();
    assert.equal(answered, 0, 'a request of the workspace that waits was answered before the neighbour was done');
    await client.query('rollback');
    return await Promise.all(waiting);
  } finally {
    await client.end();
  }
}

const many = (count: number, make: (index: number) => Promise<Answer>): Promise<Answer>[] =>
  Array.from({ length: count }, (_, index) => make(index));

test('updates that wait for a locked row keep no creates of another workspace waiting', async () => {
  const answers = await whileLocked(
    'update notes set text = text where id = 1',
    () => many(12, (index) => loud.call('notes/1', { method: 'PUT', body: { text: String(index) } })),
    async () => {
      for (let count = 0; count < 10; count++) {
        const made = await quiet.call('notes', { method: 'POST', body: { text: 'quick' } });
        assert.equal(made.status, 201, made.text);
      }
    },
  );
  for (const { status, text } of answers) assert.equal(status, 200, text);
});

test('updates that wait for many locked rows keep no creates of another workspace waiting', async () => {
  await loud.create(
    'notes',
    Array.from({ length: 12 }, () => ({ text: 'locked' })),
  );
  const ids: number[] = (await loud.call('notes?size=12')).json.data.map(({ id }: { id: number }) => id);
  await whileLocked(
    'update notes set text = text',
    () => ids.map((id) => loud.call(`notes/${id}`, { method: 'DELETE' })),
    async () => {
      for (let count = 0; count < 10; count++) {
        const made = await quiet.call('notes', { method: 'POST', body: { text: 'quick' } });
        assert.equal(made.status, 201, made.text);
      }
    },
  );
});

test('reads that wait for a locked table keep no reads of another workspace waiting', async () => {
  await whileLocked(
    lockWhole('notes'),
    () => [...many(12, () => loud.call('notes/1')), ...many(12, (index) => loud.call(`notes?size=${index + 1}`))],
    async () => {
      for (let count = 0; count < 10; count++) {
        const one = await quiet.call('notes/1');
        assert.equal(one.status, 200, one.text);
        const all = await quiet.call('notes?sort=text');
        assert.equal(all.status, 200, all.text);
      }
    },
  );
});
