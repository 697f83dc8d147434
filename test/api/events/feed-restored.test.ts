// The feed of a database that PostgreSQL's own tools have restored: numbers of its transactions are those of another
// server, and readers may be ahead of the backup.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const SCHEMA = { entities: { notes: { fields: { n: { type: 'integer' } }, settings: { changes: 'feed' } } } };

const server = useServer();
const workspace = use(() => server.workspace('acme/restored', SCHEMA));
let schema: string;

prepare(async () => {
  const [row] = await server.database.query(
    `select database_schema as name from wda.workspace where slug = 'restored'`,
  );
  schema = `"${row?.name}"`;
});

const read = (after: string): Promise<Answer> => workspace.call(`notes/_changes?after=${after}`);
const numbers = ({ json }: Answer): number[] => json.data.map(({ record }: { record: { n: number } }) => record.n);

async function startFeed(n: number): Promise<string> {
  await workspace.create('notes', [{ n }]);
  const { cursor } = (await read('now')).json.meta;
  await workspace.create('notes', [{ n: n + 1 }]);
  assert.deepEqual(numbers(await read(cursor)), [n + 1]);
  return cursor;
}

async function checkNewFeed(old: string, n: number): Promise<void> {
  await workspace.create('notes', [{ n }]);
  const expired = await read(old);
  assert.deepEqual([expired.status, expired.json.error.code], [410, 'CURSOR_EXPIRED'], expired.text);
  // Transactions of this server come to the numbers of the other one.
  await server.database.query(
    'do $$ begin for count in 1..220 loop perform pg_current_xact_id(); commit; end loop; end $$',
  );
  const added: number[] = [];
  for (let next = n + 1; next < n + 5; next++) {
    await workspace.create('notes', [{ n: next }]);
    added.push(next);
    assert.deepEqual(numbers(await read('oldest')), added);
  }
}

test('restored to a server that has had fewer transactions: the feed begins anew, and old changes never come again', async () => {
  const old = await startFeed(10);
  await server.database.query(`update ${schema}."$change" set xid = (xid::text::int8 + 200)::text::xid8`);
  await server.database.query(`update ${schema}."$change_position" set xid = (xid::text::int8 + 200)::text::xid8`);
  await server.database.query(`update ${schema}."$change_progress" set seen = '4000000000:4000000000:'`);
  await checkNewFeed(old, 20);
});

test('restored with its records in one transaction, an old change has no version that the record has now', async () => {
  const { data } = (await workspace.call('notes', { method: 'POST', body: { n: 1 } })).json;
  const note = `notes/${data.id}`;
  const settings = { method: 'PUT', body: { changes: 'history' } };
  assert.equal((await workspace.admin('entities/notes/settings', settings)).status, 200);
  const versions = async (): Promise<unknown[]> =>
    (await workspace.call(`${note}/_history`)).json.data.map(({ version }: { version?: string }) => version);
  await workspace.call(note, { method: 'PATCH', body: { n: 2 } });
  const { headers } = await workspace.call(note);
  assert.equal(`"${(await versions())[0]}`, headers.get('etag')?.split('.')[0]);
  await server.database.query(`do $$ begin
    update ${schema}."notes" set n = n; update ${schema}."$change" set at = at;
    update ${schema}."$change_progress" set place = '1/2';
  end $$`);
  assert.deepEqual(await versions(), [undefined, undefined]);
  assert.equal((await read('now')).status, 200);
  assert.deepEqual(await versions(), [undefined, undefined]);
  await workspace.call(note, { method: 'PATCH', body: { n: 3 } });
  assert.match(String((await versions())[0]), /^\d+/);
});

test('restored to another database of the server: cursors that may be ahead of the backup are refused', async () => {
  const old = await startFeed(30);
  await server.database.query(`update ${schema}."$change_progress" set place = '1/2'`);
  await checkNewFeed(old, 40);
});
