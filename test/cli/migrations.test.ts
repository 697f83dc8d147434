// Changes of a schema with records in it, by the command line against a real server: what is shown before, meanwhile and
// after, and what a script gets.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { useServer } from '../support/resources.ts';
import { ADMIN_KEY, type TestWorkspace } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Outcome, type Spawned, spawnWda, wda } from './wda.ts';

const NOTES = { text: { type: 'string' }, weight: { type: 'string' }, size: { type: 'integer' } };

let count = 0;
const server = useServer();
const folder = useFolder();

interface Story {
  readonly workspace: TestWorkspace;
  readonly name: string;
  /** Runs a command for the workspace. */
  readonly run: (args: readonly string[], invocation?: Spawned) => Promise<Outcome>;
  /** A schema file whose entity `notes` has these fields. */
  readonly file: (fields: unknown) => Promise<string>;
}

async function story(): Promise<Story> {
  const name = `acme/c${++count}`;
  const workspace = await server.workspace(name, { entities: { notes: { fields: NOTES } } });
  await workspace.create('notes', [
    { text: 'a', weight: '1' },
    { text: 'a', weight: '2.50' },
    { text: 'b', weight: 'heavy' },
  ]);
  const env = { WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY, WDA_WORKSPACE: name };
  return {
    workspace,
    name,
    run: (args, invocation = {}) =>
      (invocation.onStart === undefined ? wda : spawnWda)(args, { ...invocation, env: { ...env, ...invocation.env } }),
    async file(fields) {
      const path = join(folder, `${count}.json`);
      await writeFile(path, JSON.stringify({ entities: { notes: { fields } } }));
      return path;
    },
  };
}

const NUMBER = { ...NOTES, weight: { type: 'decimal' } };
const INDEXED = { ...NOTES, text: { type: 'string', index: true } };

/** While a transaction with an old snapshot is open, no index is finished concurrently. */
async function holdingBack<T>(work: (release: () => Promise<void>) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  await client.query('begin isolation level repeatable read; select count(*) from wda.instance');
  let ended: Promise<void> | undefined;
  const release = (): Promise<void> => {
    ended ??= client.end();
    return ended;
  };
  try {
    return await work(release);
  } finally {
    await release();
  }
}

/** Resolves when the command has said something on stderr. */
const says = async (child: ChildProcess, words: RegExp): Promise<void> => {
  let text = '';
  for (;;) {
    const [chunk] = (await once(child.stderr as NonNullable<typeof child.stderr>, 'data')) as [Buffer];
    text += chunk.toString();
    if (words.test(text)) return;
  }
};

test('a plan names the records in the way, and the strategy decides what is blocked', async () => {
  const { run, file } = await story();
  const path = await file(NUMBER);
  const online = await run(['schema', 'plan', path]);
  assert.equal(online.code, 0, online.stderr);
  assert.equal(
    online.stdout,
    `#  STEP                                                 DESTROYS DATA  BLOCKS  TIME  IN THE WAY
1  change field weight of notes from string to decimal  -              -       1 s   1 record

Step 1: 1 record stands in the way, such as id 3
With these records the migration would fail and change nothing.
`,
  );
  const blocking = await run(['schema', 'plan', path, '--strategy', 'blocking']);
  assert.match(blocking.stdout, /^1 .* reads, writes .* 1 record$/m);
  assert.match(blocking.stdout, /get 503 with Retry-After/);
  const plan = JSON.parse((await run(['schema', 'plan', path, '--strategy', 'blocking', '--json'])).stdout);
  assert.equal(plan.steps[0].blocksReads, true);
  assert.deepEqual(plan.steps[0].conflicts, { count: 1, sampleIds: [3] });
});

test('a migration that fails says why, how many records and which, and that nothing has changed', async () => {
  const { run, file, workspace } = await story();
  const path = await file(NUMBER);
  const { code, stdout, stderr } = await run(['schema', 'apply', path]);
  assert.equal(code, 1);
  assert.match(stdout, /^State +failed$/m);
  assert.match(
    stdout,
    /^DATA_CONFLICT: 1 record stands in the way in notes: .*\n {2}1 record of notes\.weight, such as id 3$/m,
  );
  assert.match(stderr, /^Error: Migration \d+ has failed\nNothing has been changed\. Change or delete the records/);
  assert.deepEqual((await workspace.call('notes/3')).json.data, { id: 3, text: 'b', weight: 'heavy', size: null });

  const scripted = await run(['schema', 'apply', path, '--json']);
  assert.equal(scripted.code, 1);
  const migration = JSON.parse(scripted.stdout);
  assert.deepEqual([migration.state, migration.error.code, migration.error.count], ['failed', 'DATA_CONFLICT', 1]);
  assert.equal(JSON.parse(scripted.stderr).error.code, 'FAILED');

  await workspace.call('notes/3', { method: 'PATCH', body: { weight: '30' } });
  const applied = await run(['schema', 'apply', path, '--strategy', 'blocking']);
  assert.equal(applied.code, 0, applied.stderr);
  assert.match(applied.stdout, /^Applied .* 1 step\n {2}change field weight of notes from string to decimal\n$/);
  assert.equal((await workspace.call('notes/3')).json.data.weight, 30);
});

test('data goes only with leave, and what goes is shown before it does', async () => {
  const { run, file, workspace, name } = await story();
  const path = await file({ text: NOTES.text, size: NOTES.size });
  const refused = await run(['schema', 'apply', path]);
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout, '');
  assert.match(
    refused.stderr,
    /409 DESTRUCTIVE_CHANGE[\s\S]*drop field weight of notes[\s\S]*Nothing has been changed/,
  );
  assert.ok(refused.stderr.includes(`wda schema apply ${path} -w ${name} --allow-destructive`), refused.stderr);
  assert.equal((await workspace.call('notes/3')).json.data.weight, 'heavy');
  const applied = await run(['schema', 'apply', path, '--allow-destructive']);
  assert.equal(applied.code, 0, applied.stderr);
  assert.equal(applied.stderr, 'This destroys data:\n  drop field weight of notes and its values\n');
  assert.deepEqual((await workspace.call('notes/3')).json.data, { id: 3, text: 'b', size: null });
  // Nothing goes, so nothing is said.
  assert.equal((await run(['schema', 'apply', await file(NOTES), '--allow-destructive'])).stderr, '');
  const scripted = await run(['schema', 'apply', path, '--allow-destructive', '--json']);
  assert.deepEqual([scripted.code, scripted.stderr], [0, '']);
  assert.equal(JSON.parse(scripted.stdout).state, 'succeeded');
});

test('without a terminal a running migration is a line for each step, and nothing with --json', async () => {
  for (const extra of [[], ['--json']]) {
    const { run, file } = await story();
    const path = await file(INDEXED);
    const { code, stdout, stderr } = await holdingBack((release) =>
      run(['schema', 'apply', path, ...extra], {
        onStart: (child) => {
          if (extra.length === 0) says(child, /Step 1/).then(release);
          // Longer than the first wait, so that the migration is followed.
          else setTimeout(release, 2000);
        },
      }),
    );
    assert.equal(code, 0, stderr);
    if (extra.length === 0) {
      assert.match(stderr, /^Step 1 of 1: add an index on text of notes\n(Migration \d+: putting it in force\n)?$/);
      assert.match(stdout, /^Applied /);
    } else {
      assert.equal(stderr, '');
      assert.equal(JSON.parse(stdout).state, 'succeeded');
    }
  }
});

test('Ctrl-C leaves the migration running and says how to watch and how to cancel it', async () => {
  const { run, file, name } = await story();
  const path = await file({ ...INDEXED, size: { type: 'bigint' } });
  await holdingBack(async () => {
    const { code, stderr } = await run(['schema', 'apply', path], {
      onStart: (child) => {
        says(child, /Step 2 of 2: add an index/).then(() => child.kill('SIGINT'));
      },
    });
    assert.equal(code, 130);
    const said = new RegExp(
      `Migration (\\d+) goes on without this command\\.\nWatch it: +wda migration show \\1 --follow -w ${name}\nStop it: +wda migration cancel \\1 -w ${name}\n$`,
    );
    const [, id = ''] = said.exec(stderr) ?? assert.fail(stderr);
    const running = JSON.parse((await run(['migration', 'show', id, '--json'])).stdout);
    assert.equal(running.state, 'running');
    const records = (migration: { steps: { records: unknown }[] }): unknown[] => migration.steps.map((s) => s.records);
    assert.deepEqual(records(running), [{ done: 3, total: 3 }, null]);
    const cancelled = await run(['migration', 'cancel', id]);
    assert.equal(cancelled.code, 0, cancelled.stderr);
    // They are counted only while it runs.
    assert.deepEqual(records(JSON.parse((await run(['migration', 'show', id, '--follow', '--json'])).stdout)), [
      null,
      null,
    ]);
    const followed = await run(['migration', 'show', id, '--follow']);
    assert.equal(followed.code, 1);
    assert.match(followed.stdout, /^State +cancelled$/m);
    assert.match(followed.stderr, /has been cancelled/);
  });
});
