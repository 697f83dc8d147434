// Search indexes and indexes of parts of texts that come and go, and what they ask of the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findExtensions } from '../../src/migrations/extensions.ts';
import type { SchemaDocument } from '../../src/schema/format.ts';
import { createTestDatabase } from '../support/database.ts';
import { applySchema, type Json, settled } from '../support/migration.ts';
import { type OperationCase, proveBlocking, proveOnline } from '../support/operation-proof.ts';
import { useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';

const server = useServer();

const TEXT = { type: 'text' };
const FOUND = { ...TEXT, searchable: true };
const notes = (fields: Json, more: Json = {}): Json => ({ entities: { notes: { fields, ...more } } });
const write = (n: number): Json => ({ title: `Ann ${n}`, body: n % 5 === 0 ? null : `lée ${'x'.repeat(n % 50)}` });

const CASES: readonly OperationCase[] = [
  {
    name: 'a field that becomes searchable',
    before: notes({ title: TEXT, body: TEXT }),
    after: notes({ title: FOUND, body: TEXT }),
    write,
    middle: 'snapshot',
  },
  {
    name: 'another searchable field, in another language, with an index of its parts',
    before: notes({ title: FOUND, body: TEXT }),
    after: notes({ title: FOUND, body: { ...FOUND, index: 'substring' } }, { searchLanguage: 'english' }),
    write,
    middle: 'snapshot',
  },
  {
    name: 'searchable fields, of which one goes and one has another name',
    before: notes({ title: FOUND, body: FOUND, more: FOUND }),
    after: notes({ body: FOUND, heading: { ...FOUND, renamedFrom: 'title' } }),
    write,
    writeAfter: (n) => ({ heading: write(n).title, body: write(n).body }),
    shows: ({ title, body }) => ({ heading: title, body }),
    refusals: ['VALIDATION_FAILED', 'BAD_REQUEST'],
    middle: 'snapshot',
  },
  {
    name: 'a searchable field that changes its type',
    before: notes({ title: FOUND, body: TEXT, code: { type: 'integer' } }),
    after: notes({ title: FOUND, body: TEXT, code: { ...FOUND, index: 'substring' } }),
    write: (n) => ({ ...write(n), code: n }),
    writeAfter: (n) => ({ ...write(n), code: String(n) }),
    shows: ({ title, body, code }) => ({ title, body, code: String(code) }),
    refusals: ['VALIDATION_FAILED'],
    middle: 'notes',
  },
  {
    name: 'indexes of texts that go',
    before: notes({ title: FOUND, body: { ...TEXT, index: 'substring' } }),
    after: notes({ title: TEXT, body: TEXT }),
    write,
    middle: null,
  },
];
for (const one of CASES) test(`online: ${one.name}`, () => proveOnline(server, one));
for (const one of CASES.slice(1, 4)) test(`at once: ${one.name}`, () => proveBlocking(server, one));

test('a language that the database does not know is refused with those that it knows', async () => {
  const asked = notes({ title: FOUND }, { searchLanguage: 'klingon' });
  const workspace = await server.workspace('acme/languages', notes({ title: FOUND }));
  const refused = await applySchema(workspace, asked);
  assert.equal(refused.status, 400, refused.text);
  const [detail] = refused.json.error.details;
  assert.equal(detail.field, 'entities.notes.searchLanguage');
  assert.match(detail.message, /^there is no configuration klingon .* Known: .*english.*german.*simple/);
  const made = await server.call('/api/admin/v1/organizations/acme/workspaces', {
    credential: ADMIN_KEY,
    method: 'POST',
    body: { slug: 'klingons', schema: asked },
  });
  assert.deepEqual(
    made.json.error.details,
    refused.json.error.details.map((one: Json) => ({ ...one, field: `schema.${one.field}` })),
  );
});

test('the extensions stay when the workspace goes that they were made for', async () => {
  await server.workspace('acme/first', notes({ title: { ...FOUND, index: 'substring' } }));
  const other = await server.workspace('acme/second', notes({ title: { ...FOUND, index: 'substring' } }));
  const gone = await server.call('/api/admin/v1/organizations/acme/workspaces/first?confirm=first', {
    credential: ADMIN_KEY,
    method: 'DELETE',
  });
  assert.equal(gone.status, 204, gone.text);
  const rows = await server.database.query(
    "select extname, nspname from pg_extension e join pg_namespace n on n.oid = extnamespace where extname in ('pg_trgm', 'unaccent') order by 1",
  );
  assert.deepEqual(rows, [
    { extname: 'pg_trgm', nspname: 'wda' },
    { extname: 'unaccent', nspname: 'wda' },
  ]);
  const [record] = await other.create('notes', [{ title: 'Zoë' }]);
  assert.equal(record?.title, 'Zoë');
});

test('extensions that the server may not create are named with the command that creates them', async () => {
  const database = await createTestDatabase();
  try {
    const session = {
      query: (query: { text: string; values: readonly unknown[] }) => database.query(query.text, [...query.values]),
    };
    const asked = notes({ title: FOUND, body: { ...TEXT, index: 'substring' } }) as SchemaDocument;
    await database.query('create role clerk');
    await database.query('set role clerk');
    // biome-ignore lint/suspicious/noExplicitAny: rows of any form
    await assert.rejects(findExtensions(session as any, asked), (error: Json) => {
      assert.deepEqual(error.details, [
        {
          field: 'entities.notes.fields.title.searchable',
          code: 'INVALID',
          message:
            'needs the extension unaccent, which the server may not create: run in the database, as a superuser: create extension unaccent schema wda',
        },
        {
          field: 'entities.notes.fields.body.index',
          code: 'INVALID',
          message:
            'needs the extension pg_trgm, which the server may not create: run in the database, as a superuser: create extension pg_trgm schema wda',
        },
      ]);
      return true;
    });
    // biome-ignore lint/suspicious/noExplicitAny: rows of any form
    assert.deepEqual(await findExtensions(session as any, notes({ title: TEXT }) as SchemaDocument), {
      trigrams: 'wda',
    });
    await database.query('reset role');
    await database.query('create schema elsewhere');
    await database.query('create extension pg_trgm schema elsewhere');
    // biome-ignore lint/suspicious/noExplicitAny: rows of any form
    assert.deepEqual(await findExtensions(session as any, asked), { trigrams: 'elsewhere' });
  } finally {
    await database.query('reset role');
    await database.query('drop role if exists clerk');
    await database.drop();
  }
});

test('a record of any length can be written', async () => {
  const workspace = await server.workspace(
    'acme/long',
    notes({ title: FOUND, body: { ...FOUND, index: 'substring' } }),
  );
  const different = Array.from({ length: 120_000 }, (_, n) => n.toString(36)).join(' ');
  const texts = [
    'x'.repeat(900_000),
    different,
    '\u{1F600} '.repeat(200_000),
    '½…㎨'.repeat(90_000),
    '\\\'" <b> & -'.repeat(9000),
  ];
  const bodies = texts.flatMap((text) => [{ title: text }, { body: text }]);
  for (const body of bodies) {
    const answer = await workspace.call('notes', { method: 'POST', body });
    assert.equal(answer.status, 201, answer.text.slice(0, 300));
  }
});

test('names settle with their indexes', async () => {
  const workspace = await server.workspace(
    'acme/settles',
    notes({ title: FOUND, body: { ...FOUND, index: 'substring' } }),
  );
  await workspace.create('notes', [{ title: 'a', body: 'b' }]);
  const asked = notes({
    heading: { ...FOUND, renamedFrom: 'title' },
    words: { ...FOUND, index: 'substring', renamedFrom: 'body' },
  });
  const answer = await applySchema(workspace, asked, '?wait=60');
  assert.equal(answer.json.data?.state, 'succeeded', answer.text);
  await settled(server, 'settles');
});
