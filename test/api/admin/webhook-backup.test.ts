// Webhooks in backups: without secrets, and disabled where they are restored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFile } from '../../../src/backup/format.ts';
import { startReceiver } from '../../support/receiver.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type TestServer } from '../../support/server.ts';
import { verifyMessage } from '../../support/standard-webhooks.ts';

const ADMIN = '/api/admin/v1';
const ENV = { WDA_WEBHOOK_PRIVATE_NETWORK: '127.0.0.0/8' };
const SCHEMA = {
  entities: {
    orders: { fields: { status: { type: 'string' } }, settings: { changes: 'feed' } },
    notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } },
  },
};

const server = useServer(ENV);
const elsewhere = useServer(ENV);
const receiver = use(startReceiver, (one) => one.stop());
const shop = use(() => server.workspace('acme/shop', SCHEMA));

const ask = (at: TestServer, slug: string, path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  at.call(`${ADMIN}/organizations/acme/workspaces/${slug}${path}`, {
    method,
    credential: ADMIN_KEY,
    ...(body === undefined ? {} : { body }),
  });

async function backUp(path: string): Promise<Buffer> {
  const answer = await fetch(`${server.url}${ADMIN}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

async function restoreAt(at: TestServer, body: Buffer, query: string): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const answer = await at.call(`${ADMIN}/restore${query}`, { method: 'POST', credential: ADMIN_KEY, headers, body });
  assert.equal(answer.status, 200, answer.text);
}

async function readText(file: Buffer): Promise<string> {
  let text = '';
  const { pieces } = await readFile(
    (async function* () {
      yield file;
    })(),
  );
  for await (const piece of pieces) text += 'entry' in piece ? JSON.stringify(piece.entry) : piece.data.toString();
  return text;
}

test('restored webhooks send nothing until they have a secret, values of headers, and are enabled', async () => {
  const filter = { field: 'status', op: 'eq', value: 'paid' };
  const made = await ask(server, 'shop', '/webhooks', 'POST', {
    name: 'shop to ERP',
    url: `${receiver.origin}/hooks`,
    entities: ['orders'],
    fields: ['id', 'status'],
    filter,
    previous: true,
    maxBatch: 7,
    ordering: 'strict',
    headers: { Authorization: 'Bearer of-the-receiver' },
  });
  assert.equal(made.status, 201, made.text);
  const gone = await ask(server, 'shop', '/webhooks', 'POST', {
    name: 'for notes',
    url: receiver.origin,
    entities: ['notes'],
    fields: ['text'],
    enabled: false,
  });
  assert.equal(gone.status, 201, gone.text);
  const dropped = await ask(server, 'shop', '/schema?allowDestructive=true&wait=30', 'PUT', {
    entities: { orders: SCHEMA.entities.orders },
  });
  assert.equal(dropped.status, 200, dropped.text);
  await shop.create('orders', [{ status: 'paid' }]);

  const file = await backUp('/organizations/acme/workspaces/shop/backup');
  const text = await readText(file);
  assert.ok(text.includes('shop to ERP'));
  for (const word of [made.json.data.secret, 'whsec_', 'of-the-receiver']) assert.ok(!text.includes(word), word);

  const instance = await backUp('/backup');
  for (const [at, slug, bytes, query] of [
    [server, 'copy', file, '?as=acme/copy'],
    [elsewhere, 'shop', instance, ''],
  ] as const) {
    await restoreAt(at, bytes, query);
    const [one, two] = (await ask(at, slug, '/webhooks')).json.data;
    const { id, createdAt, ...rest } = one;
    assert.equal(createdAt, made.json.data.createdAt);
    assert.deepEqual(rest, {
      name: 'shop to ERP',
      url: `${receiver.origin}/hooks`,
      entities: ['orders'],
      types: ['created', 'updated', 'removed'],
      fields: ['id', 'status'],
      filter,
      previous: true,
      maxBatch: 7,
      ordering: 'strict',
      headers: { Authorization: null },
      enabled: false,
      state: 'disabled',
      disabledReason: 'restored',
      previousSecretUntil: null,
      pending: 0,
      oldestPendingAt: null,
      lastAttemptAt: null,
      lastStatus: null,
      nextAttemptAt: null,
      createdBy: null,
    });
    assert.deepEqual([two.entities, two.fields], [[], null]);

    const lacks = async (path: string, method: string, body: object | undefined, words: RegExp) => {
      const answer = await ask(at, slug, `/webhooks/${id}${path}`, method, body);
      assert.deepEqual([answer.status, answer.json.error.reason], [409, 'WEBHOOK_INCOMPLETE'], answer.text);
      assert.match(answer.json.error.message, words);
    };
    await lacks('', 'PUT', { enabled: true }, /secret.*Authorization/);
    await lacks('/test', 'POST', undefined, /secret/);
    const rotated = await ask(at, slug, `/webhooks/${id}/rotate-secret`, 'POST', {});
    assert.deepEqual([rotated.status, rotated.json.data.previousSecretUntil], [200, null], rotated.text);
    await lacks('', 'PUT', { enabled: true }, /Authorization/);
    // It begins at the moment when it is enabled.
    await at.call(`/api/v1/acme/${slug}/orders`, { method: 'POST', credential: ADMIN_KEY, body: { status: 'paid' } });
    const enabled = await ask(at, slug, `/webhooks/${id}`, 'PUT', { enabled: true, headers: { Authorization: 'x' } });
    assert.equal(enabled.status, 200, enabled.text);
    assert.deepEqual([enabled.json.data.state, enabled.json.data.pending], ['ok', 0]);
    // The original webhook sends to the same receiver.
    receiver.clear();
    assert.equal((await ask(at, slug, `/webhooks/${id}/test`, 'POST')).json.data.delivered, true);
    const message = receiver.messages.find(({ body }) => body.includes('"ping"'));
    assert.equal(message?.headers.authorization, 'x');
    verifyMessage(rotated.json.data.secret, message!.body, message!.headers);
  }
});
