// Changes are removed when their time is over or when they are too many bytes; cursors before them are refused, history
// stays for its days, and notes and dropped entities go with their changes.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { makeLoadChangedWorkspaces } from '../../../src/store/workspaces.ts';
import { makeChangeRetention, type RetentionLimits } from '../../../src/workspace-schema/change-retention.ts';
import { openDatabase } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';

const FIELDS = { text: { type: 'text' }, old: { type: 'text' } };
const SCHEMA = {
  entities: {
    notes: { fields: FIELDS, settings: { changes: 'feed' } },
    papers: { fields: FIELDS, settings: { changes: 'history', historyDays: 30 } },
    drafts: { fields: FIELDS, settings: { changes: 'history' } },
  },
};
const LIMITS: RetentionLimits = { hours: 24, maxBytes: 1e9, historyDays: 365 };

const server = useServer();
const db = use(
  async () => openDatabase(server.database.url),
  (database) => database.close(),
);
let count = 0;
let shop: TestWorkspace;
let schema: string;

async function makeShop(): Promise<void> {
  const slug = `kept${count++}`;
  shop = await server.workspace(`acme/${slug}`, SCHEMA);
  const [row] = await server.database.query(`select database_schema from wda.workspace where slug = '${slug}'`);
  schema = String(row?.database_schema);
}

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const create = async (entity: string, text: string): Promise<number> =>
  ok(await shop.call(entity, { method: 'POST', body: { text } })).data.id;
const listTexts = async (path: string): Promise<unknown[]> =>
  ok(await shop.call(`${path}&size=1000`)).data.map((event: { record?: { text: string } }) => event.record?.text);
const sweep = (limits: Partial<RetentionLimits> = {}): Promise<void> =>
  makeChangeRetention(db, makeLoadChangedWorkspaces(db), { ...LIMITS, ...limits }).sweep();
const age = (entity: string, hours: number): Promise<unknown> =>
  server.database.query(`update "${schema}"."$change" set at = now() - interval '${hours} hours'
    where entity = (select number from "${schema}"."$changed_entity" where relation = '${entity}')`);
const countRows = async (table: string): Promise<number> =>
  Number((await server.database.query(`select count(*) from "${schema}"."${table}"`))[0]?.count);

test('changes go after their hours, and cursors before them are refused', async () => {
  await makeShop();
  const start = ok(await shop.call('notes/_changes')).meta.cursor;
  const id = await create('notes', 'a');
  const behind = ok(await shop.call(`notes/_changes?after=${start}`)).meta.cursor;
  await create('papers', 'paper');
  await age('notes', 25);
  await create('notes', 'b');
  await sweep();
  assert.deepEqual(await listTexts('notes/_changes?after=oldest'), ['b']);
  assert.deepEqual(await listTexts(`notes/_changes?after=${behind}`), ['b']);
  const refused = await shop.call(`notes/_changes?after=${start}`);
  assert.deepEqual([refused.status, refused.json.error.code], [410, 'CURSOR_EXPIRED']);
  assert.match(refused.json.oldest, /Z$/);
  const restart = refused.json.restart.replace(`/api/v1/${shop.path}/`, '');
  assert.equal((await shop.call(restart)).status, 200);
  await age('notes', 25);
  await age('papers', 25);
  await sweep();
  assert.deepEqual(await listTexts('_changes?after=oldest'), []);
  // History has no feed any more, and is there.
  assert.equal(await countRows('$change'), 1);
  assert.equal(await countRows('$change_position'), 1);
  const last = ok(await shop.call('notes/_changes')).meta.cursor;
  ok(await shop.call(`notes/${id}`, { method: 'PATCH', body: { text: 'c' } }));
  assert.deepEqual(await listTexts(`notes/_changes?after=${last}`), ['c']);
});

test('history stays for the days of its entity, and no longer when it is history no more', async () => {
  await makeShop();
  await create('papers', 'p1');
  await create('drafts', 'd1');
  await age('papers', 29 * 24);
  await age('drafts', 31 * 24);
  await sweep();
  assert.equal(await countRows('$change'), 2);
  await age('papers', 31 * 24);
  await sweep();
  assert.equal(await countRows('$change'), 1);
  await sweep({ historyDays: 30 });
  assert.equal(await countRows('$change'), 0);
  await create('papers', 'p2');
  await age('papers', 25);
  await sweep();
  assert.equal(await countRows('$change'), 1);
  ok(await shop.admin('entities/papers/settings', { method: 'PUT', body: { changes: 'feed' } }));
  await sweep();
  assert.equal(await countRows('$change'), 0);
  assert.equal(await countRows('$change_position'), 0);
});

test('beyond the bytes of a workspace the oldest changes go, and history does not count', async () => {
  await makeShop();
  const big = (): string => randomBytes(45_000).toString('base64');
  for (let n = 0; n < 40; n++) await create('papers', big());
  await sweep({ maxBytes: 1_048_576 });
  assert.equal(ok(await shop.call('papers/_changes?after=oldest&size=1000')).data.length, 40);
  let last = 0;
  for (let n = 0; n < 40; n++) last = await create('notes', big());
  await sweep({ maxBytes: 1_048_576 });
  const kept = ok(await shop.call('notes/_changes?after=oldest&size=1000')).data.length;
  assert.ok(kept >= 10 && kept <= 20, String(kept));
  const events = ok(await shop.call('notes/_changes?after=oldest&size=1000')).data;
  assert.equal(events.at(-1).recordId, last);
  assert.equal(await countRows('$change'), 40 + kept);
});

test('changes that nobody has read go, too, and a transaction that is open keeps its own', async () => {
  await makeShop();
  await create('notes', 'a');
  const client = openDatabase(server.database.url);
  try {
    await client.transaction(async (session) => {
      await session.execute(`insert into "${schema}".notes (text) values ('open')`);
      await age('notes', 25);
      await sweep();
      assert.equal(await countRows('$change'), 0);
    });
    assert.deepEqual(await listTexts('notes/_changes?after=oldest'), ['open']);
  } finally {
    await client.close();
  }
});

test('notes of columns and dropped entities go with their changes', async () => {
  await makeShop();
  await create('notes', 'a');
  const { notes, drafts } = SCHEMA.entities;
  const fields = { text: notes.fields.text };
  const body = { entities: { notes: { ...notes, fields }, drafts } };
  const { json } = await shop.admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body });
  assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
  await sweep();
  assert.deepEqual([await countRows('$changed_column'), await countRows('$changed_entity')], [1, 3]);
  await server.database.query(`update "${schema}"."$change" set at = now() - interval '25 hours'`);
  await sweep();
  assert.deepEqual([await countRows('$changed_column'), await countRows('$changed_entity')], [0, 2]);
});

test('a reader beside the removal is refused or has everything', async () => {
  await makeShop();
  for (let n = 0; n < 30; n++) await create('notes', String(n));
  const start = ok(await shop.call('notes/_changes?after=oldest&size=1')).meta.cursor;
  await age('notes', 25);
  const reads = Array.from({ length: 12 }, () => shop.call(`notes/_changes?after=${start}&size=100`));
  const [answers] = await Promise.all([Promise.all(reads), sweep()]);
  for (const { status, json } of answers) {
    if (status === 410) continue;
    assert.equal(status, 200);
    assert.equal(json.data.length, 29);
  }
});
