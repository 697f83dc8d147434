// Jobs in the background: turns one after the other, failures that end nothing, an end that waits for what runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJobMetrics, type Job, makeJobs } from '../../../src/jobs/jobs.ts';
import { until } from '../../support/wait-until.ts';

function makeScene(...jobs: Job[]) {
  const told: string[] = [];
  const note =
    (level: string) =>
    (message: string, { job, error }: Record<string, unknown>): void => {
      told.push(`${level} ${message}: ${job}: ${error}`);
    };
  return { told, jobs: makeJobs({ jobs, log: { debug: note('debug'), error: note('error') } }) };
}

const job = (name: string, run: () => Promise<unknown>): Job => ({ name, scope: 'process', everyMs: 1, run });

test('turns of a job come again and again, never two at once', async () => {
  let turns = 0;
  let atOnce = 0;
  const { jobs, told } = makeScene(
    job('count', async () => {
      assert.equal(++atOnce, 1);
      await new Promise((resolve) => setTimeout(resolve, 3));
      turns++;
      atOnce--;
    }),
  );
  jobs.start();
  jobs.start();
  await until('five turns', async () => turns >= 5);
  await jobs.stop();
  assert.deepEqual(told, []);
  assert.deepEqual(jobs.stats(), { runs: { count: turns }, failures: { count: 0 } });
});

test('no turn begins before the start or after the end, which waits for the one that runs', async () => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let ended = 0;
  const { jobs } = makeScene(
    job('wait', async () => {
      begun.resolve();
      await held.promise;
      ended++;
    }),
  );
  assert.equal(jobs.stats().runs.wait, 0);
  jobs.start();
  await begun.promise;
  const stopped = jobs.stop();
  held.resolve();
  await stopped;
  assert.equal(ended, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(jobs.stats().runs, { wait: 1 });
});

test('jobs that are added run with the others, before the start and after it', async () => {
  let [early, late] = [0, 0];
  const { jobs } = makeScene(job('first', async () => undefined));
  jobs.add([job('early', async () => early++)]);
  jobs.start();
  jobs.add([job('late', async () => late++)]);
  await until('both have run', async () => early > 0 && late > 0);
  await jobs.stop();
  assert.deepEqual(Object.keys(jobs.stats().runs), ['first', 'early', 'late']);
});

test('the first failure in a row is an error, others and what passes by itself are not', async () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const state = (code: string): Error => Object.assign(new Error(code), { code });
  const [odd, full] = [new Error('odd'), state('53100')];
  const outcomes: (Error | undefined)[] = [odd, odd, away, undefined, away, state('55P03'), full, full];
  const over = Promise.withResolvers<void>();
  const { jobs, told } = makeScene(
    job('fail', async () => {
      if (outcomes.length === 0) return over.resolve();
      const outcome = outcomes.shift();
      if (outcome !== undefined) throw outcome;
    }),
  );
  jobs.start();
  await over.promise;
  await jobs.stop();
  assert.deepEqual(
    told.map((line) => line.replace('a job in the background failed: fail: ', '')),
    [
      ...['error odd', 'debug odd', 'debug connect ECONNREFUSED'],
      ...['debug connect ECONNREFUSED', 'debug 55P03', 'error 53100', 'debug 53100'],
    ],
  );
  assert.equal(jobs.stats().failures.fail, 7);
});

test('a job that throws before it begins has failed, and the others go on', async () => {
  let turns = 0;
  const { jobs, told } = makeScene(
    job('broken', () => {
      throw new TypeError('broken');
    }),
    job('whole', async () => {
      turns++;
    }),
  );
  jobs.start();
  await until('three turns of each', async () => turns >= 3 && (jobs.stats().failures.broken ?? 0) >= 3);
  await jobs.stop();
  assert.equal(told[0], 'error a job in the background failed: broken: broken');
});

test('a pause that changes is asked for after each turn', async () => {
  const pauses = [1, 1, 1e8];
  let turns = 0;
  const { jobs } = makeScene({
    name: 'rare',
    scope: 'process',
    everyMs: () => pauses.shift() ?? 1,
    run: async () => {
      turns++;
    },
  });
  jobs.start();
  await until('the long pause', async () => pauses.length === 0);
  await jobs.stop();
  assert.equal(turns, 2);
});

test('figures tell turns and failures of each job', async () => {
  const { jobs } = makeScene(
    job('a', async () => undefined),
    job('b', async () => undefined),
  );
  assert.deepEqual(
    getJobMetrics(jobs).map(({ name, read }) => [name, read()]),
    [
      ['wda_job_runs_total', { a: 0, b: 0 }],
      ['wda_job_failures_total', { a: 0, b: 0 }],
    ],
  );
});
