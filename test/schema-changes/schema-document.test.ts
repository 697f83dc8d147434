// The schema document: read, planned, applied; what is refused, what fails, and what the records say to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../support/server.ts';

let count = 0;
const server = useServer();

const NOTES = { entities: { notes: { fields: { text: { type: 'string' }, rank: { type: 'integer' } } } } };

const workspaceWith = (schema: unknown): Promise<TestWorkspace> => server.workspace(`acme/w${++count}`, schema);

async function withRecords(records = 3): Promise<TestWorkspace> {
  const workspace = await workspaceWith(NOTES);
  await workspace.create(
    'notes',
    Array.from({ length: records }, (_, n) => ({ text: `t${n % 2}`, rank: n })),
  );
  return workspace;
}

const put = (workspace: TestWorkspace, body: unknown, query = '', call: Call = {}): Promise<Answer> =>
  workspace.admin(`schema${query}`, { method: 'PUT', body, ...call });
const plan = (workspace: TestWorkspace, body: unknown): Promise<Answer> =>
  workspace.admin('schema/plan', { method: 'POST', body });
const schemaOf = async (workspace: TestWorkspace): Promise<Json> => (await workspace.admin('schema')).json.data;
const kinds = ({ json }: Answer): string[] => json.data.steps.map((step: Json) => `${step.kind} ${step.entity}`);
const details = ({ json }: Answer): string[] =>
  json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

/** The notes with more fields. */
const notes = (fields: unknown, more: unknown = {}): Json => ({
  entities: { notes: { fields: { ...NOTES.entities.notes.fields, ...(fields as object) }, ...(more as object) } },
});

async function succeeds(answer: Answer): Promise<Json> {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.data.state, 'succeeded', answer.text);
  assert.equal(answer.json.data.error, null);
  return answer.json.data;
}

test('the JSON Schema of documents is served to everybody', async () => {
  const answer = await server.call('/api/admin/v1/schema.json');
  assert.equal(answer.status, 200);
  assert.equal(answer.json.$schema, 'http://json-schema.org/draft-07/schema#');
  assert.equal(answer.json.additionalProperties, false);
  assert.ok(answer.json.properties.entities.additionalProperties.properties.rowRules);
});

test('the document in force is read as it was written: order, digits and all', async () => {
  const text =
    '{"entities":{"zebra":{"fields":{"z":{"type":"bigint","default":9007199254740993},"a":{"type":"json","default":{"b":1,"a":1.10}}}},"ant":{}}}';
  const workspace = await workspaceWith({ entities: {} });
  await succeeds(await put(workspace, text, '', { headers: { 'content-type': 'application/json' } }));
  assert.equal((await workspace.admin('schema')).text, `{"data":${text}}`);
  const created = await workspace.call('zebra', { method: 'POST', body: {} });
  assert.match(created.text, /"z": ?9007199254740993/);
  assert.match(created.text, /"a": ?1\.10/);
});

test('a new entity, field, relation and index are there as soon as the change has ended', async () => {
  const workspace = await withRecords();
  const answer = await put(workspace, {
    entities: {
      notes: {
        fields: {
          text: { type: 'string', index: true },
          rank: { type: 'integer', unique: true },
          colour: { type: 'enum', values: ['red', 'blue'], required: true, default: 'red' },
        },
        relations: {
          author: { kind: 'belongsTo', entity: 'people' },
          parent: { kind: 'belongsTo', entity: 'notes' },
        },
        indexes: [{ fields: ['text', 'colour'] }],
        timestamps: true,
      },
      people: {
        fields: { name: { type: 'string' } },
        relations: { notes: { kind: 'hasMany', entity: 'notes', inverse: 'author' } },
      },
    },
  });
  const migration = await succeeds(answer);
  assert.deepEqual(kinds(answer), [
    'addField notes',
    'addRelation notes',
    'addRelation notes',
    'addField notes',
    'addField notes',
    'addIndex notes',
    'addIndex notes',
    'addUnique notes',
    'addIndex notes',
    'addIndex notes',
    'createEntity people',
  ]);
  assert.ok(migration.steps.every((step: Json) => step.state === 'succeeded' && step.progress === 1));
  assert.deepEqual(Object.keys(migration.steps[0]), [
    'entity',
    'kind',
    'description',
    'destructive',
    'blocksReads',
    'blocksWrites',
    'estimatedSeconds',
    'conflicts',
    'state',
    'progress',
    'records',
  ]);
  // Not as texts: one of a whole second has no milliseconds.
  const [created, started, finished] = ['createdAt', 'startedAt', 'finishedAt'].map((at) => Date.parse(migration[at]));
  assert.deepEqual(
    [created, started, finished].toSorted((a = 0, b = 0) => a - b),
    [created, started, finished],
  );

  const [person] = await workspace.create('people', [{ name: 'Ann' }]);
  const record = (await workspace.call('notes/1', { method: 'PUT', body: { authorId: person.id } })).json.data;
  assert.equal(record.colour, 'red');
  assert.equal(record.parentId, null);
  assert.match(record.createdAt, /Z$/);
  const expanded = (await workspace.call('notes/1?expand=author.notes,parent')).json.data;
  assert.equal(expanded.author.notes[0].id, 1);
  assert.equal(expanded.parent, null);
  const again = await workspace.call('notes', { method: 'POST', body: { rank: 0 } });
  assert.deepEqual([again.status, details(again)], [409, ['rank NOT_UNIQUE']]);
  const dangling = await workspace.call('notes', { method: 'POST', body: { authorId: 99 } });
  assert.deepEqual([dangling.status, details(dangling)], [400, ['authorId REFERENCE_NOT_FOUND']]);
});

test('the plan says what would happen and changes nothing', async () => {
  const workspace = await withRecords(12);
  const document = notes({ text: { type: 'string', unique: true }, must: { type: 'date', required: true } });
  const before = (await workspace.admin('schema')).text;
  const answer = await plan(workspace, document);
  assert.equal(answer.status, 200, answer.text);
  const { basedOn, ...planned } = answer.json.data;
  assert.equal((await workspace.admin('schema')).headers.get('etag'), `"${basedOn}"`);
  assert.deepEqual(planned, {
    steps: [
      {
        entity: 'notes',
        kind: 'addField',
        description: 'add field must to notes, which must have no records',
        destructive: false,
        blocksReads: false,
        blocksWrites: false,
        estimatedSeconds: 0,
        conflicts: { count: 12, sampleIds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
      },
      {
        entity: 'notes',
        kind: 'addUnique',
        description: 'make text of notes unique',
        destructive: false,
        blocksReads: false,
        blocksWrites: false,
        estimatedSeconds: 1,
        conflicts: { count: 12, sampleIds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
      },
    ],
    destructive: false,
  });
  assert.equal((await workspace.admin('schema')).text, before);
  assert.deepEqual((await workspace.admin('migrations')).json.data, []);
  const drop = await plan(workspace, { entities: {} });
  assert.equal(drop.json.data.destructive, true);
});

test('records in the way fail the migration, with their number and ids, and nothing has changed', async () => {
  const workspace = await withRecords();
  const before = (await workspace.admin('schema')).text;
  const tries: readonly [Json, string, number, number[]][] = [
    [notes({ text: { type: 'string', unique: true }, extra: { type: 'string', index: true } }), 'text', 2, [1, 3]],
    [notes({ must: { type: 'date', required: true } }), 'must', 3, [1, 2, 3]],
    [notes({ same: { type: 'integer', default: 1, unique: true } }), 'same', 3, [1, 2, 3]],
  ];
  for (const [document, field, records, sampleIds] of tries) {
    const answer = await put(workspace, document);
    assert.equal(answer.status, 200, answer.text);
    const { state, error, steps } = answer.json.data;
    assert.equal(state, 'failed');
    const { message, ...rest } = error;
    assert.deepEqual(rest, { code: 'DATA_CONFLICT', entity: 'notes', field, count: records, sampleIds });
    assert.match(message, new RegExp(`^${records} records stand in the way in notes: `));
    const failed = steps.filter((step: Json) => step.state === 'failed');
    assert.deepEqual(
      failed.map((step: Json) => step.conflicts),
      [{ count: records, sampleIds }],
    );
    assert.ok(steps.every((step: Json) => step.state === 'failed' || step.state === 'cancelled'));
    assert.equal((await workspace.admin('schema')).text, before);
  }
  const columns = await server.database.query(
    `select column_name as name from information_schema.columns where table_schema like '%_w${count}' and table_name = 'notes' order by 1`,
  );
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['id', 'rank', 'text'],
  );
  await workspace.call('notes/3', { method: 'DELETE' });
  await succeeds(await put(workspace, notes({ text: { type: 'string', unique: true } })));
});

test('dropping needs allowDestructive, and the refusal names all that would go', async () => {
  const workspace = await workspaceWith({
    entities: {
      notes: { fields: { text: { type: 'text' } }, relations: { tag: { kind: 'belongsTo', entity: 'tags' } } },
      tags: { relations: { notes: { kind: 'hasMany', entity: 'notes', inverse: 'tag' } } },
      old: { relations: { self: { kind: 'belongsTo', entity: 'old' }, tag: { kind: 'belongsTo', entity: 'tags' } } },
    },
  });
  await workspace.create('tags', [{}]);
  await workspace.create('old', [{ tagId: 1 }]);
  const document = { entities: { notes: {}, tags: {} } };
  for (const query of ['', '?allowDestructive=false']) {
    const refused = await put(workspace, document, query);
    assert.equal(refused.status, 409);
    assert.equal(refused.json.error.code, 'DESTRUCTIVE_CHANGE');
    assert.deepEqual(details(refused).sort(), [
      'entities.notes.fields.text DESTRUCTIVE',
      'entities.notes.relations.tag DESTRUCTIVE',
      'entities.old DESTRUCTIVE',
      'entities.tags.relations.notes DESTRUCTIVE',
    ]);
  }
  assert.equal((await workspace.call('old/1')).status, 200);
  await succeeds(await put(workspace, document, '?allowDestructive=true'));
  assert.equal((await workspace.call('old/1')).status, 404);
  assert.deepEqual((await workspace.call('notes', { method: 'POST', body: {} })).json.data, { id: 1 });
  assert.deepEqual(await schemaOf(workspace), document);
});

test('changes of type that no record survives are refused one by one, and nothing happens', async () => {
  const workspace = await workspaceWith({
    entities: { notes: { fields: { day: { type: 'date' }, done: { type: 'boolean' }, rank: { type: 'integer' } } } },
  });
  await workspace.create('notes', [{ day: '2026-01-31', done: true, rank: 1 }]);
  const before = (await workspace.admin('schema')).text;
  const asked = (more: unknown = {}): Json => ({
    entities: {
      notes: {
        fields: {
          day: { type: 'boolean' },
          due: { type: 'uuid', renamedFrom: 'done', required: true },
          rank: { type: 'text' },
        },
        ...(more as object),
      },
      more: {},
    },
  });
  for (const query of ['', '?strategy=blocking']) {
    const answer = await put(workspace, asked(), query);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
    assert.deepEqual(details(answer), [
      'entities.notes.fields.day.type UNSUPPORTED_CHANGE',
      'entities.notes.fields.due.type UNSUPPORTED_CHANGE',
    ]);
    // A document with mistakes is told those first.
    const mistaken = await put(workspace, asked({ indexes: [{ fields: ['nope'] }] }), query);
    assert.deepEqual(
      [mistaken.status, details(mistaken)],
      [400, ['entities.notes.indexes.0.fields.0 REFERENCE_NOT_FOUND']],
    );
  }
  assert.deepEqual((await workspace.admin('migrations')).json.data, []);
  assert.equal((await workspace.admin('schema')).text, before);
  assert.deepEqual((await workspace.call('notes/1')).json.data, { id: 1, day: '2026-01-31', done: true, rank: 1 });
  await workspace.call('notes/1', { method: 'DELETE' });
  await succeeds(await put(workspace, asked()));
  const empty = await workspace.call('notes', { method: 'POST', body: { day: true } });
  assert.deepEqual([empty.status, details(empty)], [400, ['due REQUIRED']]);
});

test('a document with mistakes gets them all, from plan and apply alike', async () => {
  const workspace = await workspaceWith(NOTES);
  const wrong = notes({ id: { type: 'string' }, x: { type: 'strin' } }, { settings: { defaultFields: ['nope'] } });
  for (const answer of [await put(workspace, wrong), await plan(workspace, wrong)]) {
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
    assert.deepEqual(details(answer), [
      'entities.notes.fields.id INVALID',
      'entities.notes.fields.x.type NOT_IN_ENUM',
      'entities.notes.settings.defaultFields.0 REFERENCE_NOT_FOUND',
    ]);
  }
});

test('wrong parameters of a change are 400 by name', async () => {
  const workspace = await workspaceWith(NOTES);
  const queries = [
    '?strategy=fast',
    '?wait=61',
    '?wait=-1',
    '?wait=x',
    '?wait=',
    '?allowDestructive=yes',
    '?wait=1&wait=2',
    '?alowDestructive=true',
  ];
  for (const query of queries) {
    const answer = await put(workspace, NOTES, query);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.json.error.code, 'BAD_REQUEST', query);
  }
});

test('a document of 200 entities that all refer to each other is applied and dropped', async () => {
  const workspace = await workspaceWith({ entities: {} });
  const entities = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [
      `e${n}`,
      {
        fields: { name: { type: 'string', unique: true } },
        relations: { next: { kind: 'belongsTo', entity: `e${(n + 1) % 200}` } },
      },
    ]),
  );
  await succeeds(await put(workspace, { entities }, '?wait=60'));
  const [first] = await workspace.create('e0', [{ name: 'x' }]);
  assert.equal(first.id, 1);
  await succeeds(await put(workspace, { entities: {} }, '?allowDestructive=true&wait=60'));
});
