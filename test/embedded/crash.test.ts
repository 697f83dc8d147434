// What dies, and what must be there afterwards: PostgreSQL, its guard, the process that runs it, all of them, and the
// joining of a second process that takes over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answers,
  connect,
  keepLog,
  openFolder,
  postgresProcessesOn,
  postmasterPid,
  processesOn,
  query,
  startHere,
  startProcess,
  until,
  untilAnswers,
} from './support.ts';

async function guardsOn(folder: string): Promise<number[]> {
  return (await processesOn(folder)).filter(({ title }) => title.startsWith('/bin/sh')).map(({ pid }) => pid);
}

test('PostgreSQL that was killed comes back by itself', async (t) => {
  const dataDir = openFolder(t);
  const log = keepLog();
  const database = await startHere(t, dataDir, log);
  const { connection, stateDirectory } = database;
  const reasons: string[] = [];
  database.onExit((reason) => reasons.push(reason));
  await query(connection, 'create table kept as select 1 as one');

  await t.test('after kill -9 of its main process, with a query at work that outlives it', async () => {
    const busy = await connect(connection);
    const { rows } = await busy.query('select pg_backend_pid() as pid');
    busy.query('select count(*) from generate_series(1, 1000000000000)').catch(() => {});
    await until('the query is at work', async () => {
      const [[count]] = (await query(
        connection,
        `select count(*)::int from pg_stat_activity where state = 'active' and query like '%1000000000000%' and pid <> pg_backend_pid()`,
      )) as [[number]];
      return count === 1;
    });
    const before = postmasterPid(stateDirectory);
    process.kill(before, 'SIGKILL');
    await until('it was noticed', () => reasons.length === 1);
    await untilAnswers(connection);
    assert.notEqual(postmasterPid(stateDirectory), before);
    assert.match(reasons[0]!, /signal 9/);
    assert.match(log.lines.join('\n'), new RegExp(`left over and is ended {"pid":${rows[0].pid}}`));
    assert.deepEqual(await query(connection, 'select one from kept'), [[1]]);
    await busy.end().catch(() => {});
  });

  await t.test('after kill -9 of its guard, and the watcher stays no longer than PostgreSQL', async () => {
    const guards = await guardsOn(dataDir);
    assert.equal(guards.length, 2);
    process.kill(Math.min(...guards), 'SIGKILL');
    await until('it was noticed', () => reasons.length === 2);
    await untilAnswers(connection);
    assert.deepEqual(await query(connection, 'select one from kept'), [[1]]);
    await until('the old guard is gone', async () => (await guardsOn(dataDir)).length === 2);
  });

  await database.stop();
  assert.equal(reasons.length, 2);
  await until('nothing is left', async () => (await processesOn(dataDir)).length === 0);
});

test('when the process that runs PostgreSQL is killed', async (t) => {
  const dataDir = openFolder(t);
  const start = () => startProcess(t, dataDir);
  const first = await start();
  const { connection, stateDirectory } = first.database;
  await query(connection, 'create table kept (n int)');

  await t.test('PostgreSQL does not linger, and the next start has what was committed', async () => {
    await query(connection, 'insert into kept values (1)');
    await first.kill();
    await until('nothing is left', async () => (await processesOn(dataDir)).length === 0);
    const next = await start();
    assert.deepEqual(next.database.connection, connection);
    assert.deepEqual(await query(connection, 'select n from kept'), [[1]]);
    await next.stop();
  });

  await t.test('together with PostgreSQL and the guard, the next start recovers', async () => {
    const server = await start();
    await query(connection, 'insert into kept values (2)');
    const victims = [server.pid, ...(await guardsOn(dataDir)), postmasterPid(stateDirectory)];
    for (const pid of victims) process.kill(pid, 'SIGKILL');
    const next = await start();
    assert.deepEqual(await query(connection, 'select n from kept order by n'), [[1], [2]]);
    await next.stop();
  });

  await t.test('together with the guard, the next start ends the PostgreSQL that was left alone', async () => {
    const server = await start();
    await query(connection, 'insert into kept values (3)');
    const left = postmasterPid(stateDirectory);
    for (const pid of [server.pid, ...(await guardsOn(dataDir))]) process.kill(pid, 'SIGKILL');
    const next = await start();
    assert.equal(next.database.joined, false);
    assert.notEqual(postmasterPid(stateDirectory), left);
    assert.deepEqual(await query(connection, 'select n from kept order by n'), [[1], [2], [3]]);
    await next.stop();
    await until('nothing is left', async () => (await processesOn(dataDir)).length === 0);
  });
});

test('a second process on the same DATA_DIR joins, and takes over when the first is gone', async (t) => {
  const dataDir = openFolder(t);
  const owner = await startProcess(t, dataDir);
  const log = keepLog();
  const guest = await startHere(t, dataDir, log);
  assert.equal(owner.database.joined, false);
  assert.equal(guest.joined, true);
  assert.deepEqual(guest.connection, owner.database.connection);
  const before = postmasterPid(guest.stateDirectory);
  await query(guest.connection, 'create table kept as select 1 as one');

  await t.test('killed', async () => {
    await owner.kill();
    await until('the guest took over', () => !guest.joined);
    await until(
      'PostgreSQL is another one',
      async () => (await answers(guest.connection)) && postmasterPid(guest.stateDirectory) !== before,
    );
    assert.deepEqual(await query(guest.connection, 'select one from kept'), [[1]]);
  });

  await t.test('or stopped; the last one out ends PostgreSQL', async () => {
    const next = await startProcess(t, dataDir);
    assert.equal(next.database.joined, true);
    const here = postmasterPid(guest.stateDirectory);
    await guest.stop();
    await untilAnswers(guest.connection);
    assert.notEqual(postmasterPid(guest.stateDirectory), here);
    assert.deepEqual(await query(guest.connection, 'select one from kept'), [[1]]);
    await next.stop();
    assert.deepEqual(await postgresProcessesOn(dataDir), []);
  });
});
