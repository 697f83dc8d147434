// Feeds whose connections to the database are lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useDatabase, useDatabaseProxy, useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const database = useDatabase();
const proxy = useDatabaseProxy(database);
const server = useServer({}, proxy);
const notes = use(() =>
  server.workspace('acme/faults', {
    entities: { notes: { fields: { n: { type: 'integer' } }, settings: { changes: 'feed' } } },
  }),
);

for (const part of ['number_changes', 'from wda.api_key where workspace_id'])
  test(`a page whose connection is lost at "${part}" is refused for the moment`, async () => {
    await notes.create('notes', [{ n: 1 }]);
    assert.equal((await notes.call('notes/_changes?after=oldest')).status, 200);
    const held = proxy.hold(part);
    const page = notes.call('notes/_changes?after=oldest');
    await until('the page is that far', held.isHeld);
    proxy.cut();
    const { status, text, json } = await page;
    proxy.restore();
    assert.deepEqual([status, json?.error?.code], [503, 'SERVICE_UNAVAILABLE'], text);
    await until('the database is back', async () => (await notes.call('notes/_changes')).status === 200);
  });
