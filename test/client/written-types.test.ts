// `wda types` against a server: what it writes of the demo workspace is what the tests of the client use.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { wda } from '../cli/wda.ts';
import { useIssuer, useUsers } from '../support/resources.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { useDemo } from './demo.ts';

const demo = useDemo(LOCAL_PROVIDER);
const issuer = useIssuer();
const tokenOf = useUsers(demo.workspace, issuer);
const FILE = join(import.meta.dirname, 'shop.ts');
const types = (key: string, ...args: string[]) =>
  wda(['types', ...args], { env: { WDA_URL: demo.server.url, WDA_KEY: key, WDA_WORKSPACE: demo.workspace.path } });

test('the types of the demo workspace are those of shop.ts', async () => {
  const { stdout, stderr } = await types(demo.workspace.key);
  assert.equal(stderr, '');
  // `npm run -s wda -- types -w demo/shop > test/client/shop.ts` writes it.
  assert.equal(stdout, readFileSync(FILE, 'utf8'));
  assert.equal((await types(demo.workspace.readWriteKey, '--check', FILE)).stdout, `${FILE} is current\n`);
});

test('a credential that only reads has nothing to create or update', async () => {
  const { stdout } = await types(demo.workspace.readOnlyKey);
  assert.equal(stdout.match(/^ {4}create: never;$/gm)?.length, 6);
  assert.equal(stdout.match(/^ {4}update: never;$/gm)?.length, 6);
  assert.match(stdout, /\n {6}customer: 'customers';\n/);
});

test('users of an identity provider: what rules hide may be null, what tokens set need not be given', async () => {
  const schema = structuredClone(DEMO_SCHEMA) as { entities: Record<string, object> };
  Object.assign(schema.entities.orders as object, {
    rowRules: [
      { column: 'customerId', claim: 'customer_id' },
      { column: 'note', claim: 'note', enabled: false },
    ],
  });
  assert.equal((await demo.workspace.admin('schema', { method: 'PUT', body: schema })).status, 200);
  const asOwner = await types(demo.workspace.key, '--for', 'external');
  const asUser = await types(tokenOf({ customer_id: 1 }));
  assert.equal(asOwner.stdout, asUser.stdout);
  assert.match(asOwner.stdout, /\n {6}order: 'orders' \| null;\n/);
  assert.match(asOwner.stdout, /\n {6}\/\*\* Set from your token\. \*\/ customerId\?: number;\n/);
  assert.match(asOwner.stdout, /\n {6}customer: 'customers';\n/);
  assert.equal((await types(tokenOf({}), '--for', 'external')).stdout, asUser.stdout);

  const refused = await types(demo.workspace.readOnlyKey, '--for', 'external');
  assert.deepEqual([refused.code, /\(40[13] /.test(refused.stderr)], [1, true], refused.stderr);
});
