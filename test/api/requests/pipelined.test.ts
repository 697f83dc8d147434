// Requests that are sent at once on one connection are answered in their order, whatever comes after them.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';

const server = useServer();
const workspace = use(async () => {
  const made = await server.workspace('acme/pipelined', {
    entities: { notes: { fields: { body: { type: 'text' } } } },
  });
  await made.create('notes', [{ body: 'x' }]);
  return made;
});

const request = (headers = ''): string =>
  `GET /api/v1/${workspace.path}/notes/1 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${workspace.key}\r\n${headers}\r\n`;

/** Sends all at once; returns the statuses of the answers until the server closes the connection. */
async function send(sent: string): Promise<string[]> {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  socket.write(sent);
  return [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status as string);
}

const ok = (count: number): string[] => Array<string>(count).fill('200');

test('what follows the request that ends the connection is dropped, and nothing before it', async () => {
  assert.deepEqual(await send(request().repeat(10) + request('Connection: close\r\n') + request().repeat(30)), ok(11));
});

test('bytes that are no HTTP are refused after the answers before them', async () => {
  assert.deepEqual(await send(`${request().repeat(40)}JUNK\r\n\r\n`), [...ok(40), '400']);
});

test('and so is a body that is malformed', async () => {
  const body = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nJUNK\r\n';
  const post = `POST /api/v1/${workspace.path}/notes HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${workspace.key}\r\n${body}`;
  assert.deepEqual(await send(request().repeat(40) + post), [...ok(40), '400']);
});
