// What a webhook is told when entities keep their changes no longer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startReceiver } from '../../support/receiver.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const KEPT = { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } };
const server = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow', WDA_WEBHOOK_RETRY_SECONDS: '1' });
const receiver = use(startReceiver, (one) => one.stop());

for (const [what, entities] of [
  ['one of several entities', { orders: KEPT, notes: KEPT, tags: { fields: { text: { type: 'text' } } } }],
  ['the only entity', { notes: KEPT }],
] as const) {
  test(`turning off the changes of ${what} is a message, and events of others go on`, async () => {
    const slug = `shop-${Object.keys(entities).length}`;
    const shop = await server.workspace(`acme/${slug}`, { entities });
    const admin = (path: string, method: string, body: unknown) =>
      shop.admin(path, { method, credential: ADMIN_KEY, body });
    const paths = ['all', 'notes'].map((name) => `/${slug}/${name}`);
    for (const [index, path] of paths.entries()) {
      const body = { name: path, url: receiver.origin + path, entities: index === 0 ? null : ['notes'] };
      assert.equal((await admin('webhooks', 'POST', body)).status, 201);
    }
    const bodiesAt = (path: string) =>
      receiver.messages.filter((message) => message.path === path).map(({ body }) => JSON.parse(body));
    const wait = (path: string, total: number) => until(`${total} messages`, () => bodiesAt(path).length >= total);
    await shop.create('notes', [{ text: 'a' }]);
    for (const path of paths) await wait(path, 1);
    assert.equal((await admin('entities/notes/settings', 'PUT', { changes: 'off' })).status, 200);
    const isSeveral = 'orders' in entities;
    if (isSeveral) await shop.create('orders', [{ text: 'b' }]);
    await wait(paths[0] as string, isSeveral ? 3 : 2);
    await wait(paths[1] as string, 2);
    for (const [index, path] of paths.entries()) {
      const types = ['notes.created', 'notes.ended', ...(isSeveral && index === 0 ? ['orders.created'] : [])];
      assert.deepEqual(
        bodiesAt(path).map(({ type }) => type),
        types,
      );
      const { entity, reason, id } = bodiesAt(path)[1].data;
      assert.deepEqual([entity, reason], ['notes', 'off']);
      assert.match(id, /^e_/);
    }
    // On again, the end is not told a second time.
    await admin('entities/notes/settings', 'PUT', { changes: 'feed' });
    await shop.create('notes', [{ text: 'c' }]);
    await wait(paths[1] as string, 3);
    assert.equal(bodiesAt(paths[1] as string).at(-1).type, 'notes.created');
  });
}
