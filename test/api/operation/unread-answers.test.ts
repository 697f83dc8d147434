// Answers that are not read: their memory is bounded for each workspace, and a client that reads too slowly loses its answer.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import { openSlowReader, type SlowReader } from '../../support/slow-readers.ts';
import { until } from '../../support/wait-until.ts';

const RECORDS = 12;
const ANSWER_BYTES = RECORDS * 500_000;

const server = useServer({
  // Half of it is the workspace's: two of these answers, and not a third.
  WDA_MAX_UNREAD_BYTES: String(4 * ANSWER_BYTES + 1_000_000),
  WDA_BODY_TIMEOUT_MS: '5000',
  WDA_MIN_ANSWER_BYTES_PER_SECOND: '1000000',
});
const schema = { entities: { notes: { fields: { body: { type: 'text' } } } } };
const workspace = use(() => server.workspace('acme/large', schema));
const neighbour = use(() => server.workspace('acme/neighbour', schema));
const readers: SlowReader[] = [];
after(() => {
  for (const reader of readers) reader.close();
});

prepare(async () => {
  const body = 'x'.repeat(500_000);
  for (let index = 0; index < RECORDS; index++) {
    assert.equal((await workspace.call('notes', { method: 'POST', body: { body } })).status, 201);
  }
  assert.equal((await neighbour.call('notes', { method: 'POST', body: { body } })).status, 201);
});

const openReader = (query: string): SlowReader => {
  const reader = openSlowReader(server.url, `/api/v1/acme/large/notes?${query}`, workspace.key);
  readers.push(reader);
  return reader;
};

test('large reads of a workspace with many unread answers are refused, and its clients that read slowly are cut off', async () => {
  const opened = Array.from({ length: 12 }, (_, index) =>
    openReader(index % 2 === 0 ? 'size=100' : `page=1&size=${50 + index}`),
  );
  await until('all are answered', () => opened.every((reader) => reader.status() !== undefined));
  const statuses = opened.map((reader) => reader.status());
  assert.ok(statuses.includes(200) && statuses.includes(503), statuses.join(' '));
  const refused = await workspace.call('notes?size=99');
  assert.equal(refused.status, 503);
  assert.deepEqual(refused.json.error.code, 'SERVICE_UNAVAILABLE');
  // Another workspace has its own share, and small answers need none.
  assert.equal((await neighbour.call('notes')).status, 200);
  assert.equal((await workspace.call('notes/1?fields=id')).status, 200);
  const answered = opened.filter((reader) => reader.status() === 200);
  await until('the slow readers are cut off', () => {
    for (const reader of answered) reader.read(4096);
    return answered.every((reader) => reader.isClosed());
  });
  const answer = await workspace.call('notes?size=100');
  assert.equal(answer.status, 200);
  assert.equal(answer.json.data.length, RECORDS);
});
