// Clients that create lines with an Idempotency-Key each, and repeat every request until it is acknowledged, by whichever
// server.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** The entity that they write to. */
export const LINES = { entities: { lines: { fields: { text: { type: 'text' } } } } };

/** The way in which a client creates a line. */
const WAYS = [
  { path: 'lines', body: (text: string): unknown => ({ text }) },
  { path: 'lines/_bulk', body: (text: string): unknown => ({ data: [{ text }] }) },
  {
    path: '_batch',
    body: (text: string): unknown => ({ operations: [{ method: 'POST', entity: 'lines', body: { text } }] }),
  },
  { path: 'lines/_import', body: (text: string): unknown => ({ text }) },
] as const;

const CLIENTS = 12;
const REPEAT_MS = 20;
// Only so that a broken test ends.
const LIMIT_MS = 60_000;

interface KeyedClients {
  /** `organization/workspace` of LINES. */
  readonly path: string;
  readonly credential: string;
  /** Addresses of the servers that they take turns at, as they are now. */
  readonly urls: () => readonly string[];
}

/**
 * Creates lines while `work` runs, which can ask how many keys were acknowledged so far. Gives how many were in the end,
 * each with a line of the text `key-<n>`.
 */
export async function createWhile(
  work: (acknowledged: () => number) => Promise<void>,
  { path, credential, urls }: KeyedClients,
): Promise<number> {
  let isDone = false;
  let keys = 0;
  let acknowledged = 0;
  const end = work(() => acknowledged).finally(() => {
    isDone = true;
  });

  async function create(index: number): Promise<void> {
    const way = WAYS[index % WAYS.length] as (typeof WAYS)[number];
    const key = `key-${index}`;
    const deadline = performance.now() + LIMIT_MS;
    for (let attempt = 0; ; attempt++) {
      assert.ok(performance.now() < deadline, `${key} was never answered`);
      const servers = urls();
      const status = await fetch(`${servers[(index + attempt) % servers.length]}/api/v1/${path}/${way.path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${credential}`,
          'content-type': way.path === 'lines/_import' ? 'application/x-ndjson' : 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(way.body(key)),
      })
        .then(async (response) => {
          await response.arrayBuffer();
          return response.status;
        })
        .catch(() => 0);
      if (status === 201 || status === 200) return;
      assert.ok(status === 0 || status === 503 || status === 409, `${key}: ${status}`);
      await sleep(REPEAT_MS);
    }
  }

  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isDone) {
      await create(keys++);
      acknowledged++;
    }
  });
  await Promise.all([end, ...clients]).finally(() => end.catch(() => undefined));
  return keys;
}

/** Fails unless there is exactly one line for each of the first `keys` keys, and no other. */
export async function assertOneForEach(
  keys: number,
  query: (text: string) => Promise<Record<string, unknown>[]>,
  slug: string,
): Promise<void> {
  const [place] = await query(`select database_schema from wda.workspace where slug = '${slug}'`);
  const rows = await query(
    `select text, count(*)::int4 as count from "${place?.database_schema}".lines group by text order by text`,
  );
  const wanted = Array.from({ length: keys }, (_, index) => ({ text: `key-${index}`, count: 1 }));
  assert.deepEqual(
    rows.map(({ text, count }) => ({ text, count })),
    wanted.sort((a, b) => (a.text < b.text ? -1 : 1)),
  );
}
