// Another version of ICU under the indexes of texts: the server finds out at its start, builds them anew while requests go on,
// and says so to PostgreSQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useDatabase, useServer } from '../../support/resources.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const database = useDatabase();
const server = useServer({}, { database });
const notes = use(() =>
  server.workspace('acme/notes', {
    entities: {
      notes: {
        fields: {
          title: { type: 'string', unique: true, searchable: true },
          text: { type: 'text', index: 'substring' },
          n: { type: 'integer', index: true },
        },
      },
    },
  }),
);

const files = async (): Promise<Record<string, unknown>> => {
  const rows = await database.query(`select c.relname as name, c.relfilenode::text as file from pg_class c
join pg_namespace n on n.oid = c.relnamespace join wda.workspace w on w.database_schema = n.nspname
where c.relkind = 'i' and c.relname like 'notes$%' order by 1`);
  return Object.fromEntries(rows.map(({ name, file }) => [name as string, file]));
};

const version = async (): Promise<{ stored?: string; actual?: string }> => {
  const [row] = await database.query(`select collversion as stored, pg_collation_actual_version(oid) as actual
from pg_collation where collname = 'und-x-icu'`);
  return row as { stored: string; actual: string };
};

const forge = (): Promise<unknown> =>
  database.query(`update pg_collation set collversion = '1.0' where collname = 'und-x-icu'`);

test('indexes of texts are built anew, and no others', async () => {
  await notes.create('notes', [{ title: 'Ärger', text: 'ein Text', n: 1 }]);
  const before = await files();
  await forge();
  const later = await startTestServer({}, database);
  await until('PostgreSQL knows the version', async () => {
    const { stored, actual } = await version();
    return stored === actual;
  });
  const now = await files();
  const rebuilt = Object.keys(before).filter((name) => before[name] !== now[name]);
  assert.deepEqual(Object.keys(now), Object.keys(before));
  assert.deepEqual(
    rebuilt,
    Object.keys(before).filter((name) => /title|text/.test(name)),
  );
  assert.ok(rebuilt.length >= 3);
  assert.equal((await notes.call('notes', { method: 'POST', body: { title: 'Ärger' } })).status, 409);
  await later.stop();
});

test('what a process has left that was killed in the middle goes first', async () => {
  const [row] = await database.query('select database_schema as schema from wda.workspace');
  await database.query(`create index "notes$title$uq_ccnew" on ${row?.schema}.notes (title)`);
  await database.query(
    `update pg_index set indisvalid = false where indexrelid = '${row?.schema}."notes$title$uq_ccnew"'::regclass`,
  );
  await forge();
  const later = await startTestServer({}, database);
  await until('it is gone', async () => !('notes$title$uq_ccnew' in (await files())));
  await until('PostgreSQL knows the version', async () => (await version()).stored !== '1.0');
  await later.stop();
});
