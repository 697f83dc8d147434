// The log of a webhook has bounds: attempts of a message, and days.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../../src/config.ts';
import { makeDatabase } from '../../../src/database/pool.ts';
import { removeDeliveries } from '../../../src/store/webhook-work.ts';
import { startReceiver } from '../../support/receiver.ts';
import { use, useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer({ WDA_WEBHOOK_PRIVATE_NETWORK: 'allow', WDA_WEBHOOK_RETRY_SECONDS: '1' });
const receiver = use(startReceiver, (one) => one.stop());
const shop = use(() =>
  server.workspace('acme/log', {
    entities: { notes: { fields: { n: { type: 'integer' } }, settings: { changes: 'feed' } } },
  }),
);

async function makeHook(name: string): Promise<number> {
  const { status, json, text } = await shop.admin('webhooks', {
    method: 'POST',
    body: { name, url: `${receiver.origin}/` },
  });
  assert.equal(status, 201, text);
  return json.data.id;
}

test('a message has its last 50 attempts', async () => {
  const id = await makeHook('attempts');
  receiver.answer(500);
  await shop.create('notes', [{ n: 1 }]);
  await receiver.receive(1);
  const find = async () => (await shop.admin(`webhooks/${id}/deliveries`)).json.data[0];
  await until('the attempt is in the log', async () => (await find()) !== undefined);
  await server.database.query(
    `update wda.webhook_delivery set attempts = 70, attempt_log = (select json_agg(json_build_object('at', '2026-11-22T00:43:53.838Z', 'status', 500, 'error', null, 'durationMs', n,
  'responseBody', null)) from generate_series(1, 50) n) where webhook_id = $1`,
    [id],
  );
  receiver.answer(204);
  await until('it is delivered', async () => (await find()).state === 'delivered');
  const { attempts, attemptLog } = (await shop.admin(`webhooks/${id}/deliveries/${(await find()).id}`)).json.data;
  assert.ok(attempts > 70);
  assert.equal(attemptLog.length, 50);
  assert.deepEqual([attemptLog[0].durationMs > 1, attemptLog.at(-1).status], [true, 204]);
});

test('messages leave the log after the days of the settings, failed ones after 30 at least, and those that wait never', async (t) => {
  const id = await makeHook('days');
  for (const state of ['delivered', 'discarded', 'failed', 'pending'])
    for (const days of [6, 8, 29, 31])
      await server.database.query(
        `insert into wda.webhook_delivery (webhook_id, message_id, type, events, first_position, last_position, epoch, state, created_at)
values ($1, $2, 'notes.created', 1, 1, 1, 'epoch', $3, now() - make_interval(days => $4::int4))`,
        [id, `msg_${state}_${days}`, state, days],
      );
  const connection = { connectionString: server.database.url };
  const db = makeDatabase({ ...readConfig({}), connection, processes: 1, onError: () => undefined });
  t.after(() => db.close());
  const list = async () => {
    const rows = await server.database.query('select message_id from wda.webhook_delivery where webhook_id = $1', [id]);
    return rows.map(({ message_id: message }) => String(message).slice(4)).sort();
  };
  const waiting = ['pending_29', 'pending_31', 'pending_6', 'pending_8'];
  assert.equal(await removeDeliveries(db, 7), false);
  assert.deepEqual(await list(), ['delivered_6', 'discarded_6', 'failed_29', 'failed_6', 'failed_8', ...waiting]);
  await removeDeliveries(db, 1);
  assert.deepEqual(await list(), ['failed_29', 'failed_6', 'failed_8', ...waiting]);
});
