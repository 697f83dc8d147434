// Jobs of which one process of the installation does its turn at a time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Database } from '../../../src/database/pool.ts';
import { runExclusively } from '../../../src/jobs/exclusive.ts';
import { makeJobs } from '../../../src/jobs/jobs.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { createTestDatabase, openDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/wait-until.ts';

let database: TestDatabase;
/** As two processes have them. */
let one: Database;
let other: Database;

before(async () => {
  database = await createTestDatabase();
  [one, other] = [openDatabase(database.url), openDatabase(database.url)];
});
after(async () => {
  await Promise.all([one.close(), other.close()]);
  await database.drop();
});

test('while one process is at it, others of the installation leave it alone, other work goes on', async () => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const first = runExclusively(one, 'tidy', async () => {
    begun.resolve();
    await held.promise;
  });
  await begun.promise;
  assert.equal(await runExclusively(other, 'tidy', () => assert.fail('ran twice')), false);
  assert.equal(await runExclusively(other, 'deliver', async () => undefined), true);
  held.resolve();
  assert.equal(await first, true);
  assert.equal(await runExclusively(other, 'tidy', async () => undefined), true);
});

test('work that fails is undone and leaves no lock behind', async () => {
  const work = runExclusively(one, 'tidy', async (session) => {
    await session.query(toQuery(sql`create schema left_over`));
    throw new Error('odd');
  });
  await assert.rejects(work, /odd/);
  const [row] = await other.query(toQuery(sql`select to_regnamespace('left_over') as found`));
  assert.deepEqual(row, { found: null });
  assert.equal(await runExclusively(other, 'tidy', async () => undefined), true);
});

test('the jobs of two processes take turns', async () => {
  let atOnce = 0;
  const turns = { one: 0, other: 0 };
  const jobsOf = (db: Database, name: keyof typeof turns) =>
    makeJobs({
      jobs: [
        {
          name: 'shared',
          scope: 'installation',
          db,
          everyMs: 2,
          run: async (session) => {
            assert.equal(++atOnce, 1);
            await session.query(toQuery(sql`select pg_sleep(0.005)`));
            turns[name]++;
            atOnce--;
          },
        },
      ],
      log: { debug: () => undefined, error: (message, facts) => assert.fail(`${message} ${JSON.stringify(facts)}`) },
    });
  const processes = [jobsOf(one, 'one'), jobsOf(other, 'other')];
  for (const jobs of processes) jobs.start();
  await until('three turns of each', async () => turns.one >= 3 && turns.other >= 3);
  await Promise.all(processes.map((jobs) => jobs.stop()));
  assert.deepEqual(
    processes.map((jobs) => jobs.stats().failures.shared),
    [0, 0],
  );
});
