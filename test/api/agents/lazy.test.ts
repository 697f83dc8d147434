// A server that no agent asks has nothing of the protocol in memory, and its log says of calls who has made them, not of what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendMessage } from '../../support/agent.ts';
import { use, useDatabase } from '../../support/resources.ts';
import { clientOf } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { SHOP } from '../../support/shop-document.ts';
import { until } from '../../support/wait-until.ts';

// Prints a line for each module of the SDK when it is loaded.
const WATCH = `
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(name, context, next) {
      if (name.startsWith('@modelcontextprotocol/')) console.log('loaded ' + name);
      return next(name, context);
    },
  });
`;

const database = useDatabase();
const server = use(
  () =>
    startServerProcess({
      DATABASE_URL: database.url,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WATCH)}`,
    }),
  (process) => process.stop(),
);

test('the SDK is loaded at the first message of an agent, and not before', async () => {
  const client = clientOf(server.url);
  const shop = await client.workspace('acme/shop', { entities: SHOP });
  assert.equal((await shop.call('tags')).status, 200);
  const loaded = () => server.lines.filter((line) => line.startsWith('loaded '));
  assert.deepEqual(loaded(), []);
  const answer = await sendMessage(client, shop.path, { method: 'tools/list', credential: shop.key });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(loaded()[0], 'loaded @modelcontextprotocol/server');
});

test('the log has a line for each call, without values', async () => {
  const client = clientOf(server.url);
  const notes = await client.workspace('acme/notes', {
    entities: { notes: { fields: { title: { type: 'string' } } } },
  });
  const call = (args: object) =>
    sendMessage(client, notes.path, {
      method: 'tools/call',
      params: { name: 'count_records', arguments: args },
      credential: notes.readOnlyKey,
    });
  const filter = { field: 'title', op: 'eq', value: 'xyzzy' };
  assert.equal((await call({ entity: 'notes', filter })).json.result.content[0].text, '0');
  await call({ entity: 'xyzzy' });
  const ofCalls = () =>
    server.lines.filter((line) => line.includes('call of an agent')).map((line) => JSON.parse(line));
  await until('a line for each call', () => ofCalls().length === 2);
  const [done, refused] = ofCalls();
  assert.equal(done.tool, 'count_records');
  assert.equal(done.entity, 'notes');
  assert.match(done.principal, /^key:\d+$/);
  assert.equal(done.client, 'by-hand');
  assert.equal(refused.failed, 'NOT_FOUND');
  assert.ok(!('entity' in refused));
  assert.ok(server.lines.every((line) => !line.includes('xyzzy') && !line.includes(notes.readOnlyKey)));
});
