// The commands about a cluster, by the command line against a real server: what a person and a script get.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wda } from '../cli/wda.ts';
import { isCluster } from '../support/citus.ts';
import { use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';

if (isCluster) onCluster();
else test('the commands about a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const server = useServer();
  const shop = use(() =>
    server.workspace('acme/shop', { entities: { notes: { fields: { text: { type: 'text' } } } } }),
  );
  const env = () => ({ WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY });

  async function run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await wda(args, { env: env() });
    assert.equal(code, 0, stderr);
    return stdout;
  }
  // biome-ignore lint/suspicious/noExplicitAny: answers of the admin API
  const runJson = async (...args: string[]): Promise<any> => JSON.parse(await run(...args, '--json'));

  const workers = async (): Promise<string[]> =>
    (await runJson('cluster', 'status')).nodes
      .filter(({ role }: { role: string }) => role === 'worker')
      .map(({ name }: { name: string }) => name);
  const placeOf = async (): Promise<string> => (await runJson('cluster', 'workspaces'))[0].node;

  test('status has a row for each node, and workspaces one for each workspace', async () => {
    await shop.create('notes', [{ text: 'a' }]);
    const status = await run('cluster', 'status');
    assert.match(
      status,
      /^Citus +\d+\.\d+-\d+\nTriggers +on\n\nNODE +ROLE +STATE +TAKES WORKSPACES +WORKSPACES +SIZE\n/,
    );
    assert.equal(status.match(/ coordinator +up +no /g)?.length, 1, status);
    assert.equal(status.match(/ worker +up +yes /g)?.length, (await workers()).length, status);
    const placed = await run('cluster', 'workspaces');
    assert.match(placed, /^WORKSPACE +NODE +SIZE\nacme\/shop +\S+:\d+ +[\d.]+ \w+\n$/);
    const other = (await workers()).find((name) => !placed.includes(name)) as string;
    assert.equal(await run('cluster', 'workspaces', '--node', other), 'No workspaces there\n');
  });

  test('a move is followed to its end, listed, and has nothing to do a second time', async () => {
    assert.equal(await run('cluster', 'moves'), 'No moves\n');
    const from = await placeOf();
    const to = (await workers()).find((name) => name !== from) as string;
    const moved = await run('workspace', 'move', 'acme/shop', '--node', to);
    assert.ok(moved.endsWith(`acme/shop: ${from} -> ${to}: succeeded\n`), moved);
    assert.equal(await placeOf(), to);
    assert.match(await run('cluster', 'moves'), /^ *ID +WORKSPACE +FROM +TO +STATE .*\n +1 +acme\/shop .* succeeded /);
    const again = await run('workspace', 'move', 'acme/shop', '--node', to);
    assert.equal(again, `acme/shop lies on ${to} already\n`);
    assert.equal((await shop.call('notes/1')).json.data.text, 'a');
  });

  test('a plan of a rebalance moves nothing', async () => {
    const before = await placeOf();
    const { moves, nodes } = await runJson('cluster', 'rebalance', '--plan');
    assert.deepEqual(moves, []);
    assert.deepEqual(nodes.map(({ name }: { name: string }) => name).sort(), (await workers()).sort());
    assert.equal(await run('cluster', 'rebalance', '--plan'), 'Nothing to move: the nodes hold about the same\n');
    assert.equal(await placeOf(), before);
  });

  test('cancel ends one move or all, and there is nothing to end', async () => {
    assert.equal(await run('cluster', 'cancel', '--all'), 'No moves that have not ended\n');
    for (const args of [[], ['1', '--all']]) {
      const { code, stderr } = await wda(['cluster', 'cancel', ...args], { env: env() });
      assert.notEqual(code, 0);
      assert.match(stderr, /One of <id> and --all is needed/);
    }
    // As while its schema is changed: the move waits for the lock.
    const lock = "(x'776461'::int8 << 40) + id";
    await server.database.query(`select pg_advisory_lock(${lock}) from wda.workspace`);
    const before = await placeOf();
    const to = (await workers()).find((name) => name !== before) as string;
    const { id } = await runJson('workspace', 'move', 'acme/shop', '--node', to, '--no-wait');
    assert.equal(await run('cluster', 'cancel', '--all'), `Cancelling move ${id}: cancelled\n`);
    await server.database.query(`select pg_advisory_unlock(${lock}) from wda.workspace`);
    assert.equal(await placeOf(), before);
  });

  test('a node that there is not is refused with those that there are', async () => {
    const { code, stderr } = await wda(['workspace', 'move', 'acme/shop', '--node', '127.0.0.1:1'], { env: env() });
    assert.notEqual(code, 0);
    for (const name of await workers()) assert.ok(stderr.includes(name), stderr);
  });
}
