// Starting the embedded PostgreSQL: the first time, again, half-way, at once, and where it cannot.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startEmbedded } from '../../src/embedded-postgres/embedded.ts';
import { boundLog } from '../../src/embedded-postgres/log.ts';
import {
  connect,
  keepLog,
  openFolder,
  postgresProcessesOn,
  processesOn,
  query,
  spawnProcess,
  startHere,
  until,
} from './support.ts';

test('the embedded PostgreSQL, from its first start to the ones that are refused', async (t) => {
  const dataDir = openFolder(t);
  const log = keepLog();
  const options = { dataDir, log, stateRoot: join(dataDir, 'unused-state') };
  let database = await startEmbedded(options);
  t.after(() => database.stop());
  const state = database.stateDirectory;

  await t.test('is reached through a socket of its own user, with the password only', async () => {
    const { connection } = database;
    assert.deepEqual(await query(connection, 'show listen_addresses'), [['']]);
    assert.equal(statSync(connection.host).mode & 0o777, 0o700);
    await assert.rejects(connect({ ...connection, password: 'wrong' }), { code: '28P01' });
    await assert.rejects(connect({ ...connection, password: '' }), /password/);
    for (const file of ['password', 'app-password']) assert.equal(statSync(join(state, file)).mode & 0o777, 0o600);
    const methods = await query(database.superuser, 'select distinct auth_method from pg_hba_file_rules');
    assert.deepEqual(methods, [['scram-sha-256']]);
  });

  await t.test('gives the server a role that owns its database, and is no superuser', async () => {
    const { connection } = database;
    const rights = 'rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls';
    assert.deepEqual(await query(connection, `select ${rights} from pg_roles where rolname = current_user`), [
      [false, false, false, false, false],
    ]);
    assert.deepEqual(
      await query(connection, 'select count(*)::int from pg_auth_members where member = current_user::regrole'),
      [[0]],
    );
    await query(connection, 'create schema own create table kept (n int)');
    for (const statement of [
      `copy own.kept from program 'echo 1'`,
      `copy own.kept to '/tmp/wda-rights-test'`,
      `select pg_read_file('PG_VERSION')`,
      `alter system set shared_buffers = '1GB'`,
      'create role other superuser',
      'create database other',
      `alter role ${connection.user} superuser`,
      'set session_replication_role = replica',
      'set role wda',
      'update pg_authid set rolsuper = true',
      'checkpoint',
    ]) {
      await assert.rejects(query(connection, statement), { code: '42501' }, statement);
    }
  });

  await t.test('keeps what it acknowledged: fsync, full pages, synchronous commit and checksums are on', async () => {
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'];
    for (const name of names) assert.deepEqual(await query(database.connection, `show ${name}`), [['on']], name);
  });

  await t.test('sorts and folds case as Unicode says', async () => {
    const { connection } = database;
    const sorted = await query(connection, `select x from unnest(array['b','B','a','Z','A','ä','z']) x order by x`);
    assert.deepEqual(sorted.flat(), ['a', 'A', 'ä', 'b', 'B', 'z', 'Z']);
    assert.deepEqual(await query(connection, `select lower('ÄÉИ'), upper('äéи'), 'Ärger' ilike 'äR%', 'É' ~* 'é'`), [
      ['äéи', 'ÄÉИ', true, true],
    ]);
  });

  await t.test('keeps its data over a stop and a start', async () => {
    await query(database.connection, 'create table kept as select 42 as answer');
    const { connection } = database;
    await database.stop();
    assert.deepEqual(await processesOn(dataDir), []);
    database = await startEmbedded(options);
    assert.deepEqual(database.connection, connection);
    assert.deepEqual(await query(database.connection, 'select answer from kept'), [[42]]);
  });

  await t.test('starts although another program has the process id in its postmaster.pid', async () => {
    await database.stop();
    const { uid, gid } = statSync(join(state, 'data'));
    const stranger = spawn('sleep', ['600'], { uid, gid, stdio: 'ignore' });
    t.after(() => stranger.kill('SIGKILL'));
    const lines = [stranger.pid, join(state, 'data'), 1, 5432, join(state, 'run'), '', '  1234567   1234', 'ready   '];
    for (const file of ['data/postmaster.pid', 'run/.s.PGSQL.5432.lock']) {
      writeFileSync(join(state, file), `${lines.join('\n')}\n`, { mode: 0o600 });
      chownSync(join(state, file), uid, gid);
    }
    database = await startEmbedded(options);
    assert.deepEqual(await query(database.connection, 'select answer from kept'), [[42]]);
    assert.equal(stranger.exitCode ?? stranger.signalCode, null);
  });

  await t.test(
    'leaves alone what only looks like a process of its own: the same path, in another container',
    {
      skip: process.platform === 'linux' ? false : 'titles of processes are set as Linux has them',
    },
    async () => {
      const name = /cluster_name=(wda-\w+)/.exec(readFileSync(join(state, 'data', 'postmaster.opts'), 'utf8'))?.[1];
      await database.stop();
      const { uid, gid } = statSync(join(state, 'data'));
      const stranger = spawn('sleep', ['600'], {
        uid,
        gid,
        cwd: '/',
        argv0: `postgres: ${name}: checkpointer `,
        stdio: 'ignore',
      });
      t.after(() => stranger.kill('SIGKILL'));
      database = await startEmbedded(options);
      assert.deepEqual(await query(database.connection, 'select answer from kept'), [[42]]);
      assert.equal(stranger.exitCode ?? stranger.signalCode, null);
      stranger.kill('SIGKILL');
    },
  );

  await t.test('sets new passwords when the files with them are lost', async () => {
    await database.stop();
    for (const file of ['password', 'app-password']) rmSync(join(state, file));
    const { connection, superuser } = database;
    database = await startEmbedded(options);
    assert.notEqual(database.connection.password, connection.password);
    assert.notEqual(database.superuser.password, superuser.password);
    assert.deepEqual(await query(database.connection, 'select answer from kept'), [[42]]);
    assert.deepEqual(await query(database.superuser, 'select answer from kept'), [[42]]);
  });

  await t.test('says what PostgreSQL said when it does not start, and what to do', async () => {
    await database.stop();
    const file = join(state, 'data', 'postgresql.conf');
    const before = readFileSync(file, 'utf8');
    appendFileSync(file, 'shared_buffers = lots\n');
    await assert.rejects(startEmbedded(options), (error: Error) => {
      assert.match(error.message, /could not be started on .*invalid value for parameter "shared_buffers": "lots"/s);
      assert.match(error.message, /postgresql\.log\. Set DATABASE_URL/);
      assert.doesNotMatch(error.stack ?? '', / {4}at /);
      return true;
    });
    writeFileSync(file, before);
  });

  await t.test('refuses data of another major version with the commands that take them over', async () => {
    const file = join(state, 'data', 'PG_VERSION');
    for (const version of ['17', '19']) {
      writeFileSync(file, `${version}\n`);
      await assert.rejects(startEmbedded(options), ({ message }: Error) => {
        assert.match(message, new RegExp(`written by PostgreSQL ${version}, .* brings PostgreSQL 18\\.`));
        assert.match(message, new RegExp(`brought PostgreSQL ${version} and run: wda backup everything\\.wda\\.`));
        assert.match(message, /this one on an empty DATA_DIR and run: wda restore everything\.wda\./);
        return true;
      });
    }
    rmSync(file);
    await assert.rejects(startEmbedded(options), /is not a data directory of PostgreSQL/);
    writeFileSync(file, '18\n');
    database = await startEmbedded(options);
    assert.deepEqual(await query(database.connection, 'select answer from kept'), [[42]]);
  });
});

test('an initdb that was killed half-way is done again, and nothing of it is left', async (t) => {
  const dataDir = openFolder(t);
  const state = join(dataDir, 'postgres');
  const child = spawnProcess(t, dataDir);
  const unfinished = () =>
    existsSync(state) ? readdirSync(state).find((name) => name.startsWith('initialising-')) : undefined;
  await until('initdb is at work', () => existsSync(join(state, unfinished() ?? 'none', 'cluster', 'PG_VERSION')));
  child.kill('SIGKILL');
  assert.equal(existsSync(join(state, 'data')), false);
  const database = await startHere(t, dataDir);
  assert.deepEqual(await query(database.connection, 'select current_database()'), [['wda']]);
  await until(
    'no initdb runs',
    async () => !(await processesOn(dataDir)).some(({ title }) => title.includes('initdb')),
  );
  assert.equal(unfinished(), undefined);
});

test('a DATA_DIR too long for a socket, with spaces and quotes in it, works', async (t) => {
  const folder = openFolder(t);
  const dataDir = join(folder, `a "quoted", 'long' name `.repeat(4), 'x'.repeat(60));
  mkdirSync(dataDir, { recursive: true });
  const database = await startHere(t, dataDir);
  assert.ok(database.connection.host.length < 90);
  assert.equal(statSync(database.connection.host).mode & 0o777, 0o700);
  assert.deepEqual(await query(database.connection, 'select 1'), [[1]]);
  await database.stop();
  assert.deepEqual(await postgresProcessesOn(folder), []);
  rmSync(database.connection.host, { recursive: true });
});

test('two first starts at the same moment share one PostgreSQL, and a guest leaves without it', async (t) => {
  const dataDir = openFolder(t);
  const [one, other] = await Promise.all([startHere(t, dataDir), startHere(t, dataDir)]);
  assert.deepEqual([one.joined, other.joined].sort(), [false, true]);
  assert.deepEqual(one.connection, other.connection);
  assert.deepEqual(await query(other.connection, 'select 1'), [[1]]);
  const [owner, guest] = one.joined ? [other, one] : [one, other];
  await Promise.all([guest.stop(), guest.stop()]);
  assert.equal(owner.joined, false);
  assert.deepEqual(await query(owner.connection, 'select 1'), [[1]]);
});

test('a DATA_DIR that cannot be made is one clear error', async (t) => {
  const folder = openFolder(t);
  writeFileSync(join(folder, 'file'), '');
  await assert.rejects(startEmbedded({ dataDir: join(folder, 'file', 'data'), log: keepLog() }), {
    name: 'EmbeddedDatabaseFailure',
    message: /The embedded database cannot use .*ENOTDIR/s,
  });
});

test('a DATA_DIR on a file system that takes none is one clear error, not an endless attempt', {
  skip: process.platform !== 'linux',
}, async () => {
  await assert.rejects(startEmbedded({ dataDir: '/proc/wda/data', log: keepLog() }), {
    name: 'EmbeddedDatabaseFailure',
  });
});

test('the log of PostgreSQL is cut at 10 MB and keeps the part before', (t) => {
  const file = join(openFolder(t), 'postgresql.log');
  writeFileSync(file, 'x'.repeat(10 * 1024 * 1024));
  boundLog(file);
  assert.equal(existsSync(`${file}.1`), false);
  appendFileSync(file, 'one more');
  boundLog(file);
  assert.equal(statSync(file).size, 0);
  assert.equal(statSync(`${file}.1`).size, 10 * 1024 * 1024 + 8);
});
