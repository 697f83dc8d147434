// Names in PostgreSQL over many changes: given up and used again, as long as they may be, and those of its own functions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySchema, assertTidy, type Json } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import { type Answer, startTestServer, type TestWorkspace } from '../support/server.ts';

let count = 0;
const server = useServer();

async function steps(workspace: TestWorkspace, documents: readonly Json[], query = ''): Promise<void> {
  for (const document of documents) {
    const answer = await applySchema(workspace, document, `?allowDestructive=true&wait=60${query}`);
    assert.equal(answer.json.data?.state, 'succeeded', answer.text);
    await assertTidy(server, workspace.path.split('/')[1] as string);
  }
}

const record = async (workspace: TestWorkspace, path: string): Promise<Json> => (await workspace.call(path)).json.data;

test('a name that was given up by renaming can be used again, by entities and fields', async () => {
  const text = { type: 'string', unique: true, maxLength: 20, index: true };
  const workspace = await server.workspace(`acme/n${++count}`, {
    entities: { a: { fields: { f: text }, relations: { r: { kind: 'belongsTo', entity: 'a' } } } },
  });
  await workspace.create('a', [{ f: 'first' }, { f: 'second', rId: 1 }]);
  const b = (more: Json = {}): Json => ({ relations: { r: { kind: 'belongsTo', entity: 'b' } }, ...more });
  await steps(workspace, [
    { entities: { b: b({ renamedFrom: 'a', fields: { g: { ...text, renamedFrom: 'f' } } }) } },
    // The same names again, in tables and columns of their own.
    { entities: { b: b({ fields: { g: text, f: { ...text, type: 'text' } } }), a: { fields: { f: text } } } },
  ]);
  await workspace.create('a', [{ f: 'other table' }]);
  assert.equal((await workspace.call('b/1', { method: 'PUT', body: { f: 'other column' } })).status, 200);
  assert.deepEqual(await record(workspace, 'b/1'), { id: 1, g: 'first', f: 'other column', rId: null });
  assert.deepEqual(await record(workspace, 'a/1'), { id: 1, f: 'other table' });
  const twice = await workspace.call('b', { method: 'POST', body: { f: 'other column' } });
  assert.deepEqual([twice.status, twice.json.error.details[0].field], [409, 'f']);
  await steps(workspace, [
    { entities: { b: b({ fields: { f: { type: 'text' } } }), a: { fields: { f: text } } } },
    {
      entities: {
        c: { renamedFrom: 'b', fields: { g: { type: 'string', renamedFrom: 'f' } } },
        a: { fields: { f: text } },
      },
    },
  ]);
  assert.deepEqual(await record(workspace, 'c/1'), { id: 1, g: 'other column' });
  await steps(workspace, [{ entities: { c: { fields: { g: { type: 'string' }, f: { type: 'date' } } } } }]);
  assert.deepEqual(await record(workspace, 'c/1'), { id: 1, g: 'other column', f: null });
  assert.equal((await workspace.call('a')).status, 404);
});

for (const strategy of ['', '&strategy=blocking']) {
  test(`names of 63 characters that differ in the last one keep apart${strategy}`, async () => {
    const long = (last: string): string => `${'x'.repeat(62)}${last}`;
    const document = (field: Json, onDelete: string, entities: readonly string[], from?: readonly string[]): Json => ({
      entities: Object.fromEntries(
        entities.map((name, at) => [
          name,
          {
            ...(from === undefined ? {} : { renamedFrom: from[at] }),
            fields: { [long('f')]: field, [long('g')]: field },
            relations: { [long('r')]: { kind: 'belongsTo', entity: entities[0], column: long('k'), onDelete } },
            indexes: [{ fields: [long('f'), long('g')], unique: true }],
          },
        ]),
      ),
    });
    const [first, second] = [long('a'), long('b')];
    const workspace = await server.workspace(
      `acme/n${++count}`,
      document({ type: 'string', maxLength: 9, index: true }, 'restrict', [first, second]),
    );
    for (const entity of [first, second]) {
      await workspace.create(entity, [{ [long('f')]: '1', [long('g')]: '2', [long('k')]: null }]);
    }
    const renamed = [long('c'), long('d')];
    await steps(
      workspace,
      [
        document({ type: 'string', maxLength: 5, required: true }, 'cascade', [first, second]),
        document({ type: 'integer', min: 1, unique: true, required: true }, 'cascade', [first, second]),
        document({ type: 'decimal', max: 5, index: true }, 'setNull', renamed, [first, second]),
        document({ type: 'enum', values: ['1', '2'], required: true }, 'setNull', renamed),
      ],
      strategy,
    );
    for (const entity of renamed) {
      assert.deepEqual(await record(workspace, `${entity}/1`), {
        id: 1,
        [long('f')]: '1',
        [long('g')]: '2',
        [long('k')]: null,
      });
    }
  });
}

test('another process that still knows a field with the name of a function says that it is gone', async (t) => {
  const other = await startTestServer({}, server.database);
  t.after(() => other.stop());
  const names = ['count', 'rank', 'max', 'text', 'name', 'upper'];
  const kept = { kept: { type: 'string' } };
  const workspace = await server.workspace(`acme/n${++count}`, {
    entities: {
      notes: { fields: { ...kept, ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])) } },
    },
  });
  await workspace.create('notes', [{ kept: 'x' }]);
  const ask = (path: string): Promise<Answer> =>
    other.call(`/api/v1/${workspace.path}/${path}`, { credential: workspace.key });
  const paths = names.flatMap((name) => [`notes?fields=${name}`, `notes?sort=${name}`, `notes?filter=${name},eq,x`]);
  for (const path of paths) assert.equal((await ask(path)).status, 200, path);
  await steps(workspace, [{ entities: { notes: { fields: kept } } }]);
  const answers = await Promise.all(paths.map(ask));
  for (const [at, { status, text }] of answers.entries()) assert.equal(status, 400, `${paths[at]}: ${text}`);
  assert.deepEqual((await ask('notes/1')).json.data, { id: 1, kept: 'x' });
});
