// Webhooks on the admin API: what may be configured, what is shown of it, and what of it is secret.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startReceiver } from '../../support/receiver.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { verifyMessage } from '../../support/standard-webhooks.ts';

const SCHEMA = {
  entities: {
    orders: {
      fields: {
        status: { type: 'string' },
        total: { type: 'decimal', precision: 20, scale: 2 },
        pin: { type: 'string' },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
      settings: { changes: 'feed', changesOmit: ['pin'] },
    },
    customers: { fields: { name: { type: 'string' } }, settings: { changes: 'history' } },
    notes: { fields: { text: { type: 'text' } } },
  },
};
const URL = 'https://receiver.invalid/hooks?key=abc';

const server = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: '127.0.0.0/8' });
const shop = use(() => server.workspace('acme/shop', SCHEMA));
const receiver = use(startReceiver, (one) => one.stop());
let made = 0;

const call = (path: string, method: string, body?: unknown): Promise<Answer> =>
  shop.admin(`webhooks${path}`, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
const create = (members: object = {}): Promise<Answer> =>
  call('', 'POST', { name: `hook ${++made}`, url: URL, ...members });
async function createOne(members: object = {}) {
  const { status, json, text } = await create(members);
  assert.equal(status, 201, text);
  return json.data;
}
const mistakes = ({ status, json, text }: Answer): readonly string[] => {
  assert.deepEqual([status, json.error.code], [400, 'VALIDATION_FAILED'], text);
  return json.error.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);
};

describe('members', () => {
  test('a webhook has the defaults of what is left out; its secret is shown this once', async () => {
    const answer = await create();
    assert.equal(answer.status, 201, answer.text);
    const { secret, id, name, createdAt, ...rest } = answer.json.data;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.ok(Date.parse(createdAt) > 0);
    assert.equal(answer.headers.get('location'), `/api/admin/v1/organizations/acme/workspaces/shop/webhooks/${id}`);
    assert.deepEqual(rest, {
      url: URL,
      entities: null,
      types: ['created', 'updated', 'removed'],
      fields: null,
      filter: null,
      previous: false,
      maxBatch: 1,
      ordering: 'relaxed',
      headers: {},
      enabled: true,
      state: 'ok',
      disabledReason: null,
      previousSecretUntil: null,
      pending: 0,
      oldestPendingAt: null,
      lastAttemptAt: null,
      lastStatus: null,
      nextAttemptAt: null,
      createdBy: { kind: 'operator', id: 'operator', name: 'operator' },
    });
    const read = await call(`/${id}`, 'GET');
    assert.deepEqual(read.json.data, { id, name, createdAt, ...rest });
    const list = await call('?size=1000', 'GET');
    assert.ok(!list.text.includes(secret));
    assert.deepEqual(list.json.data.at(-1), read.json.data);
  });

  test('every member is as it was set, and a change leaves the others', async () => {
    const filter = { and: [{ field: 'total', op: 'gte', value: 1.5 }, { not: { field: 'status', op: 'isNull' } }] };
    const members = {
      entities: ['orders'],
      types: ['updated', 'schema'],
      fields: ['id', 'status'],
      filter,
      previous: true,
      maxBatch: 100,
      ordering: 'strict',
      headers: { Authorization: 'Bearer of-the-receiver', 'X-Shop': 'a b' },
      enabled: false,
    };
    const webhook = await createOne(members);
    const { secret: _, ...shown } = webhook;
    const hidden = { Authorization: null, 'X-Shop': null };
    for (const [name, value] of Object.entries({ ...members, headers: hidden }))
      assert.deepEqual(webhook[name], value, name);
    assert.deepEqual([webhook.state, webhook.disabledReason], ['disabled', 'administrator']);

    const changed = await call(`/${webhook.id}`, 'PUT', {
      maxBatch: 2,
      headers: { authorization: null, 'X-New': 'c' },
    });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual(changed.json.data, { ...shown, maxBatch: 2, headers: { authorization: null, 'X-New': null } });
    const all = await call(`/${webhook.id}`, 'PUT', { entities: null, fields: null, filter: null, enabled: true });
    assert.equal(all.status, 200, all.text);
    const { entities, fields, filter: none, state, disabledReason } = all.json.data;
    assert.deepEqual([entities, fields, none, state, disabledReason], [null, null, null, 'ok', null]);
  });

  test('numbers of a filter keep their digits', async () => {
    const value = '123456789012345678.10';
    const body = `{"name": "digits", "url": "${URL}", "entities": ["orders"], "filter": {"field": "total", "op": "eq", "value": ${value}}}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await shop.admin('webhooks', { method: 'POST', credential: ADMIN_KEY, body, headers });
    assert.equal(answer.status, 201, answer.text);
    assert.ok(answer.text.includes(`"value":${value}`), answer.text);
    assert.ok((await call(`/${answer.json.data.id}`, 'PUT', { maxBatch: 3 })).text.includes(`"value":${value}`));
  });

  test('secrets and values of headers are neither in the tables nor in the activity', async () => {
    const { id, secret } = await createOne({ headers: { Authorization: 'Bearer of-the-receiver' } });
    await call(`/${id}`, 'PUT', { headers: { Authorization: 'Bearer of-another' } });
    await call(`/${id}/rotate-secret`, 'POST', {});
    const rows = await server.database.query(
      `select row_to_json(w)::text as text, encode(w.headers, 'escape') || encode(w.secret, 'escape') as sealed from wda.webhook w`,
    );
    const activity = await shop.admin('activity?action=webhooks&size=200', { credential: ADMIN_KEY });
    assert.ok(activity.json.data.length > 3);
    for (const word of [secret, 'of-the-receiver', 'of-another', 'key=abc'])
      assert.ok(!activity.text.includes(word), word);
    for (const word of [secret.slice(6), 'of-the-receiver', 'of-another'])
      assert.ok(!JSON.stringify(rows).includes(word), word);
  });

  test('what a webhook cannot have is refused with its path', async () => {
    for (const [members, expected] of [
      [{ name: '' }, ['name INVALID']],
      [{ url: 5, name: 'x'.repeat(201) }, ['name TOO_LONG', 'url TYPE_MISMATCH']],
      [{ entities: ['orders', 'ordrs'] }, ['entities.1 REFERENCE_NOT_FOUND']],
      [{ entities: [] }, ['entities INVALID']],
      [{ types: [] }, ['types INVALID']],
      [{ types: ['created', 'reset'] }, ['types.1 NOT_IN_ENUM']],
      [{ fields: ['id'] }, ['fields INVALID']],
      [{ entities: ['orders', 'customers'], filter: { field: 'id', op: 'eq', value: 1 } }, ['filter INVALID']],
      [{ entities: ['orders'], fields: ['id', 'statsu'] }, ['fields.1 REFERENCE_NOT_FOUND']],
      [{ entities: ['orders'], fields: ['customer.name'] }, ['fields.0 REFERENCE_NOT_FOUND']],
      [{ entities: ['orders'], filter: { field: 'statsu', op: 'eq', value: 'x' } }, ['filter INVALID']],
      [{ entities: ['orders'], filter: { field: 'customer.name', op: 'eq', value: 'x' } }, ['filter INVALID']],
      [{ entities: ['orders'], filter: { field: 'total', op: 'eq', value: 'x' } }, ['filter INVALID']],
      [{ entities: ['orders'], filter: {} }, ['filter INVALID']],
      [{ entities: ['orders'], filter: { field: 'status', op: 'eq', value: 'x'.repeat(17_000) } }, ['filter TOO_LONG']],
      [{ maxBatch: 101 }, ['maxBatch OUT_OF_RANGE']],
      [{ ordering: 'loose' }, ['ordering NOT_IN_ENUM']],
      [{ colour: 'red' }, ['colour UNKNOWN_FIELD']],
      [
        {
          headers: {
            Host: 'x',
            'content-length': '1',
            'Webhook-Id': 'x',
            Connection: 'x',
            'X Y': 'x',
            'X-Z': 'ü',
            A: '',
          },
        },
        [
          'headers.Host INVALID',
          'headers.content-length INVALID',
          'headers.Webhook-Id INVALID',
          'headers.Connection INVALID',
          'headers.X Y INVALID',
          'headers.X-Z INVALID',
          'headers.A INVALID',
        ],
      ],
      [{ headers: { 'X-A': 'a', 'x-a': 'b', 'X-B': null } }, ['headers.x-a INVALID', 'headers.X-B REQUIRED']],
      [{ headers: { 'X-Long': 'x'.repeat(1025) } }, ['headers.X-Long INVALID']],
    ] as const) {
      assert.deepEqual(mistakes(await create(members)), expected, JSON.stringify(members).slice(0, 200));
    }
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, 'x']));
    assert.deepEqual(mistakes(await create({ headers: many })), ['headers OUT_OF_RANGE']);
    assert.equal((await create({ headers: { 'X-Long': 'x'.repeat(1024) } })).status, 201);
  });

  test('a URL that may not be called is refused in every notation', async () => {
    for (const url of [
      'http://93.184.215.14/',
      'https://user:word@example.com/',
      'https://example.com/#part',
      'ftp://example.com/',
      'https://10.0.0.1/',
      'http://169.254.169.254/latest',
      'https://0xa9.0xfe.1/',
      'https://[::ffff:10.0.0.1]/',
      'https://[fe80::1]/',
      'https://example.com/ x',
      `https://example.com/${'x'.repeat(2048)}`,
    ]) {
      const [mistake] = mistakes(await create({ url }));
      assert.match(mistake ?? '', /^url /, url);
    }
    assert.equal((await create({ url: 'http://127.0.0.1:9/' })).status, 201);
    const { id } = await createOne();
    assert.deepEqual(mistakes(await call(`/${id}`, 'PUT', { url: 'https://10.0.0.1/' })), ['url INVALID']);
  });

  test('an entity without changes is 409, and one whose changes were turned off may be stopped', async () => {
    const off = await create({ entities: ['orders', 'notes'] });
    assert.deepEqual([off.status, off.json.error.code], [409, 'CHANGES_OFF']);
    await shop.admin('entities/notes/settings', { method: 'PUT', credential: ADMIN_KEY, body: { changes: 'feed' } });
    const { id } = await createOne({ entities: ['notes'] });
    await shop.admin('entities/notes/settings', { method: 'PUT', credential: ADMIN_KEY, body: { changes: 'off' } });
    assert.equal((await call(`/${id}`, 'PUT', { enabled: false })).status, 200);
    assert.equal((await call(`/${id}`, 'GET')).json.data.pending, 0);
    assert.equal((await call(`/${id}`, 'PUT', { entities: ['notes'] })).json.error.code, 'CHANGES_OFF');
  });

  test('a name stands once in a workspace', async () => {
    const { name } = await createOne();
    const { id } = await createOne();
    for (const answer of [await create({ name }), await call(`/${id}`, 'PUT', { name })])
      assert.deepEqual([answer.status, answer.json.error.reason], [409, 'NOT_UNIQUE'], answer.text);
    assert.equal((await call(`/${id}`, 'PUT', { name: 'an own name' })).status, 200);
  });

  test('there is no webhook with the id of another workspace', async () => {
    const other = await server.workspace('acme/other', SCHEMA);
    const { id } = await createOne();
    for (const [path, method, body] of [
      ['', 'GET'],
      ['', 'PUT', { maxBatch: 2 }],
      ['', 'DELETE'],
      ['/test', 'POST'],
      ['/rotate-secret', 'POST', {}],
      ['/replay', 'POST', { from: 'now' }],
      ['/deliveries', 'GET'],
    ] as const) {
      const answer = await other.admin(`webhooks/${id}${path}`, { method, credential: ADMIN_KEY, body });
      assert.deepEqual([answer.status, answer.json.error.reason], [404, 'WEBHOOK_NOT_FOUND'], path);
    }
    assert.equal((await call(`/${id}`, 'DELETE')).status, 204);
    assert.equal((await call(`/${id}`, 'GET')).status, 404);
    assert.equal((await call('/abc', 'GET')).status, 400);
  });

  test('a workspace has at most 50 webhooks', async () => {
    const crowded = await server.workspace('acme/crowded', SCHEMA);
    const make = (name: string) =>
      crowded.admin('webhooks', { method: 'POST', credential: ADMIN_KEY, body: { name, url: URL, enabled: false } });
    for (let index = 0; index < 49; index++) assert.equal((await make(`hook ${index}`)).status, 201);
    const answers = await Promise.all(['a', 'b', 'c'].map(make));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    assert.equal(refused?.json.error.reason, 'TOO_MANY_WEBHOOKS');
  });
});

describe('the receiver', () => {
  test('a test is one signed message, with the headers that were set', async () => {
    const { id, name, secret } = await createOne({
      url: `${receiver.origin}/hooks`,
      headers: { Authorization: 'Bearer of-the-receiver' },
      enabled: false,
    });
    receiver.clear();
    const answer = await call(`/${id}/test`, 'POST');
    const { durationMs, ...outcome } = answer.json.data;
    assert.ok(Number.isInteger(durationMs));
    // Receivers in private networks do not tell what they answer.
    assert.deepEqual(outcome, { delivered: true, status: 204, error: null, responseBody: null });
    const [message] = await receiver.receive(1);
    assert.equal(message?.headers.authorization, 'Bearer of-the-receiver');
    const { timestamp, ...body } = verifyMessage(secret, message!.body, message!.headers) as Record<string, unknown>;
    assert.ok(Math.abs(Date.parse(String(timestamp)) - Date.now()) < 60_000);
    assert.deepEqual(body, { type: 'ping', workspace: 'acme/shop', data: { webhook: id, name } });
    assert.throws(() => verifyMessage(secret, message!.body.replace('ping', 'pong'), message!.headers));

    receiver.answer(500);
    const failed = (await call(`/${id}/test`, 'POST')).json.data;
    assert.deepEqual([failed.delivered, failed.status], [false, 500]);
    receiver.answer(204);
  });

  test('a test of an address that is not there says why', async () => {
    const { id } = await createOne({ url: 'http://127.0.0.1:9/' });
    const { delivered, status, error } = (await call(`/${id}/test`, 'POST')).json.data;
    assert.deepEqual([delivered, status, error], [false, null, 'CONNECTION_FAILED']);
  });

  test('while a secret is rotated both sign, and a second rotation ends the oldest', async () => {
    const { id, secret: first } = await createOne({ url: receiver.origin });
    const verified = async (): Promise<string[]> => {
      receiver.clear();
      await call(`/${id}/test`, 'POST');
      const [message] = await receiver.receive(1);
      return Object.keys(secrets).filter((name) => {
        try {
          verifyMessage(secrets[name] as string, message!.body, message!.headers);
          return true;
        } catch {
          return false;
        }
      });
    };
    const secrets: Record<string, string> = { first };
    const rotate = async (name: string, body?: object) => {
      const answer = await call(`/${id}/rotate-secret`, 'POST', body);
      assert.equal(answer.status, 200, answer.text);
      secrets[name] = answer.json.data.secret;
      return answer.json.data.previousSecretUntil;
    };
    const until = await rotate('second');
    const hours = (Date.parse(until) - Date.now()) / 3_600_000;
    assert.ok(hours > 23.9 && hours < 24.1, until);
    assert.equal((await call(`/${id}`, 'GET')).json.data.previousSecretUntil, until);
    assert.deepEqual(await verified(), ['first', 'second']);
    await rotate('third', { keepHours: 1 });
    assert.deepEqual(await verified(), ['second', 'third']);
    assert.equal(await rotate('fourth', { keepHours: 0 }), null);
    assert.deepEqual(await verified(), ['fourth']);
    await rotate('fifth', { keepHours: 168 });
    await server.database.query("update wda.webhook set previous_secret_until = now() - interval '1 s' where id = $1", [
      id,
    ]);
    assert.deepEqual(await verified(), ['fifth']);
    assert.equal((await call(`/${id}`, 'GET')).json.data.previousSecretUntil, null);
    for (const keepHours of [-1, 169, 1.5, 'x'])
      assert.equal((await call(`/${id}/rotate-secret`, 'POST', { keepHours })).status, 400);
  });
});
