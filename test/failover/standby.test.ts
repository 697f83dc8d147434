// Two PostgreSQL servers, one a copy of the other: whichever takes writes, the server finds it by itself.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatched, type WatchedServer } from '../support/logged-server.ts';
import { distribution, makePostgres, type OwnPostgres, promote } from '../support/postgres.ts';
import { type Answer, clientOf, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const skip = distribution === undefined ? 'PostgreSQL of the distribution is not installed (its pg_basebackup)' : false;
const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' } } } } };

let first: OwnPostgres;
let second: OwnPostgres;
let server: WatchedServer | undefined;
let workspace: TestWorkspace;

beforeEach(async () => {
  if (skip !== false) return;
  first = await makePostgres();
  await first.start();
  second = await makePostgres({ standbyOf: first });
  await second.start();
});
const clear = async (): Promise<void> => {
  await server?.stop();
  server = undefined;
  for (const one of [second, first]) await one?.remove();
};
afterEach(clear);
after(clear);

/** Both, in the order of their making. */
const both = (): string => `postgres://wda@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres`;

async function startServer(workers = '1'): Promise<void> {
  server = await startWatched({ DATABASE_URL: both(), WDA_WORKERS: workers, WDA_STATEMENT_TIMEOUT_MS: '3000' });
  await server.ready();
  workspace = await clientOf(server.url).workspace('acme/moved', SCHEMA);
}

const create = (text: string): Promise<Answer> => workspace.call('notes', { method: 'POST', body: { text } });
const caughtUp = (): Promise<void> =>
  until('the standby has everything', async () => {
    const [row] = await first.query(
      `select bool_and(replay_lsn >= pg_current_wal_lsn()) as is from pg_stat_replication`,
    );
    return row?.is === true;
  });

/** Writes until so many in a row are acknowledged; what does not work yet is a 503. */
async function writes(what: string): Promise<void> {
  let inRow = 0;
  let count = 0;
  await until(`${what}: writes work`, async () => {
    const answer = await create(`${what} ${++count}`).catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status !== 201) {
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.headers.get('retry-after') ?? '0', /^\d+$/);
    }
    inRow = !(answer instanceof Error) && answer.status === 201 ? inRow + 1 : 0;
    return inRow >= 30;
  }).catch((error) => {
    throw new Error(
      `${error.message}\n${server?.log
        .filter((line) => !/"msg":"request"/.test(line))
        .slice(-20)
        .join('\n')}`,
    );
  });
  // Reads go where the writes went: what was just made is there.
  for (let round = 0; round < 30; round++) {
    const made = await create(`${what}, to be read`);
    assert.equal(made.status, 201, made.text);
    const read = await workspace.call(`notes/${made.json.data.id}`);
    assert.equal(read.status, 200, `${read.text}, which was acknowledged`);
    const list = await workspace.call(`notes?size=1&sort=id,desc&filter=id,gte,${made.json.data.id}`);
    assert.equal(list.json.data?.[0]?.id, made.json.data.id, list.text);
  }
  const changed = await workspace.admin('api-keys', { method: 'POST', body: { name: what, permissions: 'OWNER' } });
  assert.equal(changed.status, 201, changed.text);
}

/** A clean stop of the primary, then the standby takes over: nothing acknowledged is lost. */
async function switchOver(from: OwnPostgres, to: OwnPostgres): Promise<void> {
  await from.stop('fast');
  await promote(to);
}

/** Makes a stopped primary a standby of the one that took over. */
async function follow(old: OwnPostgres, primary: OwnPostgres): Promise<void> {
  writeFileSync(join(old.folder, 'data', 'standby.signal'), '');
  old.configure(`primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=wda'`);
  await old.start();
}

for (const workers of ['1', '2']) {
  test(`when the standby is promoted the service writes again, there and back (${workers} processes)`, {
    skip,
  }, async () => {
    await startServer(workers);
    const kept = await create('before');
    assert.equal(kept.status, 201, kept.text);
    const tag = kept.headers.get('etag');
    await until('the timeline is written down', async () => {
      return (await first.query(`select from wda.instance where name = 'timeline'`)).length === 1;
    });
    await caughtUp();
    await switchOver(first, second);
    await writes('promoted');
    assert.equal((await workspace.call(`notes/${kept.json.data.id}`)).json.data?.text, 'before');
    // The new primary gives numbers of transactions that the lost one may have given: no version of before holds.
    const again = (): Promise<Answer> => workspace.call(`notes/${kept.json.data.id}`);
    await until('its version is of another epoch', async () => (await again()).headers.get('etag') !== tag);
    const late = { method: 'PUT', body: { text: 'late' }, headers: { 'if-match': tag ?? '' } };
    assert.equal((await workspace.call(`notes/${kept.json.data.id}`, late)).status, 412);
    // The first of the two is there again, and takes no writes.
    await follow(first, second);
    await writes('beside a demoted one');
    await until('the demoted one has everything', async () => {
      const [row] = await second.query(
        `select bool_and(replay_lsn >= pg_current_wal_lsn()) as is from pg_stat_replication`,
      );
      return row?.is === true;
    });
    await switchOver(second, first);
    await writes('back');
    assert.equal(server?.child.exitCode, null);
  });
}

test('a primary that takes only reads from now on does not hold the writes', { skip }, async () => {
  await startServer();
  await writes('at first');
  await caughtUp();
  // Its connections live: nothing but the refusal of a write tells that it is no longer the one.
  await first.query(`alter system set default_transaction_read_only = on`);
  await first.query('select pg_reload_conf()');
  await until('it takes no writes', async () => {
    const [row] = await first.query('show default_transaction_read_only');
    return row?.default_transaction_read_only === 'on';
  });
  await caughtUp();
  await promote(second);
  await writes('elsewhere');
});

test('with one host, a database that took only reads for a while is written to again', { skip }, async () => {
  server = await startWatched({ DATABASE_URL: first.url, WDA_STATEMENT_TIMEOUT_MS: '3000' });
  await server.ready();
  workspace = await clientOf(server.url).workspace('acme/moved', SCHEMA);
  await writes('at first');
  await first.query(`alter system set default_transaction_read_only = on`);
  await first.query('select pg_reload_conf()');
  await until('writes are refused', async () => {
    const answer = await create('refused');
    if (answer.status === 201) return false;
    assert.equal(answer.status, 503, answer.text);
    return true;
  });
  for (let round = 0; round < 20; round++, await sleep(50)) {
    const answer = await create('refused');
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, answer.text);
  }
  await first.query('alter system reset default_transaction_read_only');
  await first.query('select pg_reload_conf()');
  await writes('afterwards');
});

for (const workers of ['1', '2']) {
  test(`a start while no server takes writes waits for the promotion (${workers} processes)`, { skip }, async () => {
    await startServer();
    const kept = await create('before');
    await server?.stop();
    await caughtUp();
    await first.stop('fast');
    server = await startWatched({ DATABASE_URL: both(), WDA_WORKERS: workers });
    await until('it listens', async () => (await server?.status('/healthz')) === 200);
    for (let look = 0; look < 30; look++, await sleep(100)) {
      assert.equal(await server.status('/readyz'), 503);
      assert.equal(server.child.exitCode, null, server.log.join('\n'));
    }
    await promote(second);
    await server.ready();
    // The key of before, at the new server.
    const { url } = server;
    const path = `/api/v1/acme/moved/notes/${kept.json.data.id}`;
    const answer = await clientOf(url).call(path, { credential: workspace.key });
    assert.equal(answer.json.data?.text, 'before', answer.text);
    const made = await clientOf(url).call('/api/v1/acme/moved/notes', {
      method: 'POST',
      credential: workspace.key,
      body: { text: 'after' },
    });
    assert.equal(made.status, 201, made.text);
  });
}
