// GET /server: what runs, for the operator alone, without a secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { formatAddress, parseDatabaseUrl } from '../../../src/database/connection-url.ts';
import { SETTINGS } from '../../../src/setting-list.ts';
import { wda } from '../../cli/wda.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';

const MOST = '77';
const server = useServer({ WDA_MAX_BATCH: MOST });
const second = useServer({}, server);
const shop = use(() => server.workspace('acme/shop', { entities: { notes: {} } }));
const read = () => server.call('/api/admin/v1/server', { credential: ADMIN_KEY });

// A process is known to the others once it remembers a workspace.
prepare(async () => {
  for (const { url } of [server, second]) {
    const headers = { authorization: `Bearer ${shop.key}` };
    assert.equal((await fetch(`${url}/api/v1/acme/shop/notes`, { headers })).status, 200);
  }
});

test('the operator learns versions, database and processes', async () => {
  const { status, json } = await read();
  assert.equal(status, 200);
  const { version, node, startedAt, database, processes } = json.data;
  assert.deepEqual([version, node], [manifest.version, process.versions.node]);
  assert.ok(Date.parse(startedAt) <= Date.now());
  const { version: postgres, bytes, ...place } = database;
  const address = formatAddress({ connectionString: server.database.url });
  const { database: name } = parseDatabaseUrl(server.database.url).config;
  assert.deepEqual(place, { embedded: false, address, name });
  assert.match(postgres, /^\d+\.\d+/);
  assert.ok(bytes > 1_000_000);
  assert.equal(processes.length, 2);
  for (const { place } of processes) assert.match(place, new RegExp(` ${process.pid}$`));
});

test('settings are those in force, and hold no secret', async () => {
  const { json, text } = await read();
  const settings = new Map(json.data.settings.map(({ name, value }: Record<string, string>) => [name, value]));
  assert.deepEqual(
    [...settings.keys()],
    SETTINGS.map(({ name }) => name),
  );
  assert.deepEqual(
    ['WDA_MAX_BATCH', 'WDA_MAX_BULK', 'WDA_ADMIN_KEY', 'DATABASE_URL'].map((name) => settings.get(name)),
    [MOST, '1000', 'set', 'set'],
  );
  assert.ok(!text.includes(ADMIN_KEY));
  assert.ok(!text.includes(server.database.url));
});

test('the last hour has requests, errors, latency and connections, by workspace', async () => {
  const headers = { authorization: `Bearer ${shop.key}` };
  for (let at = 0; at < 5; at++) await fetch(`${server.url}/api/v1/acme/shop/notes`, { headers });
  const { status, json } = await server.call('/api/admin/v1/server/statistics', { credential: ADMIN_KEY });
  assert.equal(status, 200);
  const { samples, workspaces, slowRequests } = json.data;
  const sum = (name: string): number =>
    samples.reduce((total: number, one: Record<string, number>) => total + (one[name] ?? 0), 0);
  assert.ok(sum('requests') >= 6);
  assert.equal(sum('errors'), 0);
  const last = samples.at(-1);
  assert.ok(Date.parse(last.at) <= Date.now() && last.connections > 0);
  assert.ok(last.p50Ms > 0 && last.p99Ms >= last.p50Ms);
  assert.equal(workspaces[0].workspace, 'acme/shop');
  assert.ok(workspaces[0].requests >= 6);
  assert.equal(workspaces[0].samples.length, samples.length);
  for (const { milliseconds, path } of slowRequests) assert.ok(milliseconds >= 200 && path.startsWith('/'));
});

test('wda server prints it', async () => {
  const env = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY };
  const { code, stdout } = await wda(['server'], { env });
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`^Version {5}${manifest.version.replaceAll('.', '\\.')}$`, 'm'));
  assert.match(stdout, new RegExp(`^WDA_MAX_BATCH +${MOST}$`, 'm'));
  assert.match(stdout, /^WDA_ADMIN_KEY +set$/m);
  assert.ok(!stdout.includes(ADMIN_KEY));
  assert.deepEqual(
    JSON.parse((await wda(['server', '--json'], { env })).stdout).settings,
    (await read()).json.data.settings,
  );
});
