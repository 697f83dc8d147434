// Several processes behind one port: one server to its clients, whichever of them dies.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';
import { workersOf } from '../support/workers.ts';

const DEADLINE_MS = 60_000;

let database: TestDatabase;
let server: ServerProcess;
before(async () => {
  database = await createTestDatabase();
  server = await startServerProcess({ DATABASE_URL: database.url, WDA_WORKERS: '3' });
});
after(async () => {
  await server.stop();
  await database.drop();
});

/** Each call on a connection of its own, so that they meet different workers. */
async function call(path: string, method = 'GET', body?: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_KEY}`,
      connection: 'close',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Whether a worker holds the socket on which connections come. */
function isListening(worker: number): boolean {
  const port = Number(new URL(server.url).port).toString(16).toUpperCase().padStart(4, '0');
  const inode = new RegExp(`^ *\\d+: [0-9A-F]+:${port} 0+:0000 0A (?:\\S+ +){5}(\\d+)`, 'm').exec(
    readFileSync('/proc/net/tcp', 'utf8'),
  )?.[1];
  const folder = `/proc/${worker}/fd`;
  return readdirSync(folder).some((name) => {
    try {
      return readlinkSync(`${folder}/${name}`) === `socket:[${inode}]`;
    } catch {
      return false;
    }
  });
}

const pid = (): number => server.child.pid as number;

const skip = process.platform === 'linux' ? false : 'finds the processes in /proc';

test('they answer as one server, whose metrics are the sum of theirs', { skip }, async () => {
  assert.equal(workersOf(pid()).length, 3);
  const admin = '/api/admin/v1/organizations';
  assert.equal((await call(admin, 'POST', { slug: 'acme', name: 'Acme' })).status, 201);
  const schema = { entities: { notes: { fields: { text: { type: 'string' } } } } };
  assert.equal((await call(`${admin}/acme/workspaces`, 'POST', { slug: 'w', name: 'W', schema })).status, 201);
  for (let index = 0; index < 12; index++) {
    assert.equal((await call('/api/v1/acme/w/notes', 'POST', { text: String(index) })).status, 201);
  }
  const metrics = await (await call('/metrics')).text();
  assert.match(metrics, /^wda_requests_total\{operation="create",status="201"\} 12$/m);
});

test('one that dies is replaced, and the others go on', { skip }, async () => {
  const [victim, ...others] = workersOf(pid()) as [number, ...number[]];
  process.kill(victim, 'SIGKILL');
  await until('it is gone', () => !workersOf(pid()).includes(victim));
  for (let index = 0; index < 30; index++) {
    const response = await call('/api/v1/acme/w/notes?size=1');
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as { meta: { totalElements: number } }).meta.totalElements, 12);
  }
  await until('all are there', () => workersOf(pid()).length === 3);
  for (const other of others) assert.ok(workersOf(pid()).includes(other));
});

test('while one dies and is replaced, its own requests are cut and all others answered', { skip }, async () => {
  const seen = new Map<string, number>();
  let isOver = false;
  const ask = async (): Promise<string> => {
    try {
      const response = await fetch(`${server.url}/api/v1/acme/w/notes?size=1`, {
        headers: { authorization: `Bearer ${ADMIN_KEY}`, connection: 'close' },
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      return String(response.status);
    } catch (error) {
      return (error as Error).name === 'TimeoutError' ? 'no answer' : 'cut';
    }
  };
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const outcome = await ask();
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
  });
  for (let round = 0; round < 2; round++) {
    const [victim] = workersOf(pid()) as [number, ...number[]];
    process.kill(victim, 'SIGKILL');
    await until('it is gone', () => !workersOf(pid()).includes(victim));
    await until('all are there', () => workersOf(pid()).length === 3 && workersOf(pid()).every(isListening));
  }
  isOver = true;
  await Promise.all(clients);
  assert.ok((seen.get('200') ?? 0) > 100);
  // The victims' own: at most one of each client.
  assert.ok((seen.get('cut') ?? 0) <= 16, JSON.stringify([...seen]));
  seen.delete('cut');
  assert.deepEqual([...seen.keys()], ['200']);
});

test('a primary that dies takes its workers with it', { skip }, async () => {
  const all = workersOf(pid());
  await server.kill();
  await until('they are gone', () => all.every((one) => !isAlive(one)));
  server = await startServerProcess({ DATABASE_URL: database.url, WDA_WORKERS: '2' });
  assert.equal((await call('/api/v1/acme/w/notes/12')).status, 200);
});

test('stopped in good order, all end', { skip }, async () => {
  const all = workersOf(pid());
  await server.stop();
  assert.equal(server.child.exitCode, 0);
  assert.ok(all.every((one) => !isAlive(one)));
  server = await startServerProcess({ DATABASE_URL: database.url, WDA_WORKERS: '1' });
});

test('they count a credential’s requests together', async () => {
  await server.stop();
  server = await startServerProcess({ DATABASE_URL: database.url, WDA_WORKERS: '3', WDA_RATE_LIMIT: '20' });
  const started = performance.now();
  const statuses: number[] = [];
  for (let index = 0; index < 40; index++) {
    const response = await call('/api/v1/acme/w/notes?size=1');
    statuses.push(response.status);
    if (response.status === 429) assert.match(response.headers.get('retry-after') ?? '', /^[1-3]$/);
  }
  // One is added every 3 s.
  const added = Math.ceil((performance.now() - started) / 3000);
  const count = (wanted: number): number => statuses.filter((status) => status === wanted).length;
  assert.ok(count(200) <= 20 + added, statuses.join());
  // A primary that answers late has given a token for nothing.
  assert.ok(count(200) + count(503) >= 20, statuses.join());
});

function isAlive(one: number): boolean {
  try {
    // A process that has ended and was not waited for is no more, either.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${one}/status`, 'utf8'));
  } catch {
    return false;
  }
}
