// 300 clients ask for 30 MB each and read hardly anything: the memory of the server and the answers of a neighbour.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { use, useDatabase } from '../support/resources.ts';
import { clientOf } from '../support/server.ts';
import { startServerProcess } from '../support/server-process.ts';
import { openSlowReader } from '../support/slow-readers.ts';

const READERS = 300;
const SECONDS = 12;
const MAX_GROWTH_MB = 300;

const database = useDatabase();
const server = use(
  () => startServerProcess({ DATABASE_URL: database.url }),
  (process) => process.stop(),
);

function readMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

const skip = process.platform === 'linux' ? false : 'reads the memory of a process in /proc';

// The second form has other statements each time, so that nothing can be learned of their answers.
for (const [name, makeQuery] of [
  ['the same', () => 'size=40'],
  ['different', (index: number) => `size=40&filter=title,ne,${index}&sort=${index % 2 === 0 ? 'id' : 'title'}`],
] as const) {
  test(`slow readers of ${name} lists leave the memory within ${MAX_GROWTH_MB} MB and a neighbour's requests alone`, {
    skip,
  }, async () => {
    const client = clientOf(server.url);
    const schema = { entities: { notes: { fields: { title: { type: 'string' }, body: { type: 'text' } } } } };
    const slug = name.replaceAll(' ', '-');
    const workspace = await client.workspace(`acme/${slug}`, schema);
    const neighbour = await client.workspace(`acme/beside-${slug}`, schema);
    const body = 'x'.repeat(750_000);
    for (let index = 0; index < 40; index++) {
      assert.equal((await workspace.call('notes', { method: 'POST', body: { body, title: `${index}` } })).status, 201);
    }
    assert.equal((await neighbour.call('notes', { method: 'POST', body: { title: 'a' } })).status, 201);
    const idle = readMegabytes(server.child.pid as number);
    const readers = Array.from({ length: READERS }, (_, index) =>
      openSlowReader(server.url, `/api/v1/acme/${slug}/notes?${makeQuery(index)}`, workspace.key),
    );
    let peak = idle;
    for (let second = 0; second < SECONDS; second++) {
      await sleep(1000);
      for (const reader of readers) reader.read(4096);
      assert.equal((await neighbour.call('notes')).status, 200);
      peak = Math.max(peak, readMegabytes(server.child.pid as number));
    }
    const statuses = new Set(readers.map((reader) => reader.status()));
    for (const reader of readers) reader.close();
    assert.deepEqual([...statuses].sort(), [200, 503]);
    assert.ok(peak - idle < MAX_GROWTH_MB, `${idle.toFixed()} MB before, ${peak.toFixed()} MB at most`);
  });
}
