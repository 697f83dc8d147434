// What comes while a change is under way: values that only the old shape can hold, demands that are not in force yet, and
// names that row rules and settings hang on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  applyHeld,
  applySchema,
  assertTidy,
  ended,
  type Json,
  schemaOf,
  shapeOf,
  withClient,
} from '../support/migration.ts';
import { useIssuer, useServer } from '../support/resources.ts';
import type { Answer, TestWorkspace } from '../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../support/users.ts';

let count = 0;
const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

const workspaceWith = (schema: Json): Promise<TestWorkspace> => server.workspace(`acme/late${++count}`, schema);
const notes = (fields: Json, more: Json = {}): Json => ({ entities: { notes: { fields, ...more } } });

const RECORDS = 2000;

/** Records by SQL, of whom one is locked as soon as the second column is there: the filling has to wait for it. */
async function whileFilling(
  workspace: TestWorkspace,
  document: Json,
  work: (id: number) => Promise<void>,
): Promise<Json> {
  const schema = await schemaOf(server, workspace);
  return withClient(server, async (client) => {
    const { data } = (await applySchema(workspace, document, '?wait=0')).json;
    for (;;) {
      const { rows } = await client.query(
        `select count(*)::int4 as n from pg_trigger where tgrelid = '"${schema}".notes'::regclass and tgname like '~u%'`,
      );
      if (rows[0].n > 0) break;
    }
    // The last one: all others are filled by then, or wait in the same batch.
    await client.query(`begin; select id from "${schema}".notes where id = ${RECORDS} for update`);
    await work(data.id);
    assert.equal((await workspace.admin(`migrations/${data.id}`)).json.data.state, 'running');
    await client.query('rollback');
    return ended(workspace, data.id);
  });
}

async function withTexts(field: Json, more: Json = {}): Promise<TestWorkspace> {
  const workspace = await workspaceWith(notes({ v: field }, more));
  const schema = await schemaOf(server, workspace);
  await server.database.query(
    `insert into "${schema}".notes (v) select n::text from generate_series(1, ${RECORDS}) n; analyze "${schema}".notes`,
  );
  return workspace;
}

for (const [name, from, to] of [
  ['a field', { type: 'text' }, { type: 'integer' }],
  ['a required field', { type: 'text', required: true }, { type: 'integer', required: true, min: 1 }],
] as const) {
  test(`a value of ${name} that only the old type can hold is taken, and the change fails for it`, async () => {
    const workspace = await withTexts(from);
    const slug = `late${count}`;
    const shape = await shapeOf(server.database, slug);
    const written: [id: number, v: string][] = [];
    const migration = await whileFilling(workspace, notes({ v: to }), async () => {
      for (const [id, v] of [
        [1, 'first'],
        [2, '22'],
        [3, 'then well'],
        [3, '33'],
      ] as const) {
        const answer = await workspace.call(`notes/${id}`, { method: 'PUT', body: { v } });
        assert.deepEqual([answer.status, answer.json.data], [200, { id, v }], answer.text);
        written.push([id, v]);
      }
      const made = await workspace.call('notes', { method: 'POST', body: { v: 'made' } });
      assert.equal(made.status, 201, made.text);
      written.push([made.json.data.id, 'made']);
      const gone = await workspace.call('notes', { method: 'POST', body: { v: 'gone' } });
      assert.equal((await workspace.call(`notes/${gone.json.data.id}`, { method: 'DELETE' })).status, 204);
    });
    const { state, error } = migration;
    assert.deepEqual(
      [state, error.code, error.field, error.count],
      ['failed', 'DATA_CONFLICT', 'v', 2],
      JSON.stringify(error),
    );
    assert.deepEqual(error.sampleIds, [1, RECORDS + 1]);
    await assertTidy(server, slug);
    assert.deepEqual(await shapeOf(server.database, slug), shape);
    const last = new Map(written);
    for (const [id, v] of last) assert.deepEqual((await workspace.call(`notes/${id}`)).json.data, { id, v });
    // With those out of the way it is made.
    for (const id of error.sampleIds) await workspace.call(`notes/${id}`, { method: 'DELETE' });
    const again = (await applySchema(workspace, notes({ v: to }), '?wait=60')).json.data;
    assert.equal(again.state, 'succeeded', JSON.stringify(again));
    assert.deepEqual((await workspace.call('notes/3')).json.data, { id: 3, v: 33 });
    await assertTidy(server, slug);
  });
}

test('a value that only the old type can hold and that is put right again does not fail the change', async () => {
  const workspace = await withTexts({ type: 'text', required: true });
  const document = notes({ v: { type: 'integer', required: true } });
  const migration = await whileFilling(workspace, document, async () => {
    for (const v of ['wrong', '77']) {
      assert.equal((await workspace.call('notes/5', { method: 'PUT', body: { v } })).status, 200);
    }
  });
  assert.equal(migration.state, 'succeeded', JSON.stringify(migration));
  assert.deepEqual((await workspace.call('notes/5')).json.data, { id: 5, v: 77 });
  await assertTidy(server, `late${count}`);
});

test('while demands are on their way, a value that they refuse is taken or a 400, and they hold in the end', async () => {
  const people = { fields: {} };
  const before = {
    entities: {
      notes: {
        fields: {
          length: { type: 'string' },
          must: { type: 'string' },
          size: { type: 'integer', max: 9 },
          personId: { type: 'bigint' },
        },
      },
      people,
    },
  };
  const asked = {
    entities: {
      notes: {
        fields: {
          length: { type: 'string', maxLength: 3 },
          must: { type: 'string', required: true },
          size: { type: 'integer', max: 5 },
        },
        relations: { person: { kind: 'belongsTo', entity: 'people' } },
      },
      people,
    },
  };
  const workspace = await workspaceWith(before);
  await workspace.create('notes', [{ length: 'abc', must: 'x', size: 5 }]);
  const { reached, migration } = await applyHeld(server, workspace, asked, {
    table: 'notes',
    async during() {
      for (const body of [
        { length: 'abcd', must: 'x' },
        { must: null },
        { must: 'x', size: 6 },
        { must: 'x', personId: 99 },
        { must: 'fine', size: 5, length: 'abc' },
      ]) {
        const answer = await workspace.call('notes', { method: 'POST', body });
        assert.ok([201, 400].includes(answer.status), answer.text);
        if (answer.status === 201) {
          await workspace.call(`notes/${answer.json.data.id}`, { method: 'DELETE' });
        } else assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
      }
    },
  });
  assert.ok(reached);
  assert.equal(migration.state, 'succeeded', JSON.stringify(migration));
  await assertTidy(server, `late${count}`);
});

const OWNED = {
  entities: {
    people: { fields: { name: { type: 'string' } }, rowRules: [{ column: 'name', claim: 'name' }] },
    notes: {
      fields: { text: { type: 'string' }, owner: { type: 'string' }, secret: { type: 'string' } },
      relations: { person: { kind: 'belongsTo', entity: 'people' } },
      settings: { defaultExpand: ['person'], expandable: ['person'], defaultFields: ['id', 'text', 'person.name'] },
      rowRules: [
        { column: 'owner', claim: 'sub' },
        { column: 'personId', claim: 'person' },
      ],
    },
  },
};

for (const strategy of ['online', 'blocking']) {
  test(`${strategy}: row rules, default expansion and default selection follow what is renamed`, async () => {
    const workspace = await workspaceWith(OWNED);
    await workspace.create('people', [{ name: 'Ada' }, { name: 'Zoe' }]);
    await workspace.create('notes', [
      { text: 'hers', owner: 'ada', secret: 's', personId: 1 },
      { text: 'not hers', owner: 'zoe', personId: 1 },
      { text: 'of another', owner: 'ada', personId: 2 },
    ]);
    const tokenOf = await makeUsers(workspace, issuer);
    const ada = (path: string, body?: Json): Promise<Answer> =>
      workspace.call(path, {
        credential: tokenOf({ sub: 'ada', person: 1, name: 'Ada' }),
        ...(body === undefined ? {} : { method: 'POST', body }),
      });
    const seen = async (entity: string): Promise<Json> => {
      const answer = await ada(entity);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.meta.totalElements, 1);
      return answer.json.data;
    };
    assert.deepEqual(await seen('notes'), [{ id: 1, text: 'hers', person: { name: 'Ada' } }]);

    // Everything gets another name, and the columns of both rules another type or name.
    const renamed = {
      entities: {
        persons: { renamedFrom: 'people', fields: { title: { type: 'text', renamedFrom: 'name' } } },
        pages: {
          renamedFrom: 'notes',
          fields: {
            body: { type: 'text', renamedFrom: 'text' },
            holder: { type: 'enum', values: ['ada', 'zoe'], renamedFrom: 'owner' },
            secret: { type: 'string' },
          },
          relations: { of: { kind: 'belongsTo', entity: 'persons', renamedFrom: 'person' } },
        },
      },
    };
    // While it is made, and with requests that come from before it, nobody sees more.
    let watching = true;
    const watch = (async () => {
      for (; watching; await sleep(2)) {
        for (const entity of ['notes', 'pages']) {
          const answer = await ada(entity);
          if (answer.status === 200)
            assert.deepEqual(
              answer.json.data.map(({ id }: Json) => id),
              [1],
            );
          else assert.ok([404, 503].includes(answer.status), answer.text);
        }
      }
    })();
    const answer = await applySchema(workspace, renamed, `?wait=60&strategy=${strategy}`);
    assert.equal(answer.json.data?.state, 'succeeded', answer.text);
    watching = false;
    await watch;
    assert.deepEqual(await seen('pages'), [{ id: 1, body: 'hers', of: { title: 'Ada' } }]);
    assert.deepEqual((await ada('persons')).json.data, [{ id: 1, title: 'Ada' }]);
    const { pages, persons } = (await workspace.admin('schema')).json.data.entities;
    assert.deepEqual(pages.rowRules, [
      { column: 'holder', claim: 'sub' },
      { column: 'ofId', claim: 'person' },
    ]);
    assert.deepEqual(pages.settings, {
      defaultExpand: ['of'],
      expandable: ['of'],
      defaultFields: ['id', 'body', 'of.title'],
    });
    assert.deepEqual(persons.rowRules, [{ column: 'title', claim: 'name' }]);
    for (const [id, status] of [
      [1, 200],
      [2, 404],
      [3, 404],
    ] as const) {
      assert.equal((await ada(`pages/${id}`)).status, status);
    }
    assert.equal((await ada('pages', { body: 'x', holder: 'zoe', ofId: 1 })).status, 403);
    assert.equal((await ada('pages', { body: 'x' })).status, 201);
    await assertTidy(server, `late${count}`);
  });
}

test('a change of type keeps who sees what', async () => {
  const workspace = await workspaceWith(
    notes({ owner: { type: 'integer' } }, { rowRules: [{ column: 'owner', claim: 'n' }] }),
  );
  await workspace.create('notes', [{ owner: 1 }, { owner: 2 }]);
  const tokenOf = await makeUsers(workspace, issuer);
  for (const type of ['bigint', 'decimal', 'string']) {
    assert.equal((await applySchema(workspace, notes({ owner: { type } }))).json.data.state, 'succeeded');
    const answer = await workspace.call('notes', { credential: tokenOf({ n: type === 'string' ? '1' : 1 }) });
    assert.deepEqual(
      answer.json.data.map(({ id }: Json) => id),
      [1],
      type,
    );
  }
});

for (const [name, after] of [
  ['are silent', ''],
  ['were silent for a while', 'enable trigger all'],
] as const) {
  test(`a change of type fails when its triggers ${name}, as writes went past them`, async () => {
    const workspace = await withTexts({ type: 'text' });
    const schema = await schemaOf(server, workspace);
    const table = `"${schema}".notes`;
    const migration = await whileFilling(workspace, notes({ v: { type: 'integer' } }), async () => {
      // Both stand, and none of the migration's own statements enables them any more.
      const standing = `select count(*)::int4 as n from pg_trigger where tgrelid = '${table}'::regclass and tgname like '~%' and tgenabled = 'A'`;
      while ((await server.database.query(standing))[0]?.n !== 2);
      // The filling gives way between two of its tries.
      await server.database.query(`alter table ${table} disable trigger all`);
      await server.database.query(`update ${table} set v = '4711' where id = 1`);
      if (after !== '') await server.database.query(`alter table ${table} ${after}`);
    });
    assert.equal(migration.state, 'failed', JSON.stringify(migration));
    assert.equal(migration.error.code, 'TRIGGERS_DISABLED');
    assert.equal((await workspace.call('notes/1')).json.data.v, '4711');
    await server.database.query(`alter table ${table} enable trigger all`);
    const again = await applySchema(workspace, notes({ v: { type: 'integer' } }), '?wait=60');
    assert.equal(again.json.data.state, 'succeeded', again.text);
    assert.equal((await workspace.call('notes/1')).json.data.v, 4711);
  });
}
