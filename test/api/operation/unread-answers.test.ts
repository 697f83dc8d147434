// Answers that are not read: their memory is bounded for each workspace, and a client that reads too slowly loses its answer.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { TestWorkspace } from '../../support/server.ts';
import { openSlowReader, type SlowReader } from '../../support/slow-readers.ts';
import { until } from '../../support/wait-until.ts';

const RECORDS = 12;
const ANSWER_BYTES = RECORDS * 500_000;

const schema = { entities: { notes: { fields: { body: { type: 'text' } } } } };
// Half of it is the workspace's: two of these answers, and not a third.
const patient = useServer({ WDA_MAX_UNREAD_BYTES: String(4 * ANSWER_BYTES + 1_000_000) });
const workspace = use(() => patient.workspace('acme/large', schema));
const neighbour = use(() => patient.workspace('acme/neighbour', schema));
const impatient = useServer({ WDA_BODY_TIMEOUT_MS: '1000', WDA_MIN_ANSWER_BYTES_PER_SECOND: '1000000' });
const other = use(() => impatient.workspace('acme/large', schema));
const readers: SlowReader[] = [];
after(() => {
  for (const reader of readers) reader.close();
});

const body = 'x'.repeat(500_000);
prepare(async () => {
  for (const { call } of [workspace, other]) {
    for (let index = 0; index < RECORDS; index++) {
      assert.equal((await call('notes', { method: 'POST', body: { body } })).status, 201);
    }
  }
  assert.equal((await neighbour.call('notes', { method: 'POST', body: { body } })).status, 201);
});

function openReader(url: string, { path, key }: TestWorkspace, query: string): SlowReader {
  const reader = openSlowReader(url, `/api/v1/${path}/notes?${query}`, key);
  readers.push(reader);
  return reader;
}

test('large reads of a workspace with many unread answers are refused, and no others', async () => {
  assert.equal((await workspace.call('notes/1?fields=id')).status, 200);
  const opened = Array.from({ length: 12 }, (_, index) =>
    openReader(patient.url, workspace, index % 2 === 0 ? 'size=100' : `page=1&size=${50 + index}`),
  );
  await until('all are answered', () => opened.every((reader) => reader.status() !== undefined));
  const statuses = opened.map((reader) => reader.status());
  assert.ok(statuses.includes(200) && statuses.includes(503), statuses.join(' '));
  const refused = await workspace.call('notes?size=100');
  assert.equal(refused.status, 503);
  assert.equal(refused.json.error.code, 'SERVICE_UNAVAILABLE');
  // Another workspace has its own share, and a statement whose answers were small needs none.
  assert.equal((await neighbour.call('notes')).status, 200);
  assert.equal((await workspace.call('notes/1?fields=id')).status, 200);
  for (const reader of opened) reader.close();
  await until('the memory is free again', async () => (await workspace.call('notes?size=100')).status === 200);
});

test('a client that reads a large answer too slowly loses its connection', async () => {
  const reader = openReader(impatient.url, other, 'size=100');
  await until('it is answered', () => reader.status() === 200);
  await until('it is cut off', () => {
    reader.read(4096);
    return reader.isClosed();
  });
  const answer = await other.call('notes?size=100');
  assert.equal(answer.json.data.length, RECORDS);
});

// Answers of this size need no memory before they are made.
const unread = useServer();
const many = use(() => unread.workspace('acme/many', schema));
const SOME_BYTES = 600_000;
const REQUESTS = 200;
const getUnreadBytes = async (): Promise<number> =>
  Number(/^wda_unread_answer_bytes (\d+)/m.exec(await unread.metrics())?.[1]);

test('answers that wait for one that is not read are few, and all are sent when it is', async () => {
  const text = 'x'.repeat(SOME_BYTES);
  assert.equal((await many.call('notes', { method: 'POST', body: { body: text } })).status, 201);
  const socket = connect({ port: Number(new URL(unread.url).port), host: '127.0.0.1' });
  const head = `GET /api/v1/${many.path}/notes/1 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${many.key}\r\n`;
  socket.pause();
  socket.write(`${head}\r\n`.repeat(REQUESTS - 1) + `${head}Connection: close\r\n\r\n`);
  await until('some are answered', async () => (await getUnreadBytes()) > 10 * SOME_BYTES);
  for (let index = 0; index < 200; index++) assert.equal((await many.call('notes/1?fields=id')).status, 200);
  const unreadBytes = await getUnreadBytes();
  assert.ok(unreadBytes < 20 * SOME_BYTES, `${unreadBytes} bytes are not read`);
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  assert.ok(bytes > REQUESTS * SOME_BYTES && bytes < REQUESTS * (SOME_BYTES + 2000), `${bytes} bytes were sent`);
  await until('the memory is free again', async () => (await getUnreadBytes()) === 0);
});

test('answers of a connection that was reset leave no memory in use', async () => {
  const socket = connect({ port: Number(new URL(unread.url).port), host: '127.0.0.1' });
  socket.pause();
  const head = `GET /api/v1/${many.path}/notes/1 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${many.key}\r\n\r\n`;
  socket.write(head.repeat(REQUESTS));
  await until('some are answered', async () => (await getUnreadBytes()) > 10 * SOME_BYTES);
  socket.resetAndDestroy();
  await until('the memory is free again', async () => (await getUnreadBytes()) === 0);
});
