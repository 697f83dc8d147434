// Imports and exports under which credentials, rules, the schema and the names in PostgreSQL change.
import assert from 'node:assert/strict';
import type { ClientRequest } from 'node:http';
import { request } from 'node:http';
import { describe, test } from 'node:test';
import pg from 'pg';
import { isWaiting } from '../../support/database.ts';
import { useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { answerOf, CSV, until } from '../../support/transfer-faults.ts';

const SCHEMA = {
  entities: {
    pairs: { fields: { left: { type: 'string' }, right: { type: 'string' } } },
    others: { fields: { name: { type: 'string' } } },
  },
};

let workspace: TestWorkspace;
let tables: string;
let id: string;
let count = 0;
const server = useServer();

async function freshWorkspace(): Promise<void> {
  const slug = `changes-${++count}`;
  workspace = await server.workspace(`acme/${slug}`, SCHEMA);
  const [row] = await server.database.query('select id, database_schema from wda.workspace where slug = $1', [slug]);
  tables = `"${row?.database_schema}"`;
  id = String(row?.id);
}

/** An import whose file has begun to arrive: its plan is made, its staging table is there. */
async function begin(text: string, key = workspace.key): Promise<{ sent: ClientRequest; answered: Promise<Answer> }> {
  const sent = request(`${server.url}/api/v1/${workspace.path}/pairs/_import`, {
    method: 'POST',
    headers: { ...CSV, authorization: `Bearer ${key}` },
  });
  sent.on('error', () => undefined);
  const answered = answerOf(sent);
  sent.write(text);
  await until('the import copies', async () => {
    const rows = await server.database.query(
      `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like 'copy %'`,
    );
    return rows.length > 0;
  });
  return { sent, answered };
}

/** Exchanges the columns of the two fields in PostgreSQL, as a migration that gives columns the names of their fields. */
const exchange = (): string[] => [
  `alter table ${tables}.pairs rename column "left" to "left$1"`,
  `alter table ${tables}.pairs rename column "right" to "left"`,
  `alter table ${tables}.pairs rename column "left$1" to "right"`,
  `update wda.workspace set version = version + 1,
    names = '{"tables": {}, "columns": {"pairs": {"left": "right", "right": "left"}}}' where id = ${id}`,
];

/** A transaction beside the server that has done this much. */
async function transaction(...statements: string[]): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  for (const statement of ['begin', ...statements]) await client.query(statement);
  return client;
}

async function end(client: pg.Client, how: 'commit' | 'rollback' = 'commit'): Promise<void> {
  await client.query(how);
  await client.end();
}

async function records(): Promise<unknown> {
  return (await workspace.call('pairs?fields=left,right')).json.data;
}

describe('an import', () => {
  test('whose key is deleted while the file arrives is refused, and imports nothing', async () => {
    await freshWorkspace();
    const made = await workspace.admin('api-keys', { method: 'POST', body: { name: 'leaving' } });
    const { key, id: keyId } = made.json.data;
    const { sent, answered } = await begin('left,right\nl,r\n', key);
    assert.equal((await workspace.admin(`api-keys/${keyId}`, { method: 'DELETE' })).status, 204);
    sent.end('m,s\n');
    const answer = await answered;
    assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(await records(), []);
  });

  test('goes on when something else of the workspace changes', async () => {
    await freshWorkspace();
    const { sent, answered } = await begin('left,right\nl,r\n');
    await workspace.admin('api-keys', { method: 'POST', body: { name: 'another' } });
    const schema = { entities: { ...SCHEMA.entities, others: { fields: { name: { type: 'text' } } } } };
    assert.equal((await workspace.admin('schema', { method: 'PUT', body: schema })).status, 200);
    sent.end('m,s\n');
    const answer = await answered;
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.data, { inserted: 2, updated: 0, skipped: 0 });
  });

  test('never writes a column by a name that it had before', async () => {
    await freshWorkspace();
    const { sent, answered } = await begin('left,right\nl,r\n');
    await end(await transaction(...exchange()));
    sent.end('m,s\n');
    const answer = await answered;
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await records(), [
      { left: 'l', right: 'r' },
      { left: 'm', right: 's' },
    ]);
  });

  test('that brings ids follows a table to its other name', async () => {
    await freshWorkspace();
    const { sent, answered } = await begin('id,left,right\n500,l,r\n');
    await end(
      await transaction(
        `alter table ${tables}.pairs rename to couples`,
        `update wda.workspace set version = version + 1, names = '{"tables": {"pairs": "couples"}, "columns": {}}' where id = ${id}`,
      ),
    );
    sent.end();
    const answer = await answered;
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await records(), [{ left: 'l', right: 'r' }]);
    assert.equal((await workspace.create('pairs', [{ left: 'm' }]))[0].id, 501);
  });

  test('waits for a change of names that is under way, and follows it', async () => {
    await freshWorkspace();
    const { sent, answered } = await begin('left,right\nl,r\n');
    const other = await transaction(...exchange());
    sent.end('m,s\n');
    await until('the import waits', () => isWaiting(server.database, 'lock table%'));
    await end(other);
    assert.equal((await answered).status, 200);
    assert.deepEqual(await records(), [
      { left: 'l', right: 'r' },
      { left: 'm', right: 's' },
    ]);
  });

  test('whose rows were read by another schema imports nothing, and says so', async () => {
    await freshWorkspace();
    const { sent, answered } = await begin('left,right\nl,r\n');
    const pairs = { fields: { left: { type: 'string', maxLength: 5 }, right: { type: 'string' } } };
    const schema = { entities: { ...SCHEMA.entities, pairs } };
    assert.equal((await workspace.admin('schema', { method: 'PUT', body: schema })).status, 200);
    sent.end('longer than five,s\n');
    const answer = await answered;
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.json.error.code, 'SERVICE_UNAVAILABLE');
    assert.match(answer.json.error.message, /nothing was imported/);
    assert.equal(answer.json.retryAfterSeconds, 1);
    assert.deepEqual(await records(), []);
  });

  test('whose key is deleted while it is written is undone', async () => {
    await freshWorkspace();
    const unique = { fields: { left: { type: 'string', unique: true }, right: { type: 'string' } } };
    const schema = { entities: { ...SCHEMA.entities, pairs: unique } };
    assert.equal((await workspace.admin('schema', { method: 'PUT', body: schema })).status, 200);
    const made = await workspace.admin('api-keys', { method: 'POST', body: { name: 'leaving' } });
    const { key, id: keyId } = made.json.data;
    const other = await transaction(`insert into ${tables}.pairs ("left") values ('l')`);
    const { sent, answered } = await begin('left,right\nl,r\n', key);
    sent.end();
    await until('the import waits', () => isWaiting(server.database, 'with inserted%'));
    assert.equal((await workspace.admin(`api-keys/${keyId}`, { method: 'DELETE' })).status, 204);
    await end(other, 'rollback');
    const answer = await answered;
    assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(await records(), []);
  });
});

describe('an export', () => {
  test('that met a change of names tells each field by its name', async () => {
    await freshWorkspace();
    await workspace.create('pairs', [{ left: 'l', right: 'r' }]);
    const other = await transaction(...exchange());
    const exporting = workspace.call('pairs/_export?fields=left,right&filter=left,eq,l');
    await until('the export waits', () => isWaiting(server.database, '%select%pairs%'));
    await end(other);
    const answer = await exporting;
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.text, 'left,right\nl,r\n');
  });
});
