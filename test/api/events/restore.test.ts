// Restores: a record as it was after an event of its history, by the ordinary writes and their refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const SETTINGS = { changes: 'history' };
const SCHEMA = {
  roles: ['editor'],
  entities: {
    customers: { fields: { name: { type: 'string', required: true, unique: true } }, settings: SETTINGS },
    orders: {
      timestamps: true,
      fields: {
        status: { type: 'string', required: true, maxLength: 20 },
        total: { type: 'decimal', precision: 20, scale: 4 },
        secret: { type: 'string' },
        options: { type: 'json' },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers', onDelete: 'setNull' } },
      settings: { ...SETTINGS, changesOmit: ['secret'] },
    },
    papers: {
      fields: { text: { type: 'string' }, level: { type: 'integer' }, owner: { type: 'integer' } },
      rowRules: [{ column: 'owner', claim: 'customer' }],
      settings: { ...SETTINGS, historyForUsers: true },
    },
    plain: { fields: { text: { type: 'string' } }, settings: { changes: 'feed' } },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('acme/restores', SCHEMA));
const tokenOf = useUsers(shop, issuer);

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const write = async (path: string, method: string, body?: unknown): Promise<Answer['json']> =>
  ok(await shop.call(path, { method, body }));
const get = async (path: string, call: Call = {}): Promise<Answer['json']> => ok(await shop.call(path, call));
/** Returns the ids of the events of a record, the last one first. */
const eventsOf = async (path: string): Promise<readonly string[]> =>
  (await get(`${path}/_history`)).data.map(({ id }: { id: string }) => id);
const restore = (path: string, event: string | undefined, call: Call = {}): Promise<Answer> =>
  shop.call(`${path}/_restore`, { method: 'POST', body: { event }, ...call });
const refused = async (answer: Promise<Answer>): Promise<unknown[]> => {
  const { status, json } = await answer;
  return [status, json.error.code, ...(json.error.details ?? []).map(({ field, code }: Detail) => `${field} ${code}`)];
};

interface Detail {
  readonly field: string;
  readonly code: string;
}

test('a record is written as it was, digit by digit, and what is never stored stays', async () => {
  const customer = (await write('customers', 'POST', { name: 'first' })).data.id;
  const first = { status: 'open', total: 12.5, secret: 's', options: { a: [1, 2.5] }, customerId: customer };
  const { data } = await write('orders', 'POST', first);
  const path = `orders/${data.id}`;
  const before = await shop.call(path);
  const changed = await shop.call(path, {
    method: 'PATCH',
    body: { status: 'paid', total: null, secret: 't', options: null, customerId: null },
  });
  const [, created] = await eventsOf(path);
  const stale = { headers: { 'if-match': before.headers.get('etag') ?? '' } };
  assert.deepEqual(await refused(restore(path, created, stale)), [412, 'PRECONDITION_FAILED']);
  const answer = await restore(path, created, { headers: { 'if-match': changed.headers.get('etag') ?? '' } });
  assert.equal(answer.status, 200, answer.text);
  const { updatedAt: _, ...shown } = answer.json.data;
  const { updatedAt: __, ...original } = before.json.data;
  assert.deepEqual(shown, { ...original, secret: 't' });
  assert.match(answer.text, /"total":12\.5000/);
  const now = await shop.call(path);
  assert.equal(now.headers.get('etag'), answer.headers.get('etag'));
  const [last] = (await get(`${path}/_history`)).data;
  assert.deepEqual(last.changed, ['status', 'total', 'options', 'customerId', 'updatedAt']);
  assert.equal(`"${last.version}`, answer.headers.get('etag')?.split('.')[0]);
});

test('an object that looks like an operator is restored as the value that it was', async () => {
  for (const options of [{ $add: [1] }, { $value: { $remove: [2] } }, { a: 1 }, [{ $add: [1] }], null]) {
    const { data } = await write('orders', 'POST', { status: 'open', options });
    const path = `orders/${data.id}`;
    await write(path, 'PATCH', { options: [0] });
    const [, created] = await eventsOf(path);
    assert.deepEqual(ok(await restore(path, created)).data.options, options);
  }
});

test('a deleted record is created again with its id, by an owner', async () => {
  const { data } = await write('orders', 'POST', { status: 'open' });
  const path = `orders/${data.id}`;
  await write(path, 'PATCH', { status: 'paid' });
  await write(path, 'DELETE');
  const [deleted, , created] = await eventsOf(path);
  assert.deepEqual(await refused(restore(path, deleted, { credential: shop.readWriteKey })), [403, 'FORBIDDEN']);
  const match = { headers: { 'if-match': '"x"' } };
  assert.deepEqual(await refused(restore(path, deleted, match)), [412, 'PRECONDITION_FAILED']);
  const key = { headers: { 'idempotency-key': 'restore-once' } };
  const answer = await restore(path, deleted, key);
  assert.deepEqual([answer.status, answer.json.data.id, answer.json.data.status], [201, data.id, 'paid']);
  assert.ok(answer.headers.get('location')?.endsWith(path));
  const again = await restore(path, deleted, key);
  assert.deepEqual([again.status, again.text], [201, answer.text]);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  const { data: events } = await get(`${path}/_history`);
  assert.deepEqual([events.length, events[0].type, events[0].cause], [4, 'created', 'created']);
  assert.equal((await write('orders', 'POST', { status: 'next' })).data.id, data.id + 1);
  assert.equal((await restore(path, created)).json.data.status, 'open');
});

test('what the ordinary write refuses is refused, and nothing is written', async () => {
  const { data: customer } = await write('customers', 'POST', { name: 'taken' });
  const { data } = await write('orders', 'POST', { status: 'open', customerId: customer.id });
  const path = `orders/${data.id}`;
  await write(path, 'PATCH', { status: 'paid', customerId: null });
  await write(`customers/${customer.id}`, 'DELETE');
  const events = await eventsOf(path);
  assert.deepEqual(await refused(restore(path, events.at(-1))), [
    400,
    'VALIDATION_FAILED',
    'customerId REFERENCE_NOT_FOUND',
  ]);
  assert.deepEqual(await eventsOf(path), events);
  await write('customers', 'POST', { name: 'taken' });
  const [deleted] = await eventsOf(`customers/${customer.id}`);
  assert.deepEqual((await refused(restore(`customers/${customer.id}`, deleted))).slice(0, 2), [409, 'CONFLICT']);
});

test('bodies, events and places that are none are refused', async () => {
  const { data } = await write('orders', 'POST', { status: 'open' });
  const path = `orders/${data.id}`;
  const [event = ''] = await eventsOf(path);
  const other = (await write('orders', 'POST', { status: 'open' })).data.id;
  const send = (call: Call, at = path): Promise<unknown[]> =>
    refused(shop.call(`${at}/_restore`, { method: 'POST', ...call }));
  for (const body of [{}, { event: 1 }, { event: null }, [], { event, force: true }])
    assert.deepEqual(await send({ body }), [400, 'BAD_REQUEST'], JSON.stringify(body));
  assert.deepEqual(await refused(shop.call(`${path}/_restore?dryRun=true`, { method: 'POST', body: { event } })), [
    400,
    'BAD_REQUEST',
  ]);
  assert.deepEqual(await send({ body: { event: 'e_x' } }), [404, 'NOT_FOUND']);
  assert.deepEqual(await send({ body: { event } }, `orders/${other}`), [404, 'NOT_FOUND']);
  assert.deepEqual(await send({ body: { event } }, 'orders/999999'), [404, 'NOT_FOUND']);
  assert.deepEqual(await send({ body: { event } }, 'orders/x'), [400, 'BAD_REQUEST']);
  assert.deepEqual(await send({ body: { event }, credential: shop.readOnlyKey }), [403, 'FORBIDDEN']);
  const plain = (await write('plain', 'POST', { text: 'a' })).data.id;
  assert.deepEqual(await send({ body: { event } }, `plain/${plain}`), [409, 'CHANGES_OFF']);
  const get = await shop.call(`${path}/_restore`);
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST, OPTIONS']);
  await write(`${path}/_history`, 'DELETE');
  assert.deepEqual(await send({ body: { event } }), [404, 'NOT_FOUND']);
});

test('users restore what they see, within their rules', async () => {
  const credential = await tokenOf({ customer: 1 });
  const { data } = await write('papers', 'POST', { text: 'hidden', level: 1, owner: 2 });
  const path = `papers/${data.id}`;
  await write(path, 'PATCH', { owner: 1, text: 'mine' });
  await write(path, 'PATCH', { text: 'edited', level: 2 });
  const [, mine, hidden] = await eventsOf(path);
  assert.deepEqual(await refused(restore(path, hidden, { credential })), [404, 'NOT_FOUND']);
  const { data: restored } = ok(await restore(path, mine, { credential }));
  assert.deepEqual([restored.text, restored.level, restored.owner], ['mine', 1, 1]);
  await write(path, 'DELETE');
  assert.deepEqual(await refused(restore(path, mine, { credential })), [404, 'NOT_FOUND']);
});
