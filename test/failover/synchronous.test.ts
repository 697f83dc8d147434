// A primary whose writes wait for a standby, and the promotion of that standby while clients write: what was acknowledged is
// there afterwards, whichever way the server reaches the database, and whether or not connections to the old primary end.
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatched, type WatchedServer } from '../support/logged-server.ts';
import { distribution, makePostgres, type OwnPostgres, promote } from '../support/postgres.ts';
import { type Answer, clientOf, type TestWorkspace } from '../support/server.ts';
import { openSwitch, type Switch } from '../support/tcp-proxy.ts';
import { until } from '../support/wait-until.ts';

const skip = distribution === undefined ? 'PostgreSQL of the distribution is not installed (its pg_basebackup)' : false;
const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' }, owner: { type: 'string' } } } } };
const WRITERS = 4;
// Longer than what it takes: how fast a machine is that does other work, too, no test can say.
const BACK_WITHIN_MS = 30_000;

let first: OwnPostgres;
let second: OwnPostgres;
let between: Switch;
let server: WatchedServer | undefined;
let workspace: TestWorkspace;

beforeEach(async () => {
  if (skip !== false) return;
  first = await makePostgres();
  await first.start();
  second = await makePostgres({ standbyOf: first });
  await second.start();
  between = await openSwitch(first.port);
  await first.query(`alter system set synchronous_standby_names = '*'`);
  await first.query('select pg_reload_conf()');
  await until('writes wait for the standby', async () => {
    const [row] = await first.query('select sync_state from pg_stat_replication');
    return row?.sync_state === 'sync';
  });
});
const clear = async (): Promise<void> => {
  await server?.stop();
  server = undefined;
  await between?.close();
  for (const one of [second, first]) await one?.remove();
};
afterEach(clear);
after(clear);

async function startServer(url: string): Promise<void> {
  server = await startWatched({ DATABASE_URL: url, WDA_STATEMENT_TIMEOUT_MS: '1500', WDA_TRANSFER_TIMEOUT_MS: '2000' });
  await server.ready();
  workspace = await clientOf(server.url).workspace('acme/moved', SCHEMA);
}

const create = (text: string): Promise<Answer> => workspace.call('notes', { method: 'POST', body: { text } });

const WRITES: readonly (readonly [string, string, object | string])[] = [
  ['POST', 'notes', { text: 'new' }],
  ['PATCH', 'notes/1', { text: 'changed' }],
  ['PATCH', 'notes/_bulk', { data: [{ id: 2, text: 'changed' }] }],
  ['DELETE', 'notes/3', ''],
  ['POST', '_batch', { operations: [{ method: 'POST', entity: 'notes', body: { text: 'in a batch' } }] }],
  ['POST', 'notes/_import', 'text\nimported\n'],
];

test('while the synchronous standby is away no write is acknowledged', { skip }, async () => {
  await startServer(first.url);
  await workspace.create('notes', [{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
  await second.stop();
  const answers = await Promise.all([
    ...WRITES.map(([method, path, body]) =>
      workspace.call(path, {
        method,
        body: body || undefined,
        headers: { 'content-type': path.endsWith('_import') ? 'text/csv' : 'application/json' },
      }),
    ),
    workspace.admin('api-keys', { method: 'POST', body: { name: 'another', permissions: 'OWNER' } }),
  ]);
  for (const answer of answers) assert.ok(answer.status >= 500, `${answer.status} ${answer.text}`);
  await second.start();
  await until('writes work again', async () => (await create('again')).status === 201);
});

interface Case {
  readonly what: string;
  /** Of the server, once both run. */
  readonly url: () => string;
  /** Whether connections to the old primary end; otherwise it goes on, and takes no writes. */
  readonly isKilled: boolean;
}

const hosts = (): string => `postgres://wda@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres`;
const proxy = (): string => `postgres://wda@127.0.0.1:${between.port}/postgres`;
const CASES: readonly Case[] = [
  { what: 'two hosts, the old primary killed', url: hosts, isKilled: true },
  { what: 'two hosts, the old primary read-only with its connections', url: hosts, isKilled: false },
  { what: 'a proxy, its connections cut', url: proxy, isKilled: true },
  { what: 'a proxy, its connections to the old primary open', url: proxy, isKilled: false },
];

async function promoteSecond(isKilled: boolean): Promise<void> {
  if (isKilled) await first.stop('immediate');
  else {
    await first.query('alter system set default_transaction_read_only = on');
    await first.query('select pg_reload_conf()');
    await until('it takes no writes', async () => {
      const [row] = await first.query('show default_transaction_read_only');
      return row?.default_transaction_read_only === 'on';
    });
  }
  await promote(second);
  between.to(second.port, isKilled);
}

for (const { what, url, isKilled } of CASES) {
  test(`writers during a promotion, ${what}: soon answered, nothing acknowledged is lost`, { skip }, async () => {
    await startServer(url());
    const acknowledged = new Map<number, string>();
    let isOver = false;
    let wrote = 0;
    const write = async (who: number): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        const text = `${who} ${count}`;
        const answer = await create(text);
        if (answer.status === 201) {
          acknowledged.set(answer.json.data.id, text);
          wrote++;
        } else assert.equal(answer.status, 503, answer.text);
      }
    };
    const [record] = await workspace.create('notes', [{ text: 'first', owner: 'a' }]);
    const path = `notes/${record.id}`;
    const before = (await workspace.call(path)).headers.get('etag') ?? '';
    const writers = Array.from({ length: WRITERS }, (_, who) => write(who));
    await until('they write', () => wrote > 20);

    // The last changes before the end of the old primary: of a record, a key and a rule.
    const changed = await workspace.call(path, { method: 'PATCH', body: { text: 'second' } });
    assert.equal(changed.status, 200, changed.text);
    const rules = await workspace.admin('entities/notes/row-rules', {
      method: 'PUT',
      body: [{ column: 'owner', claim: 'sub', enabled: true }],
    });
    assert.equal(rules.status, 200, rules.text);
    const keys = (await workspace.admin('api-keys')).json.data as readonly { id: number; permissions: string }[];
    const revoked = keys.find(({ permissions }) => permissions === 'READ_ONLY');
    assert.equal((await workspace.admin(`api-keys/${revoked?.id}`, { method: 'DELETE' })).status, 204);

    await promoteSecond(isKilled);
    // Those that wait at the old primary for a standby that is none any more are told later that their outcome is unknown.
    const isBack = async (): Promise<boolean> =>
      (await Promise.race([create('probe'), sleep(500, undefined)]))?.status === 201;
    await until('writes are answered again', isBack, BACK_WITHIN_MS);
    const atPromotion = wrote;
    await until('all go on', () => wrote > atPromotion + 50);
    isOver = true;
    await Promise.all(writers);

    let fresh = 0;
    await until('another one is made', async () => {
      const { status, json } = await create('fresh');
      fresh = json.data?.id;
      return status === 201;
    });
    const reads = (): Promise<readonly number[]> =>
      Promise.all(Array.from({ length: 20 }, async () => (await workspace.call(`notes/${fresh}`)).status));
    await until('nothing is read from the old primary', async () => (await reads()).every((status) => status === 200));
    assert.deepEqual(new Set(await reads()), new Set([200]));

    const stored = new Map(
      (await second.query(`select id, text from ws1_moved.notes`)).map(({ id, text }) => [Number(id), text]),
    );
    for (const [id, text] of acknowledged) assert.equal(stored.get(id), text, `note ${id} was acknowledged`);
    // A version of before matches nothing that came later.
    const writeStale = () =>
      workspace.call(path, { method: 'PATCH', headers: { 'if-match': before }, body: { text: 'third' } });
    let stale = await writeStale();
    // The first statement of its kind may meet a connection that was opened just before the promotion.
    await until('it is answered', async () => {
      if (stale.status === 503) stale = await writeStale();
      return stale.status !== 503;
    });
    assert.equal(stale.status, 412, stale.text);
    assert.equal((await workspace.call(path)).json.data.text, 'second');
    const shown = await workspace.admin('access/test', {
      method: 'POST',
      body: { claims: { sub: 'a' }, requests: [{ path: 'notes' }] },
    });
    const seen = shown.json.data[0].body.data as readonly { id: number }[];
    assert.deepEqual(
      seen.map(({ id }) => id),
      [record.id],
      shown.text,
    );
    assert.equal((await workspace.call(path, { credential: workspace.readOnlyKey })).status, 401);
  });
}
