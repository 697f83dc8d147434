// Bounds of what idempotency keys take: answers of a workspace beyond its bytes are read again, keys beyond their number
// are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';

const SCHEMA = { entities: { notes: { fields: { title: { type: 'string' }, text: { type: 'text' } } } } };
const TEXT = 'x'.repeat(600);

const small = useServer({ WDA_IDEMPOTENCY_MAX_BYTES: '1800' });
const few = useServer({ WDA_IDEMPOTENCY_MAX_KEYS: '4' });
const notes = use(() => small.workspace('acme/bytes', SCHEMA));
const other = use(() => small.workspace('acme/other', SCHEMA));
const keyed = use(() => few.workspace('acme/keys', SCHEMA));

const send = (
  to: TestWorkspace,
  key: string | undefined,
  path: string,
  method: string,
  body?: unknown,
): Promise<Answer> =>
  to.call(path, {
    method,
    ...(body === undefined ? {} : { body }),
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
const replayed = (answer: Answer): string | null => answer.headers.get('idempotent-replayed');
const figure = async (name: string): Promise<number> => {
  return Number(
    (await small.metrics())
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  );
};

test('answers beyond the bytes of a workspace are read again, with their status', async () => {
  const ids: number[] = [];
  const kinds: (string | null)[] = [];
  const twice = async (path: string, method: string, body?: unknown): Promise<Answer> => {
    const key = `key${kinds.length}`;
    const first = await send(notes, key, path, method, body);
    assert.ok(first.status < 300, first.text);
    const second = await send(notes, key, path, method, body);
    assert.deepEqual([second.status, second.text], [first.status, first.text]);
    for (const header of ['location', 'etag']) assert.equal(second.headers.get(header), first.headers.get(header));
    kinds.push(replayed(second));
    return first;
  };
  for (let n = 0; n < 6; n++) ids.push((await twice('notes', 'POST', { title: `note ${n}`, text: TEXT })).json.data.id);
  await twice(`notes/${ids[0]}`, 'PATCH', { title: 'changed' });
  await twice('notes/_bulk', 'POST', { data: ['a', 'b'].map((title) => ({ title, text: TEXT })) });
  await twice('notes/_bulk', 'PATCH', { data: [{ id: ids[1], text: 'short' }] });
  await twice('_batch', 'POST', { operations: [{ method: 'POST', entity: 'notes', body: { title: 'c' } }] });
  await twice(`notes/${ids[2]}`, 'DELETE');
  const stored = kinds.indexOf('read');
  // The first count may take an answer twice: as one of the table, and as one of the process.
  assert.ok(stored >= 1 && stored <= 3, kinds.join());
  // Nothing of a deletion is to be read.
  assert.deepEqual(kinds, [...Array(stored).fill('true'), ...Array(10 - stored).fill('read'), 'true']);
  assert.equal((await notes.call('notes?size=1')).json.meta.totalElements, 6 + 2 + 1 - 1);
});

test('an import is answered with its counts all the same, and another workspace has bytes of its own', async () => {
  const file = (): Promise<Answer> =>
    notes.call('notes/_import', {
      method: 'POST',
      body: 'title\nimported\n',
      headers: { 'content-type': 'text/csv', 'idempotency-key': 'file' },
    });
  const first = await file();
  const second = await file();
  assert.deepEqual([second.status, second.text, replayed(second)], [200, first.text, 'true']);
  const body = { title: 'other', text: TEXT };
  await send(other, 'key', 'notes', 'POST', body);
  assert.equal(replayed(await send(other, 'key', 'notes', 'POST', body)), 'true');
});

test('the bytes are told, and no others are stored', async () => {
  const schemas = await small.database.query(
    `select schemaname as schema from pg_tables where tablename = '$idempotency_key' and schemaname like 'ws%bytes'`,
  );
  const [row] = await small.database.query(
    `select sum(octet_length(body))::int4 as bytes from "${schemas[0]?.schema}"."$idempotency_key"`,
  );
  assert.ok(Number(row?.bytes) > 600 && Number(row?.bytes) < 2800, String(row?.bytes));
  assert.ok((await figure('wda_idempotency_bytes_kept')) >= 600);
  assert.ok((await figure('wda_idempotency_keys_total{kind="idsOnly"}')) >= 7);
});

test('a write with a new key is refused when there are as many as may be; known keys and writes without one go on', async () => {
  const create = (key: string | undefined, title: string): Promise<Answer> =>
    send(keyed, key, 'notes', 'POST', { title });
  // The first count may take a key twice: as one of the table, and as one of the process.
  let count = 0;
  let refused = await create('key0', 'note 0');
  for (; refused.status === 201; count++) refused = await create(`key${count + 1}`, `note ${count + 1}`);
  assert.ok(count >= 2 && count <= 5, String(count));
  assert.deepEqual(
    [refused.status, refused.json.error.code, refused.json.error.reason],
    [429, 'RATE_LIMITED', 'TOO_MANY_KEYS'],
  );
  assert.equal(refused.headers.get('retry-after'), '60');
  for (const [path, body] of [
    ['notes/_bulk', { data: [{ title: 'note 6' }] }],
    ['_batch', { operations: [{ method: 'POST', entity: 'notes', body: { title: 'note 7' } }] }],
  ] as const)
    assert.equal((await send(keyed, 'key6', path, 'POST', body)).status, 429);
  const file = await keyed.call('notes/_import', {
    method: 'POST',
    body: 'title\nnote 8\n',
    headers: { 'content-type': 'text/csv', 'idempotency-key': 'file' },
  });
  assert.equal(file.status, 429, file.text);
  assert.equal(replayed(await create('key1', 'note 1')), 'true');
  assert.equal((await create('key1', 'another')).status, 422);
  assert.equal((await create(undefined, 'without')).status, 201);
  assert.equal((await keyed.call('notes?size=1')).json.meta.totalElements, count + 1);
});
