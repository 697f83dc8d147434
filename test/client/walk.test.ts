// Walking through all records, and files that are larger than memory should be.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { useDemo, watchedFetch } from './demo.ts';

const demo = useDemo();

test('all() gives every record once while others insert', async () => {
  const tags = demo.client().entity('tags');
  const named = (prefix: string) => Array.from({ length: 1000 }, (_, index) => ({ name: `${prefix}${index}` }));
  const before = (await Promise.all(['a', 'b', 'c'].map((prefix) => tags.createMany(named(prefix))))).flatMap(
    ({ data }) => data,
  );
  let isDone = false;
  const inserting = (async () => {
    for (let index = 0; !isDone; index++) await tags.create({ name: `late ${index}` });
  })();
  for (const sort of ['id', 'name,desc'] as const) {
    const seen: number[] = [];
    for await (const { id } of tags.all({ fields: ['id'], size: 97, sort })) seen.push(id);
    assert.equal(new Set(seen).size, seen.length);
    const found = new Set(seen);
    assert.deepEqual(
      before.filter(({ id }) => !found.has(id)),
      [],
    );
  }
  isDone = true;
  await inserting;
});

test('all() reads no further than it is asked to', async () => {
  const { fetch, requests } = watchedFetch();
  const tags = demo.client({ fetch }).entity('tags');
  for await (const { id } of tags.all({ size: 2 })) if (id > 0) break;
  assert.equal(requests.length, 1);
  assert.equal(new URL(requests[0]?.url ?? '').searchParams.get('count'), 'none');
  const ended = new AbortController();
  const walk = async (): Promise<void> => {
    for await (const _ of tags.all({ size: 2 }, { signal: ended.signal })) ended.abort();
  };
  await assert.rejects(walk(), { name: 'AbortError' });
});

test('a file of 64 MB goes both ways through a process that has no room for it', async () => {
  const files = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', join(import.meta.dirname, 'large-file.ts')],
    {
      env: { PATH: process.env.PATH, WDA_URL: demo.server.url, WDA_KEY: demo.workspace.key },
    },
  );
  const { sent, received, sentHash, receivedHash, inserted, grown } = JSON.parse(files.stdout);
  assert.equal(inserted, 65_536);
  assert.ok(sent > 64e6 && received > 64e6);
  assert.equal(sentHash, receivedHash);
  // A file that is kept whole is there once or twice.
  assert.ok(grown < 64e6, `${grown} bytes more`);
});
