// Starts without a database that can be used: the server listens, says so with any number of workers, and serves once
// the database is there.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openLock } from '../../src/embedded-postgres/embedded.ts';
import { makeObserver } from '../../src/observer.ts';
import { openFolder } from '../embedded/support.ts';
import { createTestDatabase, serverUrl } from '../support/database.ts';
import { openProxy } from '../support/database-proxy.ts';
import { freePort } from '../support/postgres.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { type ServerProcess, spawnServer, startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';
import { workersOf } from '../support/workers.ts';

interface Said {
  readonly status: number;
  readonly text: string;
}

/** On a connection of its own, so that each may meet another worker. */
async function ask(url: string, path: string): Promise<Said> {
  const response = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}`, connection: 'close' },
  });
  return { status: response.status, text: await response.text() };
}

async function isWaiting({ url }: Pick<ServerProcess, 'url'>, reason: RegExp): Promise<void> {
  for (let round = 0; round < 6; round++) {
    assert.deepEqual(await ask(url, '/healthz'), { status: 200, text: '{"status":"ok"}' });
    assert.equal((await ask(url, '/metrics')).status, 200);
    for (const path of ['/readyz', '/api/v1/acme/w/notes', '/api/admin/v1/organizations']) {
      const { status, text } = await ask(url, path);
      assert.equal(status, 503, text);
      assert.match(text, /"code":"SERVICE_UNAVAILABLE".*"retryAfterSeconds":1/);
      assert.doesNotMatch(text, /ECONN|127\.0\.0\.1|localhost|password=/);
    }
  }
  await until('the reason is told', async () => reason.test((await ask(url, '/readyz')).text));
}

async function isServing({ url }: Pick<ServerProcess, 'url'>): Promise<void> {
  await until('ready', () =>
    ask(url, '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  await until('all answer', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(url, '/api/admin/v1/organizations')));
    return answers.every(({ status }) => status === 200);
  });
}

for (const workers of [1, 2]) {
  test(`${workers} without a database listen, and serve once it is there`, async (t) => {
    const database = await createTestDatabase();
    const wire = await openProxy(database);
    wire.cut();
    const server = await startServerProcess(
      { DATABASE_URL: wire.database.url, WDA_WORKERS: String(workers) },
      'listening',
    );
    t.after(async () => {
      wire.restore();
      await server.stop();
      await wire.close();
      await database.drop();
    });
    await isWaiting(server, /"The database cannot be used: the connection broke; retry"/);
    const { port } = new URL(wire.database.url);
    const told = server.lines.filter((line) => line.includes('the database cannot be used; trying again'));
    assert.ok(told.length > 0);
    for (const line of told) {
      assert.match(
        line,
        new RegExp(`"database":"(127\\.0\\.0\\.1|localhost):${port}","error":".*(terminated|ECONNRESET)`),
      );
    }
    wire.restore();
    await isServing(server);
  });
}

test('workers listen while the embedded PostgreSQL starts', async (t) => {
  const dataDir = openFolder(t);
  mkdirSync(join(dataDir, 'postgres'), { mode: 0o711 });
  // Who holds it starts PostgreSQL; the others wait for that.
  const lock = openLock(join(dataDir, 'postgres', 'lock'));
  assert.ok(lock.acquire());
  const server = await startServerProcess({ DATA_DIR: dataDir, WDA_WORKERS: '2' }, 'listening');
  t.after(async () => {
    lock.release();
    await server.stop();
  });
  await isWaiting(server, /"The server is starting; retry"/);
  lock.release();
  await isServing(server);
});

test('stopped while it waits for its database, it ends at once and in good order', async (t) => {
  const dataDir = openFolder(t);
  mkdirSync(join(dataDir, 'postgres'), { mode: 0o711 });
  const lock = openLock(join(dataDir, 'postgres', 'lock'));
  assert.ok(lock.acquire());
  for (const env of [
    { DATA_DIR: dataDir, WDA_WORKERS: '1' },
    { DATABASE_URL: 'postgres://127.0.0.1:1/none', WDA_WORKERS: '2' },
  ]) {
    const server = await startServerProcess(env, 'listening');
    await server.stop();
    assert.equal(server.child.exitCode, 0);
  }
  lock.release();
});

test('workers that are killed while the database is away are replaced, however many', {
  skip: process.platform === 'linux' ? false : 'finds the processes in /proc',
}, async (t) => {
  const database = await createTestDatabase();
  const wire = await openProxy(database);
  wire.cut();
  // When no worker is left, the port is given up for a moment, and 0 would stand for another.
  const PORT = String(await freePort());
  const server = await startServerProcess({ DATABASE_URL: wire.database.url, WDA_WORKERS: '2', PORT }, 'listening');
  t.after(async () => {
    await server.stop();
    await wire.close();
    await database.drop();
  });
  const primary = server.child.pid as number;
  for (let death = 0; death < 3; death++) {
    await until('both are there', () => workersOf(primary).length === 2);
    const [victim] = workersOf(primary) as [number];
    process.kill(victim, 'SIGKILL');
    await until('it is gone', () => !workersOf(primary).includes(victim));
  }
  wire.restore();
  await isServing(server);
});

test('a start while the database takes no writes, as in a failover, waits', async () => {
  const database = await createTestDatabase();
  const [{ name }] = (await database.query('select current_database() as name')) as [{ name: string }];
  await database.query(`alter database ${name} set default_transaction_read_only = on`);
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: database.url,
    WDA_ADMIN_KEY: ADMIN_KEY,
    WDA_DEMO: 'off',
    LOG_LEVEL: 'silent',
  });
  const app = makeApp(config, { connectionString: database.url }, makeObserver(config, false));
  try {
    const server = { url: `http://127.0.0.1:${await app.listen()}` };
    const prepared = app.prepare();
    await isWaiting(
      server,
      /"The database cannot be used: it takes no writes: it is a standby, or set to read-only; retry"/,
    );
    await database.query(`alter database ${name} reset default_transaction_read_only`).catch(async () => {
      await database.query('set default_transaction_read_only = off');
      await database.query(`alter database ${name} reset default_transaction_read_only`);
    });
    await prepared;
    await isServing(server);
  } finally {
    await app.close(1000);
    await database.drop();
  }
});

test('what waiting does not mend ends the start in words, with workers as without', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.after(() => taken.close());
  const port = String((taken.address() as { port: number }).port);
  const url = new URL(serverUrl());
  url.pathname = '/no_such_database';
  const inUse = `Port ${port} on 127.0.0.1 is in use: stop the other server or set PORT`;
  for (const [env, words] of [
    [{ PORT: port, DATABASE_URL: serverUrl(), WDA_WORKERS: '1' }, inUse],
    [{ PORT: port, DATABASE_URL: serverUrl(), WDA_WORKERS: '2' }, inUse],
    [
      { PORT: '0', DATABASE_URL: url.href, WDA_WORKERS: '2' },
      'The server could not start: database "no_such_database" does not exist',
    ],
  ] as const) {
    const { code, errors } = await run(t, env);
    assert.equal(code, 1, errors);
    assert.equal(errors.trim(), words);
  }
});

/** `wda serve` until it ends by itself. */
async function run(
  t: TestContext,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = spawnServer({ LOG_LEVEL: 'silent', ...env });
  t.after(() => child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, errors };
}
