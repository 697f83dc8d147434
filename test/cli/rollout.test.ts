// `wda rollout`: plans, starts and follows rollouts, and says what to do about workspaces that have failed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { makeFleet } from '../support/shared-schema.ts';
import { type Outcome, wda } from './wda.ts';

const server = useServer();
const TITLE = { type: 'string' };
const fleet = use(() =>
  makeFleet(server, 'acme', [
    { entities: { tickets: { fields: { title: TITLE } } } },
    { entities: { tickets: { fields: { title: { ...TITLE, required: true } } } } },
    { entities: { tickets: { fields: { title: { ...TITLE, required: true }, note: TITLE } } } },
  ]),
);
prepare(async () => {
  await fleet.follow(['a', 'b', 'c'], 1);
  const answer = await fleet.organization('/workspaces/b/api-keys', 'POST', { name: 'owner', permissions: 'OWNER' });
  const credential = answer.json.data.key;
  assert.equal((await server.call('/api/v1/acme/b/tickets', { method: 'POST', credential, body: {} })).status, 201);
});

const run = (...args: readonly string[]): Promise<Outcome> =>
  wda(['rollout', ...args], { env: { WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY } });

test('a plan shows the records in the way, and changes nothing', async () => {
  const { code, stdout, stderr } = await run('plan', 'acme/desk', '--version', '2');
  assert.equal(code, 5, stderr);
  assert.match(stdout, /Ready +2\nRecords in the way +1/);
  assert.match(stdout, /WORKSPACE +IN THE WAY +RECORDS +SUCH AS ID\nacme\/b +tickets\.title +1 +1/);
  assert.deepEqual(await fleet.versions(), { a: 1, b: 1, c: 1 });
});

test('a start waits for the end, and ends with 5 and what to do when some have failed', async () => {
  const { code, stdout, stderr } = await run(
    'start',
    'acme/desk',
    '--version',
    '2',
    '--waves',
    '1,50%,rest',
    '--concurrency',
    '1',
  );
  assert.equal(code, 5, stdout);
  assert.match(stdout, /State +finishedWithFailures/);
  assert.match(stdout, /WAITING +RUNNING +SUCCEEDED +UNCHANGED +FAILED +SKIPPED\n +0 +0 +2 +0 +1 +0/);
  assert.match(
    stdout,
    /acme\/b +failed +DATA_CONFLICT .* change 1 record of tickets\.title \(id 1\), then rollout retry/,
  );
  assert.match(stderr, /1 workspace of rollout \d+ has failed and is as it was/);
  const { code: status, stdout: json } = await run('status', 'acme/desk', '--json');
  const { state, counts, failures } = JSON.parse(json);
  assert.deepEqual([status, state, counts.failed], [0, 'finishedWithFailures', 1]);
  assert.deepEqual([failures[0].workspace, failures[0].error.sampleIds], ['b', [1]]);
});

test('with --confirm it ends at each pause, and the others mean the newest rollout', async () => {
  const started = await run('start', 'acme/desk', '--version', '3', '--workspaces', 'c,a', '--waves', '1', '--confirm');
  assert.equal(started.code, 0, started.stderr);
  assert.match(started.stdout, /State +paused\nWave +1/);
  assert.match(started.stdout, /It goes on by: wda rollout resume acme\/desk --id \d+/);
  const resumed = await run('resume', 'acme/desk');
  assert.equal(resumed.code, 0);
  assert.match(resumed.stdout, /Watch it: {2}wda rollout watch acme\/desk --id \d+/);
  const { code, stdout } = await run('watch', 'acme/desk', '--json');
  assert.deepEqual([code, JSON.parse(stdout).state], [0, 'succeeded']);
  const refused = await run('pause', 'acme/desk');
  assert.deepEqual([refused.code, /one that is planning or running can be paused/.test(refused.stderr)], [1, true]);
  assert.deepEqual(await fleet.versions(), { a: 3, b: 1, c: 3 });
});

test('what is wrong on the line is a wrong usage, and what is not there is refused', async () => {
  for (const args of [
    ['start', 'acme', '--version', '2'],
    ['start', 'acme/desk'],
    ['start', 'acme/desk', '--version', 'two'],
    ['status', 'acme/desk', '--id', 'newest'],
  ])
    assert.equal((await run(...args)).code, 2, args.join(' '));
  const { code, stderr } = await run('start', 'acme/desk', '--version', '9', '--workspaces', 'a,x');
  assert.deepEqual([code, /versions are 1 to 3/.test(stderr), /x does not follow desk/.test(stderr)], [1, true, true]);
  assert.equal((await run('status', 'acme/tasks')).code, 1);
});
