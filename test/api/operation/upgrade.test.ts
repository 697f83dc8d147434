// Workspaces that the version before has made: what stood beside their tables in `wda` lies in their own schemas from the first
// request on, whichever process it comes to; nothing is done twice, and nobody is refused.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { isCluster, skipOnCluster } from '../../support/citus.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { makeEarlier } from '../../support/earlier-version.ts';
import { type Answer, startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const SKIPPED = skipOnCluster('the version before made no workspaces on a cluster');
const SCHEMA = 'ws1_shop';
const DOCUMENT = { entities: { notes: { fields: { text: { type: 'string', maxLength: 100 } } } } };
const RECORDS = 5500;

let database: TestDatabase;
let servers: TestServer[] = [];
let workspace: TestWorkspace;

before(async () => {
  if (isCluster) return;
  database = await createTestDatabase();
  await start();
  workspace = await (servers[0] as TestServer).workspace('acme/shop', DOCUMENT);
  await database.query(`insert into ${SCHEMA}.notes (text) select 'n' || n from generate_series(1, ${RECORDS}) n`);
});
after(async () => {
  if (isCluster) return;
  await stop();
  await database.drop();
});

async function start(count = 1): Promise<void> {
  for (let n = 0; n < count; n++) servers.push(await startTestServer({}, database));
}
async function stop(): Promise<void> {
  for (const server of servers) await server.stop();
  servers = [];
}

/** By one of the servers, which come and go. */
function call(path: string, options: Parameters<TestWorkspace['call']>[1] = {}, server = 0): Promise<Answer> {
  const to = servers[server] as TestServer;
  return to.call(`/api/v1/acme/shop/${path}`, { credential: workspace.key, ...options });
}
const keyed = (key: string, text: string, server = 0): Promise<Answer> =>
  call('notes', { method: 'POST', headers: { 'idempotency-key': key }, body: { text } }, server);

async function countOf(text: string): Promise<number> {
  const rows = await database.query(`select from ${SCHEMA}.notes where text = $1`, [text]);
  return rows.length;
}

for (const [stage, file] of [
  ['nothing of this version has run', true],
  ['the workspace alone is behind', false],
] as const) {
  test(
    `keys, totals and a migration that died are those of the workspace after the upgrade: ${stage}`,
    SKIPPED,
    async () => {
      const key = `first-${file}`;
      const first = await keyed(key, stage);
      assert.equal(first.status, 201, first.text);
      await stop();
      await makeEarlier(database, SCHEMA, { counted: 'notes', file });
      // A process of before died while it changed a type, and a record was in the way.
      await database.query(`alter table ${SCHEMA}.notes add column "text$9" int4;
create function ${SCHEMA}."notes$text$9$sync"() returns trigger language plpgsql as $$ begin
  insert into wda.migration_conflict (subject, record_id) values ('${SCHEMA}.notes.text$9', new.id); return new; end $$;
create trigger "~inotes$text$9$sync" before insert on ${SCHEMA}.notes for each row execute function ${SCHEMA}."notes$text$9$sync"();
insert into ${SCHEMA}.notes (text) values ('in the way');
insert into wda.migration (workspace_id, state, strategy, steps, document, started_at, made)
select id, 'running', 'online', '[]', document, now(), '[
  {"kind": "sync", "table": "notes", "name": "notes$text$9$sync", "subject": "${SCHEMA}.notes.text$9"},
  {"kind": "column", "table": "notes", "column": "text$9"}]' from wda.workspace`);
      await start(2);
      // Both processes are asked at once, and neither has seen the workspace.
      const answers = await Promise.all([
        keyed(key, stage, 0),
        keyed(key, stage, 1),
        call('notes?size=1', {}, 0),
        call('notes?size=1', {}, 1),
        keyed(`${key}-other`, 'another', 1),
      ]);
      assert.deepEqual(
        answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
        [
          [201, 'true'],
          [201, 'true'],
          [200, null],
          [200, null],
          [201, null],
        ],
      );
      for (const { text } of answers.slice(0, 2)) assert.equal(text, first.text);
      assert.equal(await countOf(stage), 1);
      const installed = await database.query(`select name from ${SCHEMA}."$installed" order by name`);
      assert.deepEqual(
        installed.map(({ name }) => name),
        ['000001-beside-tables', '000002-values-for-records'],
      );
      await until('the total is kept by the workspace', async () => {
        await call('notes?size=1');
        const [row] = await database.query(
          `select ${SCHEMA}."$total_of"('${SCHEMA}.notes'::regclass) as kept, count(*) as n from ${SCHEMA}.notes`,
        );
        return row?.kept === row?.n;
      });
      await until('nothing is left of the migration', async () => {
        const rows = await database.query(
          `select from pg_trigger t join pg_proc p on p.oid = tgfoid
         where tgrelid = '${SCHEMA}.notes'::regclass and not tgisinternal and (p.prosrc ~ 'wda' or p.proname <> '$count_records')`,
        );
        return rows.length === 0;
      });
      assert.equal((await call('notes', { method: 'POST', body: { text: 'not in the way' } })).status, 201);
    },
  );
}

test('a key that a process of the version before takes meanwhile is taken for everybody', SKIPPED, async () => {
  const answer = await keyed('meanwhile', 'meanwhile');
  assert.equal(answer.status, 201);
  await stop();
  await makeEarlier(database, SCHEMA, { file: false });
  const [taken] = await database.query(`delete from wda.idempotency_key where records = $1 returning *`, [
    `[${answer.json.data.id}]`,
  ]);
  assert.ok(taken !== undefined);
  const early = new pg.Client({ connectionString: database.url });
  await early.connect();
  try {
    const { scope, fingerprint, workspace_id, status, etag, location, body, records } = taken;
    const insert = 'insert into wda.idempotency_key (scope, fingerprint, workspace_id) values ($1, $2, $3)';
    await early.query('begin');
    await early.query(insert, [scope, fingerprint, workspace_id]);
    await start();
    // Nobody waits for the process of before.
    assert.equal((await call('notes/1')).status, 200);
    await early.query(
      'update wda.idempotency_key set status = $2, etag = $3, location = $4, body = $5, records = $6 where scope = $1',
      [scope, status, etag, location, body, records],
    );
    await early.query('commit');
    const again = await keyed('meanwhile', 'meanwhile');
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed'), again.text], [201, 'true', answer.text]);
    assert.equal(await countOf('meanwhile'), 1);

    // And the other way round: it finds that somebody has the key.
    assert.equal((await keyed('later', 'later')).status, 201);
    const [own] = await database.query(`select * from ${SCHEMA}."$idempotency_key" order by created_at desc limit 1`);
    await assert.rejects(
      early.query(insert, [own?.scope, own?.fingerprint, workspace_id]),
      (error: pg.DatabaseError) => error.code === '23505' && error.constraint === 'idempotency_key_pkey',
    );
    await early.query('delete from wda.idempotency_key where scope = $1', [scope]);
    const left = await database.query(`select from ${SCHEMA}."$idempotency_key" where scope = $1`, [scope]);
    assert.equal(left.length, 0);
  } finally {
    await early.end();
  }
});
