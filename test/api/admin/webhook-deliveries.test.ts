// Messages of webhooks on the admin API: the log, sending again and giving up, and from where a webhook goes on. Nothing is sent
// here: rows stand for what the sender has written.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    orders: { fields: { status: { type: 'string' } }, settings: { changes: 'feed' } },
    notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } },
  },
};

const server = useServer({ WDA_WEBHOOKS: 'off' });
const shop = use(() => server.workspace('acme/shop', SCHEMA));
let made = 0;

const call = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  shop.admin(`webhooks${path}`, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
async function createOne(members: object = {}): Promise<number> {
  const answer = await call('', 'POST', { name: `hook ${++made}`, url: 'https://receiver.invalid/', ...members });
  assert.equal(answer.status, 201, answer.text);
  return answer.json.data.id;
}
const stateOf = async (id: number) => (await call(`/${id}`)).json.data;
const rowOf = async (id: number) => (await server.database.query('select * from wda.webhook where id = $1', [id]))[0]!;
const deliveryOf = async (id: string) =>
  (await server.database.query('select * from wda.webhook_delivery where id = $1', [id.slice(2)]))[0]!;

/** Writes a message as the sender does; returns its id. */
async function writeMessage(webhook: number, state: string, first: number, last = first): Promise<string> {
  const log = [
    { at: '2026-11-22T00:43:53.838Z', status: 500, error: null, durationMs: 7, responseBody: 'no' },
    { at: '2026-11-22T00:43:59.000Z', status: null, error: 'TIMEOUT', durationMs: 15000, responseBody: null },
  ];
  const [row] = await server.database.query(
    `insert into wda.webhook_delivery (webhook_id, message_id, type, events, first_position, last_position, epoch, state, attempts,
  attempt_log, body, last_error)
values ($1, 'msg_' || gen_random_uuid(), 'orders.created', 1, $2, $3, 'epoch', $4, 2, $5, '{"type":"orders.created"}', 'TIMEOUT') returning id`,
    [webhook, first, last, state, JSON.stringify(log)],
  );
  if (state === 'pending')
    await server.database.query(
      'update wda.webhook set first_position = $2, last_position = $3, attempts = 2, failures = 2, lease = gen_random_uuid() where id = $1',
      [webhook, first, last],
    );
  return `d_${row?.id}`;
}

describe('what waits', () => {
  test('is counted through the entities, types and filter of the webhook, from its creation on', async () => {
    await shop.create('orders', [{ status: 'open' }]);
    const ids = [
      await createOne(),
      await createOne({ entities: ['orders'] }),
      await createOne({ entities: ['orders'], types: ['removed'] }),
      await createOne({ entities: ['orders'], types: ['schema'] }),
      await createOne({ entities: ['orders'], filter: { field: 'status', op: 'eq', value: 'paid' } }),
      await createOne({ entities: ['notes'], enabled: false }),
    ];
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await stateOf(id)).pending)), [0, 0, 0, 0, 0, 0]);
    const [order] = await shop.create('orders', [{ status: 'open' }]);
    await shop.call(`orders/${order.id}`, { method: 'PATCH', body: { status: 'paid' } });
    await shop.call(`orders/${order.id}`, { method: 'DELETE' });
    await shop.create('notes', [{ text: 'a' }, { text: 'b' }]);
    const waiting = await Promise.all(ids.map(stateOf));
    // Into the filter and out of it are two.
    assert.deepEqual(
      waiting.map(({ pending }) => pending),
      [5, 3, 1, 0, 2, 2],
    );
    const { oldestPendingAt } = waiting[0];
    assert.equal(oldestPendingAt, waiting[1].oldestPendingAt);
    assert.ok(Math.abs(Date.parse(oldestPendingAt) - Date.now()) < 60_000);
    assert.equal(waiting[3].oldestPendingAt, null);
    const list = (await call('?size=1000')).json.data;
    for (const one of waiting)
      assert.deepEqual(
        list.find(({ id }: { id: number }) => id === one.id),
        one,
      );
  });

  test('has changes of the schema where their type is named', async () => {
    const ids = [
      await createOne({ entities: ['orders'] }),
      await createOne({ entities: ['orders'], types: ['schema'] }),
    ];
    const { orders, notes } = SCHEMA.entities;
    const fields = { ...orders.fields, note: { type: 'text' } };
    const body = { entities: { orders: { ...orders, fields }, notes } };
    const answer = await shop.admin('schema?wait=30', { method: 'PUT', credential: ADMIN_KEY, body });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await stateOf(id)).pending)), [0, 1]);
  });

  test('is 10,000 at most', async () => {
    const id = await createOne({ entities: ['notes'] });
    await server.database.query(
      `insert into ${await schemaName()}.notes (text) select 'x' from generate_series(1, 10100)`,
    );
    assert.equal((await stateOf(id)).pending, 10_000);
    await call(`/${id}/replay`, 'POST', { from: 'now' });
    assert.equal((await stateOf(id)).pending, 0);
  });

  test('a webhook of all entities counts from its creation although none keeps changes then', async () => {
    const empty = await server.workspace('acme/empty', { entities: { notes: { fields: { text: { type: 'text' } } } } });
    const admin = (path: string, method: string, body?: unknown) =>
      empty.admin(path, { method, credential: ADMIN_KEY, body });
    const { id } = (await admin('webhooks', 'POST', { name: 'early', url: 'https://receiver.invalid/' })).json.data;
    assert.equal((await admin(`webhooks/${id}`, 'GET')).json.data.pending, 0);
    await admin('entities/notes/settings', 'PUT', { changes: 'feed' });
    await empty.create('notes', [{ text: 'a' }]);
    assert.equal((await admin(`webhooks/${id}`, 'GET')).json.data.pending, 1);
  });
});

async function schemaName(): Promise<string> {
  const [row] = await server.database.query("select database_schema as name from wda.workspace where slug = 'shop'");
  return `"${row?.name}"`;
}

test('a name that leads to an address of this machine is refused when it is configured', async () => {
  for (const [url, words] of [
    ['https://localhost/', /loopback/],
    ['http://receiver.invalid/', /https/],
  ] as const) {
    const answer = await call('', 'POST', { name: url, url });
    assert.deepEqual([answer.status, answer.json.error.details?.[0].field], [400, 'url'], answer.text);
    assert.match(answer.json.error.details[0].message, words);
  }
});

test('no test is sent by a server that sends no messages', async () => {
  const answer = await call(`/${await createOne()}/test`, 'POST');
  assert.deepEqual([answer.status, answer.json.error.reason], [409, 'WEBHOOKS_OFF'], answer.text);
});

describe('the log', () => {
  test('has messages newest first, by state and by pages', async () => {
    const id = await createOne();
    const ids: string[] = [];
    for (const state of ['delivered', 'failed', 'delivered', 'discarded', 'pending'])
      ids.unshift(await writeMessage(id, state, ids.length + 1));
    const list = async (query = '') => {
      const { status, json, text } = await call(`/${id}/deliveries${query}`);
      assert.equal(status, 200, text);
      return { ids: json.data.map((one: { id: string }) => one.id), meta: json.meta, data: json.data };
    };
    assert.deepEqual((await list()).ids, ids);
    assert.deepEqual((await list()).meta, { size: 20, nextCursor: null });
    assert.deepEqual((await list('?state=delivered')).ids, [ids[2], ids[4]]);
    const first = await list('?size=2');
    assert.deepEqual([first.ids, first.meta], [ids.slice(0, 2), { size: 2, nextCursor: ids[1] }]);
    assert.deepEqual((await list(`?size=3&after=${ids[1]}`)).ids, ids.slice(2));
    const { webhookId, createdAt, ...rest } = first.data[0];
    assert.match(webhookId, /^msg_/);
    assert.ok(Date.parse(createdAt) > 0);
    assert.deepEqual(rest, {
      id: ids[0],
      type: 'orders.created',
      events: 1,
      state: 'pending',
      attempts: 2,
      lastStatus: null,
      lastError: 'TIMEOUT',
      deliveredAt: null,
      nextAttemptAt: null,
    });
    const one = (await call(`/${id}/deliveries/${ids[0]}`)).json.data;
    assert.deepEqual(Object.keys(one).slice(-2), ['body', 'attemptLog']);
    assert.equal(one.body, '{"type":"orders.created"}');
    assert.deepEqual(
      one.attemptLog.map(({ status, error }: { status: number; error: string }) => [status, error]),
      [
        [500, null],
        [null, 'TIMEOUT'],
      ],
    );
    for (const [path, status] of [
      ['?state=lost', 400],
      ['?size=201', 400],
      ['?after=17', 400],
      ['?page=1', 400],
      ['/d_999999', 404],
      ['/x', 404],
      [`/${ids[0]?.slice(2)}`, 404],
    ] as const)
      assert.equal((await call(`/${id}/deliveries${path}`)).status, status, path);
    const other = await createOne();
    assert.equal((await call(`/${other}/deliveries/${ids[0]}`)).json.error.reason, 'DELIVERY_NOT_FOUND');
  });

  test('a message that is sent again waits for the sender, and one of a disabled webhook is refused', async () => {
    const id = await createOne();
    const failed = await writeMessage(id, 'failed', 1);
    await server.database.query('update wda.webhook set due_at = null where id = $1', [id]);
    const answer = await call(`/${id}/deliveries/${failed}/redeliver`, 'POST');
    assert.deepEqual([answer.status, answer.json.data.id], [202, failed], answer.text);
    assert.notEqual((await deliveryOf(failed)).redeliver_at, null);
    assert.notEqual((await rowOf(id)).due_at, null);

    const pending = await writeMessage(id, 'pending', 2);
    await server.database.query("update wda.webhook set due_at = now() + interval '1 hour' where id = $1", [id]);
    assert.equal((await call(`/${id}/deliveries/${pending}/redeliver`, 'POST')).status, 202);
    assert.equal((await deliveryOf(pending)).redeliver_at, null);
    assert.ok(Number((await rowOf(id)).due_at) <= Date.now());

    await call(`/${id}`, 'PUT', { enabled: false });
    for (const path of [`deliveries/${failed}/redeliver`, 'replay']) {
      const refused = await call(`/${id}/${path}`, 'POST', path === 'replay' ? { failed: true } : undefined);
      assert.deepEqual([refused.status, refused.json.error.reason], [409, 'WEBHOOK_DISABLED'], path);
    }
  });

  test('a pending message is given up, and the webhook goes on after it', async () => {
    const id = await createOne();
    const pending = await writeMessage(id, 'pending', 7, 9);
    const answer = await call(`/${id}/deliveries/${pending}/discard`, 'POST');
    assert.deepEqual([answer.status, answer.json.data.state], [200, 'discarded'], answer.text);
    const { position, first_position, attempts, lease } = await rowOf(id);
    assert.deepEqual([String(position), first_position, attempts, lease], ['9', null, 0, null]);
    const again = await call(`/${id}/deliveries/${pending}/discard`, 'POST');
    assert.deepEqual([again.status, again.json.error.reason], [409, 'NOT_PENDING']);
  });
});

describe('replay', () => {
  test('goes on from a time, from the oldest change, or from now', async () => {
    const id = await createOne({ entities: ['orders'] });
    await shop.create('orders', [{ status: 'a' }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const since = new Date().toISOString();
    await shop.create('orders', [{ status: 'b' }, { status: 'c' }]);
    const pending = await writeMessage(id, 'pending', 1);
    const replay = async (body: object): Promise<number> => {
      const answer = await call(`/${id}/replay`, 'POST', body);
      assert.equal(answer.status, 202, answer.text);
      return answer.json.data.pending;
    };
    assert.equal(await replay({ from: 'now' }), 0);
    const { first_position, attempts, lease } = await rowOf(id);
    assert.deepEqual([first_position, attempts, lease], [null, 0, null]);
    assert.equal((await deliveryOf(pending)).state, 'discarded');
    assert.equal(await replay({ since }), 2);
    assert.ok((await replay({ from: 'oldest' })) > 3);
    assert.equal(await replay({ since: '2100-01-01T00:00:00Z' }), 0);
  });

  test('failed messages are sent again, the oldest first, and no others', async () => {
    const id = await createOne();
    const failed = [await writeMessage(id, 'failed', 1), await writeMessage(id, 'failed', 3)];
    const delivered = await writeMessage(id, 'delivered', 2);
    assert.equal((await call(`/${id}/replay`, 'POST', { failed: true })).status, 202);
    const times = await Promise.all(failed.map(async (one) => (await deliveryOf(one)).redeliver_at));
    assert.ok(times.every((time) => time !== null));
    assert.equal((await deliveryOf(delivered)).redeliver_at, null);
  });

  test('is refused before what is kept, and without saying from where', async () => {
    const id = await createOne();
    await shop.create('notes', [{ text: 'a' }]);
    await stateOf(id);
    const progress = `${await schemaName()}."$change_progress"`;
    const [before] = await server.database.query(`select expired from ${progress}`);
    await server.database.query(`update ${progress} set expired = 1`);
    const gone = await call(`/${id}/replay`, 'POST', { since: '2020-01-01T00:00:00Z' });
    assert.deepEqual([gone.status, gone.json.error.code], [410, 'CURSOR_EXPIRED'], gone.text);
    assert.ok(Date.parse(gone.json.oldest) > 0);
    await server.database.query(`update ${progress} set expired = $1`, [before?.expired]);
    for (const body of [{}, { from: 'now', failed: true }, { from: 'here' }, { since: 'yesterday' }, { failed: false }])
      assert.equal((await call(`/${id}/replay`, 'POST', body)).status, 400, JSON.stringify(body));
  });
});
