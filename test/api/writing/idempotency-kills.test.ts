// Servers are killed and connections to the database ended at random moments, while clients create with keys and repeat
// until they are answered: there is exactly one record for each key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServerProcess } from '../../support/server-process.ts';
import { use, useServer } from '../../support/use.ts';

const CLIENTS = 12;
const KILLS = 5;

const server = useServer();
const lines = use(() =>
  server.workspace('acme/kills', { entities: { lines: { fields: { text: { type: 'text' } } } } }),
);

/** The way in which a client creates a line. */
const WAYS = [
  { path: 'lines', body: (text: string): unknown => ({ text }) },
  { path: 'lines/_bulk', body: (text: string): unknown => ({ data: [{ text }] }) },
  {
    path: '_batch',
    body: (text: string): unknown => ({ operations: [{ method: 'POST', entity: 'lines', body: { text } }] }),
  },
] as const;

test('one record for each key, whatever is killed', async () => {
  const env = { DATABASE_URL: server.database.url };
  let killed = await startServerProcess(env);
  const urls = (): readonly string[] => [killed.url, server.url];
  let isDone = false;

  async function kill(): Promise<void> {
    for (let kills = 0; kills < KILLS; kills++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 300));
      await server.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and random() < 0.3`,
      );
      await killed.kill();
      killed = await startServerProcess(env);
    }
  }

  async function create(key: string, index: number): Promise<void> {
    const { path, body } = WAYS[index % WAYS.length] as (typeof WAYS)[number];
    for (let attempt = 0; ; attempt++) {
      assert.ok(attempt < 500, `${key} was never answered`);
      const status = await fetch(`${urls()[(index + attempt) % 2]}/api/v1/acme/kills/${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${lines.key}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body(key)),
      })
        .then(async (response) => {
          await response.arrayBuffer();
          return response.status;
        })
        .catch(() => 0);
      if (status === 201 || status === 200) return;
      assert.ok(status === 0 || status === 503 || status === 409, `${key}: ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  let keys = 0;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isDone) {
      const index = keys++;
      await create(`key-${index}`, index);
    }
  });
  const killing = kill().finally(() => {
    isDone = true;
  });
  try {
    await Promise.all([killing, ...clients]);
  } finally {
    await killing;
    await killed.stop();
  }
  const { schema } = await place();
  const rows = await server.database.query(`select text, count(*)::int4 as count from ${schema}.lines group by 1`);
  assert.ok(keys > 100, `only ${keys} keys`);
  assert.equal(rows.length, keys);
  assert.deepEqual(
    rows.filter(({ count }) => count !== 1),
    [],
  );
});

async function place(): Promise<{ schema: string }> {
  const [row] = await server.database.query("select database_schema from wda.workspace where slug = 'kills'");
  return { schema: `"${row?.database_schema}"` };
}
