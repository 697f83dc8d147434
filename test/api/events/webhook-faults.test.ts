// Processes that send messages of webhooks are killed, stopped for a while and ended: another one goes on, nothing is skipped,
// and what comes twice has the same id and text. The server of the tests itself sends nothing.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ReceivedMessage, startReceiver } from '../../support/receiver.ts';
import { use, useDatabase, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = { entities: { notes: { fields: { n: { type: 'integer' } }, settings: { changes: 'feed' } } } } as const;

const database = useDatabase();
const server = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow', WDA_WEBHOOKS: 'off' }, { database });
const receiver = use(startReceiver, (one) => one.stop());
const processes: ServerProcess[] = [];
let count = 0;

afterEach(async () => {
  for (const one of processes.splice(0)) {
    one.child.kill('SIGCONT');
    await one.kill();
  }
  receiver.clear();
  receiver.answer(204);
});

async function startSender(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const one = await startServerProcess({
    DATABASE_URL: database.url,
    WDA_WEBHOOK_PRIVATE_NETWORK: 'allow',
    WDA_WEBHOOK_RETRY_SECONDS: '1',
    WDA_WEBHOOK_TIMEOUT_MS: '60000',
    ...env,
  });
  processes.push(one);
  return one;
}

async function makeHook() {
  const shop = await server.workspace(`acme/faults${++count}`, SCHEMA);
  // The webhook of an earlier test may send something again, to another path.
  const path = `/hooks/${count}`;
  const messages = () => receiver.messages.filter((message) => message.path === path);
  const { status, json, text } = await shop.admin('webhooks', {
    method: 'POST',
    body: { name: 'one', url: `${receiver.origin}${path}` },
  });
  assert.equal(status, 201, text);
  const { id } = json.data;
  return {
    shop,
    id,
    path,
    messages,
    async receive(total: number) {
      await until(`${total} messages at ${path}`, () => messages().length >= total);
      return messages();
    },
    read: async () => (await shop.admin(`webhooks/${id}`)).json.data,
    deliveries: async () => (await shop.admin(`webhooks/${id}/deliveries?size=200`)).json.data,
    row: async () => (await database.query('select * from wda.webhook where id = $1', [id]))[0],
  };
}

const numbers = (messages: readonly ReceivedMessage[]): number[] =>
  messages.map(({ body }) => JSON.parse(body).data.record.n);
const idOf = ({ headers }: ReceivedMessage) => headers['webhook-id'];

/** Lets the messages that come wait for their answers. */
function hold(): ServerResponse[] {
  const held: ServerResponse[] = [];
  receiver.answer((response) => held.push(response));
  return held;
}

test('after kill -9 another process sends the message under way again, and goes on', async () => {
  const { shop, deliveries, receive } = await makeHook();
  const first = await startSender();
  hold();
  await shop.create('notes', [{ n: 0 }, { n: 1 }, { n: 2 }]);
  await receive(1);
  await startSender();
  receiver.answer(204);
  await first.kill();
  const messages = await receive(4);
  assert.deepEqual(numbers(messages), [0, 0, 1, 2]);
  assert.deepEqual([idOf(messages[1]!), messages[1]!.body], [idOf(messages[0]!), messages[0]!.body]);
  await until('all is in the log', async () => (await deliveries()).length === 3);
  assert.ok((await deliveries()).every(({ state }: { state: string }) => state === 'delivered'));
});

test('a process that was stopped and has lost its lease changes nothing when it goes on', async () => {
  const { shop, deliveries, read, row, receive } = await makeHook();
  const first = await startSender();
  const held = hold();
  await shop.create('notes', [{ n: 0 }, { n: 1 }]);
  await receive(1);
  first.child.kill('SIGSTOP');
  const second = await startSender();
  receiver.answer(204);
  const messages = await receive(3);
  assert.deepEqual(numbers(messages), [0, 0, 1]);
  await until('all is in the log', async () => (await read()).pending === 0);
  const before = await row();
  held[0]!.writeHead(500).end();
  first.child.kill('SIGCONT');
  await until('the first one runs again', async () => (await fetch(`${first.url}/readyz`)).status === 200);
  await second.stop();
  await shop.create('notes', [{ n: 2 }]);
  assert.deepEqual(numbers(await receive(4)), [0, 0, 1, 2]);
  await until('it is in the log', async () => (await deliveries()).length === 3);
  const log = await deliveries();
  assert.deepEqual(
    log.map(({ state, attempts }: { state: string; attempts: number }) => [state, attempts]),
    new Array(3).fill(['delivered', 1]),
  );
  assert.deepEqual([(await row())?.failures, before?.failures], [0, 0]);
});

test('a process that ends in good order gives its leases back, and cuts what is under way', async () => {
  const { shop, row, receive } = await makeHook();
  const first = await startSender();
  hold();
  await shop.create('notes', [{ n: 0 }, { n: 1 }]);
  await receive(1);
  assert.notEqual((await row())?.lease, null);
  await first.stop();
  const { lease, due_at: dueAt, attempts } = (await row()) ?? {};
  assert.deepEqual([lease, dueAt === null, attempts], [null, false, 0]);
  receiver.answer(204);
  await startSender();
  assert.deepEqual(numbers(await receive(3)), [0, 0, 1]);
});

test('a webhook whose receiver has failed for long is disabled by the server, which tells the log and the activity', async () => {
  const { shop, id, read, messages, receive } = await makeHook();
  // 1.8 s.
  const sender = await startSender({ WDA_WEBHOOK_DISABLE_HOURS: '0.0005' });
  receiver.answer((response) => response.writeHead(500).end('secret answer'));
  await shop.create('notes', [{ n: 0 }]);
  await until('it is disabled', async () => (await read()).disabledReason === 'failing');
  await until('the activity has it', async () => {
    const { json } = await shop.admin('activity?action=webhooks.disable');
    return json.data[0]?.details.reason === 'failing' && json.data[0].actor.kind === 'server';
  });
  const lines = () => sender.lines.filter((line) => line.includes('webhook'));
  await until('the log has it', () => lines().some((line) => line.includes('a webhook was disabled')));
  const failed = JSON.parse(lines().find((line) => line.includes('was not delivered')) ?? '{}');
  const { host } = new URL(receiver.origin);
  assert.deepEqual([failed.webhook, failed.host, failed.status], [String(id), host, 500]);
  assert.ok(!lines().some((line) => line.includes('secret answer') || line.includes('whsec_')));
  // Enabled it goes on, with the same message.
  const [tried] = messages();
  receiver.answer(204);
  receiver.clear();
  assert.equal((await shop.admin(`webhooks/${id}`, { method: 'PUT', body: { enabled: true } })).status, 200);
  const [again] = await receive(1);
  assert.deepEqual([idOf(again!), again!.body], [idOf(tried!), tried!.body]);
});

test('a workspace that is deleted while its messages wait leaves no error in the log', async () => {
  const { shop, receive } = await makeHook();
  const other = await makeHook();
  const slug = shop.path.split('/')[1];
  const sender = await startSender();
  receiver.answer(500);
  await shop.create('notes', [{ n: 0 }]);
  await receive(1);
  assert.equal(
    (
      await server.call(`/api/admin/v1/organizations/acme/workspaces/${slug}?confirm=${slug}`, {
        method: 'DELETE',
        credential: ADMIN_KEY,
      })
    ).status,
    204,
  );
  receiver.answer(204);
  receiver.clear();
  await other.shop.create('notes', [{ n: 7 }]);
  assert.deepEqual(numbers(await other.receive(1)), [7]);
  assert.ok(!sender.lines.some((line) => line.startsWith('{') && JSON.parse(line).level >= 50));
});

test('while it is off nothing is sent, and afterwards everything', async () => {
  const { shop, messages, receive } = await makeHook();
  const off = await startSender({ WDA_WEBHOOKS: 'off' });
  await shop.create('notes', [{ n: 0 }]);
  await until('its jobs run', async () =>
    /wda_job_runs_total\{kind="watch-operator-key"\} [3-9]/.test(await (await fetch(`${off.url}/metrics`)).text()),
  );
  assert.equal(messages().length, 0);
  await startSender();
  assert.deepEqual(numbers(await receive(1)), [0]);
});

test('workers of one server share the work, and each message is sent once', async () => {
  const hooks = [await makeHook(), await makeHook(), await makeHook()];
  const sender = await startSender({ WDA_WORKERS: '2' });
  const create = async ({ shop }: (typeof hooks)[number]) => {
    for (let n = 0; n < 20; n++) await shop.create('notes', [{ n }]);
  };
  await Promise.all(hooks.map(create));
  const messages = (await Promise.all(hooks.map(({ receive }) => receive(20)))).flat();
  await until('all is in the log', async () =>
    (await Promise.all(hooks.map(({ read }) => read()))).every(({ pending }) => pending === 0),
  );
  assert.deepEqual(
    hooks.map((hook) => hook.messages().length),
    [20, 20, 20],
  );
  assert.equal(new Set(messages.map(idOf)).size, 60);
  await until('the metrics of all processes count them', async () => {
    const text = await (await fetch(`${sender.url}/metrics`)).text();
    return Number(/^wda_webhook_attempts_total\{result="delivered"\} (\d+)$/m.exec(text)?.[1]) >= 60;
  });
  await sender.stop();
  for (const { row } of hooks) assert.equal((await row())?.lease, null);
});

test('a webhook has each change of an entity that is renamed while it is written to', async () => {
  const { shop, path, read } = await makeHook();
  const hook = { name: 'named', url: `${receiver.origin}/named`, entities: ['notes'] };
  assert.equal((await shop.admin('webhooks', { method: 'POST', body: hook })).status, 201);
  const { url } = await startSender();
  let names = ['notes'];
  const ids: number[] = [];
  let isOver = false;
  async function write() {
    while (!isOver)
      for (const name of names) {
        const { status, json } = await shop.call(name, { method: 'POST', body: {} });
        if (status === 201) ids.push(json.data.id);
        // Each change is a message, and all of them have to arrive in the end.
        await sleep(10);
      }
  }
  // A process that answers requests looks for another schema from time to time only.
  async function visit() {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    while (!isOver) await (await fetch(`${url}/api/v1/${shop.path}/${names[0]}?size=1`, { headers })).text();
  }
  const working = Promise.all([write(), write(), visit()]);
  for (const next of ['memos', 'notes', 'memos', 'notes', 'memos', 'notes', 'memos', 'notes']) {
    const before = names.at(-1) as string;
    names = [before, next];
    const entities = { [next]: { ...SCHEMA.entities.notes, renamedFrom: before } };
    const answer = await shop.admin('schema', { method: 'PUT', body: { entities } });
    assert.ok(answer.status < 300, answer.text);
    names = [next];
    const written = ids.length;
    await until('it is written to by its new name', () => ids.length > written + 5);
  }
  isOver = true;
  await working;
  const receivedAt = (at: string): Set<number> =>
    new Set(
      receiver.messages.filter((message) => message.path === at).map(({ body }) => JSON.parse(body).data.recordId),
    );
  const last = Math.max(...ids);
  await until('the last change is there', () => receivedAt(path).has(last) && receivedAt('/named').has(last));
  await until('nothing waits', async () => (await read()).pending === 0);
  for (const place of [path, '/named'])
    assert.deepEqual(
      ids.filter((id) => !receivedAt(place).has(id)),
      [],
    );
});
