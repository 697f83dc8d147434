// What is acknowledged is in force everywhere, also when a process stands still, dies, or is told nothing.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/wait-until.ts';

let second: ServerProcess | undefined;
const first = useServer();
const workspace = use(() => first.workspace('acme/w', { entities: { notes: { fields: { a: { type: 'string' } } } } }));
prepare(async () => {
  // From its first answer on it is one of those that others wait for.
  assert.equal((await workspace.call('notes')).status, 200);
});

afterEach(async () => {
  second?.child.kill('SIGCONT');
  await second?.stop();
  second = undefined;
});

/** Another server process, which has answered and so has the workspace and the credential in memory. */
async function startSecond(credential = workspace.key): Promise<ServerProcess> {
  second = await startServerProcess({ DATABASE_URL: first.database.url });
  assert.equal((await ask('notes', credential)).status, 200);
  return second;
}

async function ask(path: string, credential = workspace.key, body?: unknown): Promise<Pick<Answer, 'status' | 'json'>> {
  const response = await fetch(`${second?.url}/api/v1/acme/w/${path}`, {
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

async function makeKey(): Promise<{ readonly id: number; readonly key: string }> {
  return (await workspace.admin('api-keys', { method: 'POST', body: { name: 'k' } })).json.data;
}

const processes = async (): Promise<number> =>
  Number((await first.database.query('select count(*) as n from wda.process'))[0]?.n);

const skip = process.platform === 'win32' ? 'signals' : false;

test('a process that stood still answers nothing from before when it goes on', { skip }, async () => {
  const { id, key } = await makeKey();
  const stopped = await startSecond(key);
  for (let index = 0; index < 20; index++) assert.equal((await ask('notes?size=1', key)).status, 200);
  stopped.child.kill('SIGSTOP');
  assert.equal((await workspace.admin(`api-keys/${id}`, { method: 'DELETE' })).status, 204);
  const added = { entities: { notes: { fields: { a: { type: 'string' }, b: { type: 'string' } } } } };
  const { json } = await workspace.admin('schema?wait=30', { method: 'PUT', body: added });
  assert.equal(json.data.state, 'succeeded');
  // They wait in front of a process that does not run.
  const revoked = Array.from({ length: 4 }, () => ask('notes?size=1', key));
  const created = Array.from({ length: 4 }, () => ask('notes', workspace.key, { b: 'x' }));
  await sleep(50);
  stopped.child.kill('SIGCONT');
  for (const { status } of await Promise.all(revoked)) assert.equal(status, 401);
  for (const { status, json: made } of await Promise.all(created)) assert.equal(status, 201, JSON.stringify(made));
  assert.equal(await processes(), 2);
});

test('a process that was killed is waited for by one change, and gone afterwards', { skip }, async () => {
  const killed = await startSecond();
  assert.equal(await processes(), 2);
  await killed.kill();
  second = undefined;
  assert.equal(await processes(), 2);
  await makeKey();
  // The row goes a moment after the answer, which does not wait for that.
  await until('the row goes', async () => (await processes()) === 1);
});

test('a process that ends in good order takes its row with it', { skip }, async () => {
  const ended = await startSecond();
  assert.equal(await processes(), 2);
  await ended.stop();
  second = undefined;
  assert.equal(await processes(), 1);
});

test('nothing depends on notifications', { skip }, async () => {
  await startSecond();
  let isOver = false;
  const deaf = (async () => {
    while (!isOver) {
      await first.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'workspace-data-api listening'`,
      );
      await sleep(5);
    }
  })();
  try {
    for (let round = 0; round < 5; round++) {
      const { id, key } = await makeKey();
      for (let index = 0; index < 4; index++) assert.equal((await ask('notes?size=1', key)).status, 200);
      assert.equal((await workspace.admin(`api-keys/${id}`, { method: 'DELETE' })).status, 204);
      for (let index = 0; index < 4; index++) assert.equal((await ask('notes?size=1', key)).status, 401);
    }
  } finally {
    isOver = true;
    await deaf;
  }
  // And it listens again when it is let be.
  await until('both listen', async () => {
    const rows = await first.database.query(
      `select 1 from pg_stat_activity
where datname = current_database() and application_name = 'workspace-data-api listening' and query ilike '%listen%'`,
    );
    return rows.length === 2;
  });
});

test('a change that is followed elsewhere has ended only when it holds everywhere', { skip }, async () => {
  await startSecond();
  const fields: Record<string, unknown> = { a: { type: 'string' }, b: { type: 'string' } };
  for (let round = 0; round < 5; round++) {
    fields[`c${round}`] = { type: 'string', ...(round % 2 === 0 ? { index: true } : {}) };
    await ask('notes?size=1');
    const started = await workspace.admin('schema?wait=0', {
      method: 'PUT',
      body: { entities: { notes: { fields } } },
    });
    const { id } = started.json.data;
    await until('it succeeds', async () => (await workspace.admin(`migrations/${id}`)).json.data.state === 'succeeded');
    for (let index = 0; index < 4; index++) {
      assert.equal((await ask('notes', workspace.key, { [`c${round}`]: 'x' })).status, 201);
    }
  }
});
