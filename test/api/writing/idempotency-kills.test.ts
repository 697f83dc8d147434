// Servers, their workers and PostgreSQL are killed and connections to the database ended at random moments, while clients
// create with keys and repeat until they are answered: there is exactly one record for each key.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOneForEach, createWhile, LINES } from '../../support/keyed-clients.ts';
import { makePostgres } from '../../support/postgres.ts';
import { use, useServer } from '../../support/resources.ts';
import { clientOf } from '../../support/server.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/wait-until.ts';
import { childrenOf, workersOf } from '../../support/workers.ts';

const KILLS = 5;

const server = useServer();
const lines = use(() => server.workspace('acme/kills', LINES));

const atRandom = (): Promise<void> => sleep(50 + Math.random() * 300);

test('one record for each key, whichever server and connection is killed', async () => {
  const env = { DATABASE_URL: server.database.url };
  let killed = await startServerProcess(env);

  async function kill(): Promise<void> {
    for (let kills = 0; kills < KILLS; kills++) {
      await atRandom();
      await server.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and random() < 0.3`,
      );
      await killed.kill();
      killed = await startServerProcess(env);
    }
  }

  try {
    const keys = await createWhile(kill, {
      path: 'acme/kills',
      credential: lines.key,
      urls: () => [killed.url, server.url],
    });
    assert.ok(keys > 100, `only ${keys} keys`);
    await assertOneForEach(keys, (text) => server.database.query(text), 'kills');
  } finally {
    await killed.stop();
  }
});

const skip = process.platform === 'linux' ? false : 'finds the processes in /proc';

test('one record for each key, whichever worker and process of PostgreSQL is killed', { skip }, async (t) => {
  const postgres = await makePostgres();
  const servers: ServerProcess[] = [];
  t.after(async () => {
    for (const one of servers) await one.stop();
    await postgres.remove();
  });
  await postgres.start();
  const env = { DATABASE_URL: postgres.url };
  const first = await startServerProcess({ ...env, WDA_WORKERS: '2' });
  servers.push(first);
  const second = await startServerProcess(env);
  servers.push(second);
  const { key } = await clientOf(first.url).workspace('acme/crashes', LINES);
  const victims = { worker: 0, backend: 0, postmaster: 0 };

  function strike(kind: keyof typeof victims, processes: readonly number[]): void {
    const victim = processes[Math.floor(Math.random() * processes.length)];
    assert.ok(victim !== undefined, `there is no ${kind}`);
    process.kill(victim, 'SIGKILL');
    victims[kind]++;
  }

  async function kill(acknowledged: () => number): Promise<void> {
    const some = (): Promise<void> => {
      const enough = acknowledged() + 5 + Math.random() * 30;
      return until('more keys are acknowledged', () => acknowledged() >= enough);
    };
    for (const kind of ['backend', 'postmaster', 'backend'] as const) {
      await until('there are two workers', () => workersOf(first.child.pid as number).length === 2);
      await some();
      strike('worker', workersOf(first.child.pid as number));
      await some();
      if (kind === 'backend') {
        // All others end with it: PostgreSQL recovers from its log.
        strike('backend', backendsOf(postgres.pid));
        continue;
      }
      strike('postmaster', [postgres.pid as number]);
      await until('PostgreSQL has ended', () => postgres.pid === undefined);
      // Its children may hold the memory that they shared for a moment longer.
      await until('PostgreSQL starts', () =>
        postgres.start().then(
          () => true,
          () => false,
        ),
      );
    }
  }

  const keys = await createWhile(kill, {
    path: 'acme/crashes',
    credential: key,
    urls: () => [first.url, second.url],
  });
  assert.deepEqual(victims, { worker: 3, backend: 2, postmaster: 1 });
  await assertOneForEach(keys, postgres.query, 'crashes');
});

/** Processes of PostgreSQL that serve a connection. */
function backendsOf(postmaster: number | undefined): number[] {
  if (postmaster === undefined) return [];
  return childrenOf(postmaster).filter((pid) => {
    try {
      return /^postgres: .*127\.0\.0\.1\(/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    } catch {
      return false;
    }
  });
}
