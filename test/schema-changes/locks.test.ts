// Locks that are not free: a migration goes on asking, says whom it waits for, can be cancelled at any time, and keeps
// what it has made ready.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { queryNodes } from '../support/database.ts';
import { applySchema, assertTidy, cancelIsKnown, type Json, schemaOf, settled } from '../support/migration.ts';
import { holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { prepare, useServer } from '../support/resources.ts';
import type { TestServer, TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

let count = 0;
const server = useServer();
prepare(() => prepareHolds(server.database));

const document = (type: string): Json => ({
  entities: { notes: { fields: { text: { type: 'string' }, size: { type } } } },
});

async function workspaceWith(
  records: number,
  on: TestServer = server,
): Promise<{ workspace: TestWorkspace; slug: string; table: string }> {
  const slug = `locks${++count}`;
  const workspace = await on.workspace(`acme/${slug}`, document('string'));
  const table = `"${await schemaOf(on, workspace)}".notes`;
  await on.database.query(
    `insert into ${table} (text, size) select 'x', n::text from generate_series(1, ${records}) n`,
  );
  return { workspace, slug, table };
}

async function clientOf(application: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.database.url, application_name: application });
  await client.connect();
  return client;
}

/** Resolves when a session waits for a lock in a statement that has these words. */
const waitingIn = (words: string): Promise<void> =>
  until(`a statement with ${words} waits`, async () => {
    const rows = await server.database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0`,
      [words],
    );
    return rows.length > 0;
  });

/** A session that reads the table in a transaction, as pg_dump does. */
async function holding(table: string, application: string): Promise<pg.Client> {
  const client = await clientOf(application);
  await client.query(`begin; select from ${table} limit 1`);
  return client;
}

const migrationOf = async (workspace: TestWorkspace): Promise<Json> =>
  (await workspace.admin('migrations?size=1')).json.data[0];

const hasEnded = ({ state }: Json): boolean => state !== 'pending' && state !== 'running';

async function waits(workspace: TestWorkspace): Promise<Json> {
  await until('the migration says whom it waits for', async () => {
    const { state, waitingFor } = await migrationOf(workspace);
    assert.ok(state === 'pending' || state === 'running', state);
    return waitingFor !== null;
  });
  return migrationOf(workspace);
}

/** An export that is read in a trickle, so that the server does not take its client for one that has stopped reading. */
async function slowExport(
  t: TestContext,
  on: TestServer,
  { workspace, table }: { readonly workspace: TestWorkspace; readonly table: string },
): Promise<{ readonly broken: Promise<void> }> {
  await on.database.query(
    `insert into ${table} (text, size) select repeat(md5(n::text), 100), '1' from generate_series(1, 20000) n`,
  );
  const { port, hostname } = new URL(on.url);
  const started = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<void>();
  const path = `/api/v1/${workspace.path}/notes/_export?format=ndjson`;
  const reader = request(
    { port, hostname, path, headers: { authorization: `Bearer ${workspace.key}` } },
    (response) => {
      let bytes = 0;
      response.on('error', () => broken.resolve());
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        started.resolve();
        response.pause();
        setTimeout(() => response.resume(), 200);
      });
      response.on('end', () => broken.reject(new Error(`the export was read whole: ${bytes} bytes`)));
    },
  );
  t.after(() => reader.destroy());
  reader.on('error', () => undefined);
  reader.end();
  await started.promise;
  return { broken: broken.promise };
}

// Two of them wait for more than half a minute: these do at once, on databases of their own, while the others run.
const [own, another] = [useServer(), useServer()];

suite('locks', { concurrency: true }, () => {
  suite('exports', { concurrency: true }, () => {
    test('an export that nobody reads on gives way to a migration, and the migration succeeds', async (t) => {
      const made = await workspaceWith(10, own);
      const { workspace, slug } = made;
      const { broken } = await slowExport(t, own, made);
      assert.equal((await applySchema(workspace, document('bigint'), '?wait=0')).status, 202);
      const { waitingFor } = await waits(workspace);
      assert.equal(waitingFor.application, 'workspace-data-api export');
      await until('it has ended', async () => hasEnded(await migrationOf(workspace)));
      assert.equal((await migrationOf(workspace)).state, 'succeeded');
      await broken;
      await assertTidy(own, slug);
    });

    test('an export of another workspace gives way to an index', async (t) => {
      const { broken } = await slowExport(t, another, await workspaceWith(10, another));
      const { workspace, slug } = await workspaceWith(10, another);
      const indexed = {
        entities: { notes: { fields: { text: { type: 'string', index: true }, size: { type: 'string' } } } },
      };
      assert.equal((await applySchema(workspace, indexed, '?wait=0')).status, 202);
      const { waitingFor } = await waits(workspace);
      assert.equal(waitingFor.application, 'workspace-data-api export');
      await until('it has ended', async () => hasEnded(await migrationOf(workspace)));
      assert.equal((await migrationOf(workspace)).state, 'succeeded');
      await broken;
      await assertTidy(another, slug);
    });
  });

  suite('held by others', { concurrency: false }, () => {
    test('a migration says whom it waits for, without a word of what that does, and goes on when the lock is free', async (t) => {
      const { workspace, slug, table } = await workspaceWith(100);
      const holder = await holding(table, 'pg_dump');
      t.after(() => holder.end());
      const { pid } = (await holder.query('select pg_backend_pid() as pid')).rows[0];
      assert.equal((await applySchema(workspace, document('bigint'), '?wait=0')).status, 202);
      const { waitingFor } = await waits(workspace);
      assert.deepEqual(
        { ...waitingFor, since: typeof waitingFor.since },
        { pid, application: 'pg_dump', since: 'string' },
      );
      assert.ok(Math.abs(Date.parse(waitingFor.since) - Date.now()) < 600_000);
      const made = await workspace.call('notes', { method: 'POST', body: { text: 'meanwhile', size: '7' } });
      assert.equal(made.status, 201, made.text);
      await holder.query('rollback');
      await until('it has ended', async () => hasEnded(await migrationOf(workspace)));
      const ended = await migrationOf(workspace);
      assert.deepEqual([ended.state, ended.waitingFor], ['succeeded', null], JSON.stringify(ended));
      assert.equal((await workspace.call(`notes/${made.json.data.id}`)).json.data.size, 7);
      await assertTidy(server, slug);
    });

    test('what was filled stays while the lock of the switch is not free; a cancel ends the waiting at once', async (t) => {
      const { workspace, slug, table } = await workspaceWith(3000);
      const { query } = server.database;
      // Nobody reads the table until the records are filled; then the switch is left to wait.
      await holdRecord(server.database, table, 2999);
      let answer: Json;
      const held = await holdAt(server.database, { kind: 'record' }, async () => {
        answer = await applySchema(workspace, document('bigint'), '?wait=0');
      });
      assert.equal(answer.status, 202, answer.text);
      const holder = await holding(table, 'a report');
      t.after(() => holder.end());
      await held.release();
      const { waitingFor } = await waits(workspace);
      assert.equal(waitingFor.application, 'a report');
      const [filled] =
        await query(`select count(*)::int as n from ${table} r where to_jsonb(r) - 'id' - 'text' - 'size' @> '{}'
    and exists (select from jsonb_each_text(to_jsonb(r)) e where e.key like 'size$%' and e.value = r.size)`);
      assert.equal(filled?.n, 3000);
      // The taking back has to wait for the same lock: it goes on asking, and the migration ends as what it is.
      const { id } = answer.json.data;
      const cancelled = workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
      await cancelIsKnown(server, id);
      // An attempt that had begun before would still switch when it gets the lock.
      const [{ now } = { now: undefined }] = await query('select clock_timestamp() as now');
      const attempts = new Set<unknown>();
      await until('two attempts have begun since', async () => {
        const waiting = await query(
          `select query_start::text as begun from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock' and query_start > $1`,
          [now],
        );
        for (const { begun } of waiting) attempts.add(begun);
        return attempts.size > 1;
      });
      await holder.query('rollback');
      assert.equal((await cancelled).json.data.state, 'cancelled', (await cancelled).text);
      await query(`drop trigger hold on ${table}`);
      await assertTidy(server, slug);
    });

    test('a migration that has made nothing needs no lock to be cancelled', async (t) => {
      const { workspace, slug, table } = await workspaceWith(100);
      // Else the size of a table that nobody has looked at is asked for, which takes a lock on it.
      await server.database.query(`analyze ${table}`);
      const [early, late] = [await clientOf('early'), await clientOf('late')];
      t.after(() => Promise.all([early.end(), late.end()]));
      await early.query('begin; lock table wda.migration in share mode');
      const change = structuredClone(document('string'));
      change.entities.notes.fields.text.required = true;
      const answer = applySchema(workspace, change, '?wait=0');
      await waitingIn('insert into wda.migration');
      await late.query(`begin; lock table ${table} in access exclusive mode`);
      await early.query('commit');
      assert.equal((await answer).status, 202);
      await waitingIn('c.count');
      const { id, state } = await migrationOf(workspace);
      assert.equal(state, 'pending');
      const { json } = await workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
      assert.deepEqual([json.data.state, json.data.error], ['cancelled', null]);
      await late.query('rollback');
      await assertTidy(server, slug);
    });

    test('a change of sixty tables takes its locks together, or none of them', async (t) => {
      const entities = (type: string): Json => ({
        entities: Object.fromEntries(
          Array.from({ length: 60 }, (_, n) => [`t${String(n).padStart(2, '0')}`, { fields: { f: { type } } }]),
        ),
      });
      const workspace = await server.workspace('acme/many', entities('integer'));
      const schema = await schemaOf(server, workspace);
      const holder = await holding(`"${schema}".t59`, 'the last');
      t.after(() => holder.end());
      assert.equal((await applySchema(workspace, entities('bigint'), '?wait=0')).status, 202);
      const { waitingFor } = await waits(workspace);
      assert.equal(waitingFor.application, 'the last');
      // One statement takes all of them, and its time is limited as a whole.
      await until('it asks for the locks in one statement', async () => {
        const rows = await server.database.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like 'do %t00%t01%'`,
        );
        return rows.length > 0;
      });
      assert.equal((await workspace.call('t00', { method: 'POST', body: { f: 1 } })).status, 201);
      await holder.query('rollback');
      await until('it has ended', async () => hasEnded(await migrationOf(workspace)));
      assert.equal((await migrationOf(workspace)).state, 'succeeded');
      await assertTidy(server, 'many');
    });

    test('sessions of migrations leave no setting and no lock behind', async (t) => {
      const { workspace, slug, table } = await workspaceWith(50);
      const { query } = server.database;
      // On a cluster the trigger runs on the node of the table: what it sees is what the coordinator has left there.
      const onNodes = (text: string) => queryNodes(server.database, `set citus.enable_ddl_propagation = off; ${text}`);
      await onNodes(`create table public.seen (settings text);
create function public.see() returns trigger language plpgsql as $$ begin
  insert into public.seen values (current_setting('synchronous_commit') || ' ' || current_setting('client_connection_check_interval'));
  return new;
end $$`);
      t.after(() => onNodes('drop table public.seen; drop function public.see() cascade'));
      for (const type of ['bigint', 'string', 'decimal', 'bigint']) {
        assert.equal((await applySchema(workspace, document(type))).json.data.state, 'succeeded');
      }
      await settled(server, slug);
      await query(`create trigger see before insert on ${table} for each row execute function public.see()`);
      // Imports take the connections that migrations have given back; several at once take all of them.
      const headers = { 'content-type': 'application/x-ndjson' };
      const body = Array.from({ length: 300 }, () => '{"text":"imported"}').join('\n');
      const imports = await Promise.all(
        Array.from({ length: 6 }, () => workspace.call('notes/_import', { method: 'POST', headers, body })),
      );
      for (const { status, text } of imports) assert.equal(status, 200, text);
      const seen = await queryNodes(server.database, 'select distinct settings from public.seen');
      assert.deepEqual(seen, [{ settings: 'on 0' }]);
      await until('nobody holds a lock', async () => {
        const held = await query(
          "select from pg_locks where locktype = 'advisory' and objsubid = 1 and database = (select oid from pg_database where datname = current_database())",
        );
        return held.length === 0;
      });
    });
  });
});
