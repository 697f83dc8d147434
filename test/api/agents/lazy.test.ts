// A server that no agent asks has nothing of the protocol in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendMessage } from '../../support/agent.ts';
import { clientOf } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { SHOP } from '../../support/shop-document.ts';
import { use, useDatabase } from '../../support/use.ts';

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
