// What a workspace keeps of the changes of its records, as administrators see it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { TestWorkspace } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('acme/kept', {
    entities: {
      orders: { fields: { total: { type: 'integer' } }, settings: { changes: 'feed' } },
      papers: { fields: { text: { type: 'text' } }, settings: { changes: 'history', historyDays: 90 } },
      drafts: { fields: { text: { type: 'text' } }, settings: { changes: 'history' } },
      logs: { fields: { text: { type: 'text' } } },
    },
  }),
);

async function show(workspace: TestWorkspace): Promise<Record<string, unknown>> {
  const { status, json, text } = await workspace.admin('changes', { credential: workspace.key });
  assert.equal(status, 200, text);
  return json.data;
}

test('a workspace without changes keeps nothing', async () => {
  const empty = await server.workspace('acme/empty', { entities: { logs: { fields: { text: { type: 'text' } } } } });
  const none = { entities: [], oldest: null, bytes: 0, unnumbered: 0, lagSeconds: 0, streams: 0, webhooks: 0 };
  assert.deepEqual(await show(empty), none);
});

test('entities that keep changes are listed, with what is kept and what waits for its first reader', async () => {
  const before = await show(shop);
  const { entities } = before as { entities: { since: string }[] };
  assert.deepEqual(
    entities.map(({ since, ...entity }) => [entity, Number.isNaN(Date.parse(since))]),
    [
      [{ entity: 'orders', changes: 'feed', historyDays: null }, false],
      [{ entity: 'papers', changes: 'history', historyDays: 90 }, false],
      [{ entity: 'drafts', changes: 'history', historyDays: 365 }, false],
    ],
  );
  assert.deepEqual([before.oldest, before.unnumbered, before.lagSeconds], [null, 0, 0]);
  let written = before;
  // The server itself may have read the changes, once a minute.
  await until('a change waits', async () => {
    assert.equal((await shop.call('orders', { method: 'POST', body: { total: 1 } })).status, 201);
    written = await show(shop);
    return Number(written.unnumbered) > 0;
  });
  assert.ok(Number(written.lagSeconds) > 0);
  assert.ok(Number(written.bytes) > 0);
  const { data } = (await shop.call('orders/_changes?after=oldest')).json;
  const read = await show(shop);
  assert.deepEqual([read.unnumbered, read.lagSeconds, read.oldest], [0, 0, data[0].at]);
});

test('open streams and webhooks are counted', async () => {
  const controller = new AbortController();
  const opened = await fetch(`${server.url}/api/v1/${shop.path}/orders/_changes`, {
    headers: { Accept: 'text/event-stream', Authorization: `Bearer ${shop.key}` },
    signal: controller.signal,
  });
  assert.equal(opened.status, 200);
  const body = { name: 'hook', url: 'https://receiver.invalid/', enabled: false };
  const made = await shop.admin('webhooks', { method: 'POST', body });
  assert.equal(made.status, 201, made.text);
  const { streams, webhooks } = await show(shop);
  assert.deepEqual([streams, webhooks], [1, 1]);
  controller.abort();
  await until('the stream is gone', async () => (await show(shop)).streams === 0);
});

test('renamed and dropped entities follow the schema', async () => {
  const { json } = await shop.admin('schema?wait=30&allowDestructive=true', {
    method: 'PUT',
    body: {
      entities: {
        sheets: {
          fields: { text: { type: 'text' } },
          settings: { changes: 'history', historyDays: 90 },
          renamedFrom: 'papers',
        },
      },
    },
  });
  assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
  const { entities } = (await show(shop)) as { entities: { entity: string }[] };
  assert.deepEqual(
    entities.map(({ entity }) => entity),
    ['sheets'],
  );
});
