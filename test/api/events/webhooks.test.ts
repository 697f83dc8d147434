// What a receiver of a webhook gets, over real HTTP: messages, order, attempts, batches, and what ends them.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import pg from 'pg';
import { type ReceivedMessage, startReceiver } from '../../support/receiver.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { verifyMessage } from '../../support/standard-webhooks.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = {
  entities: {
    orders: {
      fields: {
        status: { type: 'string' },
        total: { type: 'decimal', precision: 12, scale: 2 },
        n: { type: 'integer' },
      },
      settings: { changes: 'feed' },
    },
    notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } },
    people: { fields: { name: { type: 'string' } }, settings: { changes: 'history' } },
  },
};

const server = useServer({
  WDA_WEBHOOK_PRIVATE_NETWORK: 'allow',
  WDA_WEBHOOK_RETRY_SECONDS: '1',
  WDA_WEBHOOK_TIMEOUT_MS: '2000',
});
const other = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow', WDA_WEBHOOK_RETRY_SECONDS: '1' }, server);
const receiver = use(startReceiver, (one) => one.stop());
let shop: Awaited<ReturnType<typeof server.workspace>>;
let count = 0;

/** Makes a workspace, so that nothing of another test is in its feed. */
async function open() {
  shop = await server.workspace(`acme/shop${++count}`, SCHEMA);
  receiver.clear();
  receiver.answer(204);
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the server
type Json = any;

interface Hook {
  readonly id: number;
  readonly secret: string;
  readonly path: string;
  readonly read: () => Promise<Json>;
  readonly put: (body: object) => Promise<Json>;
  readonly post: (path: string, body?: object) => Promise<Json>;
  readonly deliveries: (query?: string) => Promise<Json[]>;
  /** Messages at its path, those of the same event among them. */
  readonly messages: () => readonly ReceivedMessage[];
  readonly receive: (total: number) => Promise<readonly ReceivedMessage[]>;
}

async function makeHook(members: object = {}, workspace = shop): Promise<Hook> {
  const path = `/hooks/${++count}`;
  const call = async (below: string, method: string, body?: object): Promise<Json> => {
    const answer = await workspace.admin(`webhooks${below}`, { method, ...(body === undefined ? {} : { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.json?.data;
  };
  const { id, secret } = await call('', 'POST', {
    name: `hook ${count}`,
    url: `${receiver.origin}${path}`,
    ...members,
  });
  const messages = () => receiver.messages.filter((message) => message.path === path);
  return {
    id,
    secret,
    path,
    read: () => call(`/${id}`, 'GET'),
    put: (body) => call(`/${id}`, 'PUT', body),
    post: (below, body) => call(`/${id}/${below}`, 'POST', body ?? {}),
    deliveries: (query = '') => call(`/${id}/deliveries${query}`, 'GET'),
    messages,
    async receive(total) {
      await until(`${total} messages at ${path}`, () => messages().length >= total);
      return messages();
    },
  };
}

const parse = ({ body }: ReceivedMessage): Json => JSON.parse(body);
const idOf = ({ headers }: ReceivedMessage) => String(headers['webhook-id']);
const eventsOf = (message: ReceivedMessage): Json[] => [parse(message).data].flat();
/** Answers a status to messages that have the text, 204 to others. */
const refuse = (text: string, status = 500): void =>
  receiver.answer((response, { body }) => response.writeHead(body.includes(text) ? status : 204).end());

describe('messages', () => {
  prepare(open);

  test('each change is a message, in order, signed, and to the byte the event of the feed', async () => {
    const hook = await makeHook();
    const [order] = await shop.create('orders', [{ status: 'open', total: '12.50' }]);
    await shop.call(`orders/${order.id}`, { method: 'PATCH', body: { status: 'paid' } });
    await shop.call(`orders/${order.id}`, { method: 'DELETE' });
    await shop.create('notes', [{ text: 'ü' }]);
    const messages = await hook.receive(4);
    const types = ['orders.created', 'orders.updated', 'orders.removed', 'notes.created'];
    assert.deepEqual(
      messages.map((message) => parse(message).type),
      types,
    );
    const { text, json } = await shop.call('_changes?after=oldest');
    for (const [index, message] of messages.entries()) {
      verifyMessage(hook.secret, message.body, message.headers);
      assert.throws(() => verifyMessage(hook.secret, `${message.body} `, message.headers));
      const { workspace, timestamp, data } = parse(message);
      assert.deepEqual([workspace, timestamp], [shop.path, data.at]);
      assert.deepEqual(data, json.data[index]);
      assert.ok(text.includes(message.body.slice(message.body.indexOf('"data":') + 7, -1)));
      assert.match(idOf(message), /^msg_[\w-]{32}$/);
      assert.equal(message.headers['webhook-attempt'], '1');
      assert.equal(data.actor.name !== undefined, true);
    }
    assert.equal(new Set(messages.map(idOf)).size, 4);
    await until('all is delivered', async () => (await hook.read()).pending === 0);
    const log = await hook.deliveries();
    assert.deepEqual(
      log.map(({ state, attempts }) => [state, attempts]),
      new Array(4).fill(['delivered', 1]),
    );
    assert.deepEqual(log.map(({ webhookId }) => webhookId).reverse(), messages.map(idOf));
  });

  test('a webhook begins when it is made, and has the entities, types, fields and records that it names', async () => {
    await shop.create('orders', [{ status: 'before' }]);
    const paid = await makeHook({
      entities: ['orders'],
      fields: ['status'],
      filter: { field: 'status', op: 'eq', value: 'paid' },
      previous: true,
    });
    const removed = await makeHook({ entities: ['orders'], types: ['removed'] });
    const [order] = await shop.create('orders', [{ status: 'open' }]);
    await shop.create('notes', [{ text: 'of another entity' }]);
    await shop.call(`orders/${order.id}`, { method: 'PATCH', body: { status: 'paid' } });
    await shop.call(`orders/${order.id}`, { method: 'PATCH', body: { n: 1 } });
    await shop.call(`orders/${order.id}`, { method: 'PATCH', body: { status: 'sent' } });
    await shop.call(`orders/${order.id}`, { method: 'DELETE' });
    const [first, second] = (await paid.receive(2)).map(parse);
    assert.deepEqual([first.type, first.data.record], ['orders.created', { status: 'paid' }]);
    assert.deepEqual([second.type, second.data.previous], ['orders.removed', { status: 'paid' }]);
    await removed.receive(1);
    assert.deepEqual([paid.messages().length, removed.messages().length], [2, 1]);
  });

  test('changes by SQL, and those of a transaction that was open for a while, arrive', async () => {
    const hook = await makeHook({ entities: ['notes'] });
    const [{ database_schema: schema } = {}] = await server.database.query(
      'select database_schema from wda.workspace where slug = $1',
      [shop.path.split('/')[1]],
    );
    const insert = (text: string) => `insert into "${schema}".notes (text) values ('${text}')`;
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    await client.query(`begin; ${insert('late')}`);
    await server.database.query(insert('at once'));
    const [first] = await hook.receive(1);
    assert.equal(eventsOf(first!)[0].record.text, 'at once');
    await until('the webhook has nothing to do', async () => {
      const [row] = await server.database.query('select lease, due_at from wda.webhook where id = $1', [hook.id]);
      return row?.lease === null && row.due_at === null;
    });
    await client.query('commit');
    await client.end();
    const [, second] = await hook.receive(2);
    assert.deepEqual([eventsOf(second!)[0].record.text, eventsOf(second!)[0].actor], ['late', null]);
  });
});

describe('attempts', () => {
  prepare(open);

  test('a message is sent again with the same id and bytes until it is accepted', async () => {
    const hook = await makeHook();
    let refused = 0;
    receiver.answer((response) => response.writeHead(refused++ < 2 ? 500 : 200).end('so'));
    await shop.create('notes', [{ text: 'a' }, { text: 'b' }]);
    const messages = await hook.receive(4);
    assert.deepEqual(
      messages.map(({ headers }) => headers['webhook-attempt']),
      ['1', '2', '3', '1'],
    );
    assert.equal(new Set(messages.slice(0, 3).map(({ body, headers }) => `${headers['webhook-id']}${body}`)).size, 1);
    for (const message of messages) verifyMessage(hook.secret, message.body, message.headers);
    await until('both are delivered', async () => (await hook.read()).state === 'ok');
    const [, first] = await hook.deliveries();
    assert.deepEqual([first.state, first.attempts, first.lastStatus], ['delivered', 3, 200]);
    const { attemptLog, body } = await hook.post(`deliveries/${first.id}/redeliver`).then(async () => {
      await hook.receive(5);
      await until('it is in the log', async () => (await hook.deliveries())[1].attempts === 4);
      const answer = await shop.admin(`webhooks/${hook.id}/deliveries/${first.id}`);
      return answer.json.data;
    });
    assert.deepEqual(
      attemptLog.map(({ status }: Json) => status),
      [500, 500, 200, 200],
    );
    assert.equal(attemptLog[0].responseBody, null);
    // Sent again, it has the id and the text of before, made again from its change.
    const again = hook.messages().at(-1)!;
    assert.deepEqual(
      [again.body, idOf(again), again.headers['webhook-attempt']],
      [messages[0]!.body, idOf(messages[0]!), '4'],
    );
    assert.equal(body, messages[0]!.body);
  });

  test('one message that is always refused is set aside, and is sent again when it is asked for', async () => {
    const hook = await makeHook();
    refuse('poison');
    await shop.create('notes', [{ text: 'poison' }, { text: 'good' }, { text: 'better' }]);
    await until('the others have arrived', () => hook.messages().some(({ body }) => body.includes('better')));
    const tried = hook.messages().filter(({ body }) => body.includes('poison'));
    assert.equal(tried.length, 5);
    await until('all is in the log', async () => (await hook.deliveries()).length === 3);
    const states = Object.fromEntries((await hook.deliveries()).map(({ webhookId, state }) => [webhookId, state]));
    assert.equal(states[idOf(tried[0]!)], 'failed');
    assert.deepEqual(Object.values(states).sort(), ['delivered', 'delivered', 'failed']);
    assert.equal((await hook.read()).state, 'ok');
    receiver.answer(204);
    receiver.clear();
    await hook.post('replay', { failed: true });
    const [again] = await hook.receive(1);
    assert.deepEqual([idOf(again!), again!.body], [idOf(tried[0]!), tried[0]!.body]);
    await until('it is delivered', async () => (await hook.deliveries('?state=failed')).length === 0);
  });

  test('with strict order nothing is sent before a message that waits, until it is discarded', async () => {
    const hook = await makeHook({ ordering: 'strict' });
    refuse('poison');
    await shop.create('notes', [{ text: 'poison' }, { text: 'good' }]);
    await hook.receive(6);
    assert.ok(hook.messages().every(({ body }) => body.includes('poison')));
    const [pending] = await hook.deliveries('?state=pending');
    await hook.post(`deliveries/${pending.id}/discard`);
    await until('the next one has arrived', () => hook.messages().some(({ body }) => body.includes('good')));
  });

  test('while all is refused nothing is set aside', async () => {
    const hook = await makeHook();
    receiver.answer(503);
    await shop.create('notes', [{ text: 'one' }, { text: 'two' }]);
    await until(
      'the second one was tried twice',
      () => hook.messages().filter(({ body }) => body.includes('two')).length > 1,
    );
    assert.deepEqual(
      (await hook.deliveries()).map(({ state }) => state),
      ['pending', 'pending'],
    );
    assert.equal((await hook.read()).state, 'failing');
    receiver.answer(204);
    await until('all is delivered', async () => (await hook.deliveries('?state=delivered')).length === 2);
    assert.equal((await hook.read()).state, 'ok');
    const ids = (text: string) =>
      new Set(
        hook
          .messages()
          .filter(({ body }) => body.includes(text))
          .map(idOf),
      );
    assert.deepEqual([ids('one').size, ids('two').size], [1, 1]);
  });

  test('Retry-After puts the next attempt off', async () => {
    const hook = await makeHook();
    receiver.answer((response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    await shop.create('notes', [{ text: 'a' }]);
    await hook.receive(1);
    await until('the attempt is stored', async () => (await hook.read()).nextAttemptAt !== null);
    const { nextAttemptAt, lastAttemptAt } = await hook.read();
    assert.ok(Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt) > 3_590_000);
    await hook.put({ enabled: false });
  });

  test('a redirect, an address that is refused, silence and an answer without end', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    receiver.answer((response, { path }) => {
      if (!path.startsWith('/endless')) return response.writeHead(302, { location: '/elsewhere' }).end();
      response.writeHead(200);
      const more = (error?: Error | null): void => {
        if (!error && !response.destroyed) response.write('x'.repeat(65_536), more);
      };
      more();
    });
    const hooks = {
      REDIRECT_REFUSED: await makeHook(),
      TIMEOUT: await makeHook({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/` }),
    };
    const endless = await makeHook({ url: `${receiver.origin}/endless` });
    await shop.create('notes', [{ text: 'a' }]);
    for (const [error, hook] of Object.entries(hooks)) {
      await until(error, async () => (await hook.deliveries())[0]?.lastError === error);
      await hook.put({ enabled: false });
    }
    await until('the endless answer counts', async () => (await endless.deliveries())[0]?.state === 'delivered');
    assert.ok(!receiver.messages.some(({ path }) => path === '/elsewhere'));
    silent.closeAllConnections();
    silent.close();
  });

  test('a receiver that is slow does not delay another one', async () => {
    const slow = await makeHook();
    const quick = await makeHook();
    const held: (() => void)[] = [];
    receiver.answer((response, { path }) => {
      if (path === slow.path) held.push(() => response.writeHead(204).end());
      else response.writeHead(204).end();
    });
    await shop.create('notes', [{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
    await quick.receive(3);
    assert.equal(slow.messages().length, 1);
    receiver.answer(204);
    for (const answer of held) answer();
    await slow.receive(3);
  });
});

describe('batches', () => {
  prepare(open);

  test('as many events as there are, at most as many as the webhook takes, in order', async () => {
    const hook = await makeHook({ maxBatch: 10 });
    await hook.put({ enabled: false });
    await shop.create(
      'orders',
      Array.from({ length: 25 }, (_, n) => ({ n })),
    );
    await hook.put({ enabled: true });
    const messages = await hook.receive(3);
    assert.deepEqual(
      messages.map((message) => eventsOf(message).length),
      [10, 10, 5],
    );
    assert.deepEqual(
      messages.flatMap(eventsOf).map(({ record }) => record.n),
      Array.from({ length: 25 }, (_, n) => n),
    );
    const { type, timestamp, workspace, data } = parse(messages[0]!);
    assert.deepEqual([type, timestamp, workspace], ['changes', data[0].at, shop.path]);
    await shop.create('orders', [{ n: 25 }]);
    const [, , , single] = await hook.receive(4);
    assert.equal(parse(single!).type, 'changes');
  });

  test('a batch ends before a mebibyte, and an event that is larger comes without its values', async () => {
    const hook = await makeHook({ maxBatch: 100, entities: ['notes'] });
    await hook.put({ enabled: false });
    for (const size of [400_000, 400_000, 400_000, 1_048_000, 1])
      await shop.create('notes', [{ text: 'x'.repeat(size) }]);
    await hook.put({ enabled: true });
    await until('the last one has arrived', () => hook.messages().flatMap(eventsOf).length >= 5);
    const events = hook.messages().flatMap(eventsOf);
    assert.deepEqual(
      events.map(({ truncated, record }) => [truncated === true, record === undefined]),
      [
        [false, false],
        [false, false],
        [false, false],
        [true, true],
        [false, false],
      ],
    );
    for (const { body } of hook.messages()) assert.ok(Buffer.byteLength(body) <= 1_048_576);
  });

  test('a batch that was refused three times is sent event by event', async () => {
    const hook = await makeHook({ maxBatch: 10 });
    await hook.put({ enabled: false });
    refuse('"n":3');
    await shop.create(
      'orders',
      Array.from({ length: 5 }, (_, n) => ({ n })),
    );
    await hook.put({ enabled: true });
    await until('the last event has arrived alone', () =>
      hook.messages().some((message) => eventsOf(message).length === 1 && message.body.includes('"n":4')),
    );
    const batches = hook.messages().filter((message) => eventsOf(message).length > 1);
    assert.deepEqual([batches.length, new Set(batches.map(idOf)).size], [3, 1]);
    const singles = hook.messages().filter((message) => eventsOf(message).length === 1);
    assert.ok(singles.every((message) => parse(message).type === 'changes' && idOf(message) !== idOf(batches[0]!)));
    await until('one has failed', async () => (await hook.deliveries('?state=failed')).length === 1);
    await shop.create('orders', [{ n: 5 }, { n: 6 }]);
  });
});

describe('ends', () => {
  prepare(open);

  test('410 disables a webhook at once, and enabled it goes on where it stopped', async () => {
    const hook = await makeHook();
    receiver.answer(410);
    await shop.create('notes', [{ text: 'a' }]);
    await until('it is disabled', async () => (await hook.read()).disabledReason === 'gone');
    await shop.create('notes', [{ text: 'b' }]);
    const { json } = await shop.admin('activity?action=webhooks.disable');
    assert.deepEqual(
      json.data.map(({ actor, details }: Json) => [actor.kind, details.reason]),
      [['server', 'gone']],
    );
    assert.equal(hook.messages().length, 1);
    receiver.answer(204);
    await hook.put({ enabled: true });
    const [refused, again, next] = await hook.receive(3);
    assert.equal(idOf(again!), idOf(refused!));
    assert.equal(eventsOf(next!)[0].record.text, 'b');
  });

  test('changes that are gone are told by a reset before what is there', async () => {
    const hook = await makeHook({ entities: ['notes'] });
    const all = await makeHook();
    for (const one of [hook, all]) await one.put({ enabled: false });
    await shop.create('notes', [{ text: 'lost' }]);
    await shop.call('_changes?after=oldest');
    const [{ database_schema: schema } = {}] = await server.database.query(
      'select database_schema from wda.workspace where slug = $1',
      [shop.path.split('/')[1]],
    );
    await server.database.query(
      `update "${schema}"."$change_progress" set expired = (select max(pos) from "${schema}"."$change_position")`,
    );
    await shop.create('notes', [{ text: 'there' }]);
    for (const one of [hook, all]) await one.put({ enabled: true });
    const [reset, event] = (await hook.receive(2)).map(parse);
    assert.deepEqual(
      [reset.type, reset.data.type, reset.data.entity, reset.data.reason],
      ['notes.reset', 'reset', 'notes', 'expired'],
    );
    assert.match(reset.data.id, /^e_[\w-]{22}$/);
    assert.equal(event.data.record.text, 'there');
    const [ofAll] = (await all.receive(2)).map(parse);
    assert.deepEqual([ofAll.type, ofAll.data.entity], ['reset', null]);
  });

  test('a secret that is being replaced signs beside the new one', async () => {
    const hook = await makeHook();
    const { secret } = await hook.post('rotate-secret', { keepHours: 1 });
    await shop.create('notes', [{ text: 'a' }]);
    const [message] = await hook.receive(1);
    for (const one of [secret, hook.secret]) verifyMessage(one, message!.body, message!.headers);
    const { secret: newest } = await hook.post('rotate-secret', { keepHours: 0 });
    await shop.create('notes', [{ text: 'b' }]);
    const [, next] = await hook.receive(2);
    verifyMessage(newest, next!.body, next!.headers);
    for (const one of [secret, hook.secret]) assert.throws(() => verifyMessage(one, next!.body, next!.headers));
  });

  test('replayed from the oldest change, the messages have the ids of before', async () => {
    const early = await makeHook({ entities: ['notes'] });
    await shop.create('notes', [{ text: 'a' }, { text: 'b' }]);
    const before = (await early.receive(2)).map(idOf);
    await until('all is in the log', async () => (await early.deliveries('?state=delivered')).length === 2);
    await early.post('replay', { from: 'oldest' });
    await until('they came again', () =>
      before.every((id) => early.messages().filter((one) => idOf(one) === id).length === 2),
    );
  });

  test('a replay while a message is under way goes on from its place', async () => {
    const hook = await makeHook({ entities: ['notes'] });
    const held: (() => void)[] = [];
    receiver.answer((response) => held.push(() => response.writeHead(204).end()));
    await shop.create('notes', [{ text: 'first' }, { text: 'second' }]);
    await hook.receive(1);
    await hook.post('replay', { from: 'now' });
    receiver.answer(204);
    for (const answer of held) answer();
    await shop.create('notes', [{ text: 'third' }]);
    await hook.receive(2);
    assert.deepEqual(
      hook
        .messages()
        .flatMap(eventsOf)
        .map(({ record }) => record.text),
      ['first', 'third'],
    );
  });

  test('headers of the administrator are sent; a webhook that is deleted sends nothing more', async () => {
    const hook = await makeHook({ headers: { Authorization: 'Bearer secret' } });
    await shop.create('notes', [{ text: 'a' }]);
    const [message] = await hook.receive(1);
    assert.equal(message!.headers.authorization, 'Bearer secret');
    assert.equal((await shop.admin(`webhooks/${hook.id}`, { method: 'DELETE' })).status, 204);
    const witness = await makeHook();
    await shop.create('notes', [{ text: 'b' }]);
    await witness.receive(1);
    assert.equal(hook.messages().length, 1);
  });

  test('metrics count attempts, states and what waits', async () => {
    const read = async () => `${await server.metrics()}${await other.metrics()}`;
    await until('disabled ones are counted', async () => /wda_webhooks\{state="disabled"\} [1-9]/.test(await read()));
    const text = await read();
    for (const result of ['delivered', 'failed'])
      assert.match(text, new RegExp(`wda_webhook_attempts_total\\{result="${result}"\\} [1-9]`));
    for (const name of ['wda_webhook_lag_events', 'wda_webhook_lag_seconds', 'wda_webhook_leases'])
      assert.match(text, new RegExp(`^${name} \\d`, 'm'));
  });
});

test('values that are removed from a history are removed from messages that wait', async () => {
  await open();
  receiver.answer((response) => response.writeHead(503, { 'retry-after': '3600' }).end());
  const hook = await makeHook();
  const [person] = await shop.create('people', [{ name: 'Ada' }]);
  const [first] = await hook.receive(1);
  await until('it waits', async () => (await hook.deliveries('?state=pending')).length > 0);
  const [waiting] = await hook.deliveries('?state=pending');
  const read = async () => (await shop.admin(`webhooks/${hook.id}/deliveries/${waiting.id}`)).json.data;
  assert.match((await read()).body, /"name":"Ada"/);
  assert.equal((await shop.call(`people/${person.id}/_history`, { method: 'DELETE' })).status, 204);
  const { body } = await read();
  assert.equal(JSON.parse(body).data.redacted, true);
  assert.doesNotMatch(body, /Ada/);
  receiver.answer(204);
  await hook.post(`deliveries/${waiting.id}/redeliver`);
  const [, again] = await hook.receive(2);
  assert.deepEqual([idOf(again!), again!.body], [idOf(first!), body]);
  verifyMessage(hook.secret, again!.body, again!.headers);
});

test('two processes send each message, together, once', async () => {
  await open();
  const hooks = [await makeHook(), await makeHook(), await makeHook()];
  await shop.create(
    'orders',
    Array.from({ length: 60 }, (_, n) => ({ n })),
  );
  for (const hook of hooks) {
    await hook.receive(60);
    await until('all is in the log', async () => (await hook.read()).pending === 0);
    assert.deepEqual(
      hook
        .messages()
        .flatMap(eventsOf)
        .map(({ record }) => record.n),
      Array.from({ length: 60 }, (_, n) => n),
    );
  }
});
