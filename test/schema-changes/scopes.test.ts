// What a key for some entities reaches when the schema changes: the same entities by their new names, and never another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../support/resources.ts';
import { keyFor } from '../support/scopes.ts';

const server = useServer();
const second = useServer({}, server);
const fields = { name: { type: 'string' } };
const workspace = use(() => server.workspace('acme/names', { entities: { a: { fields }, b: { fields } } }));
const key = use(() => keyFor(workspace, ['a', 'b']).then((text) => ({ text })));

async function change(entities: object): Promise<void> {
  const answer = await workspace.admin('schema?allowDestructive=true', { method: 'PUT', body: { entities } });
  assert.equal(answer.status, 200, answer.text);
}

/** What each of the names is answered, by both processes. */
async function statuses(...names: readonly string[]): Promise<readonly number[]> {
  const found = [];
  for (const name of names) {
    const [one, two] = await Promise.all(
      [server, second].map(({ call }) => call(`/api/v1/acme/names/${name}`, { credential: key.text })),
    );
    assert.equal(one?.status, two?.status, name);
    found.push(one?.status ?? 0);
  }
  return found;
}

const listed = async (): Promise<unknown> => (await workspace.admin('api-keys?size=100')).json.data.at(-1).entities;

test('a key follows an entity that is renamed', async () => {
  await change({ c: { fields, renamedFrom: 'a' }, b: { fields } });
  assert.deepEqual(await statuses('a', 'b', 'c'), [404, 200, 200]);
  assert.deepEqual(await listed(), ['b', 'c']);
});

test('another entity of its former name is not reached', async () => {
  await change({ a: { fields }, b: { fields }, c: { fields } });
  assert.deepEqual(await statuses('a', 'b', 'c'), [404, 200, 200]);
});

test('an entity that is removed and made again is another one', async () => {
  await change({ a: { fields }, c: { fields } });
  assert.deepEqual(await listed(), ['c']);
  await change({ a: { fields }, b: { fields }, c: { fields } });
  assert.deepEqual(await statuses('a', 'b', 'c'), [404, 404, 200]);
  assert.deepEqual(await listed(), ['c']);
});

test('a key whose entities are gone reaches nothing, not everything', async () => {
  await change({ a: { fields }, b: { fields } });
  assert.deepEqual(await statuses('a', 'b'), [404, 404]);
  assert.deepEqual(await listed(), []);
  assert.equal((await server.call('/api/v1/acme/names', { credential: key.text })).json.data.entities.length, 0);
});

test('a change of fields and a new entity leave the ids of the others alone', async () => {
  const other = await keyFor(workspace, ['b']);
  await change({ a: { fields }, b: { fields: { ...fields, more: { type: 'integer' } } }, d: { fields } });
  assert.equal((await workspace.call('b', { credential: other })).status, 200);
  assert.equal((await workspace.call('d', { credential: other })).status, 404);
});
