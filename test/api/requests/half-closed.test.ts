// Clients that end their side of a connection after their last request get every answer.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';

const server = useServer();
const workspace = use(async () => {
  const made = await server.workspace('acme/half', { entities: { notes: { fields: { body: { type: 'text' } } } } });
  await made.create('notes', [{ body: 'x'.repeat(300_000) }]);
  return made;
});

for (const [count, query] of [
  [1, 'fields=id'],
  [300, 'fields=id'],
  [20, ''],
] as const) {
  test(`${count} requests with "${query}" and the end of the stream are answered`, async () => {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
    const { path, key } = workspace;
    const request = `GET /api/v1/${path}/notes/1?${query} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    socket.end(request.repeat(count));
    const answers = await text(socket);
    assert.equal(answers.split('HTTP/1.1 200 OK').length - 1, count);
    const lengths = [...answers.matchAll(/Content-Length: (\d+)/g)].map(([, length]) => Number(length));
    const bodies = [...answers.matchAll(/\r\n\r\n(\{.*?\}\})/g)].map(([, body]) => (body as string).length);
    assert.deepEqual(bodies, lengths);
  });
}
