// Messages on a socket that is taken from Node.js's HTTP, and on a response where that is not possible.
import assert from 'node:assert/strict';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { detachSocket, startMessages } from '../../../src/http/message-connection.ts';
import { type MessageSink, toChunk } from '../../../src/response/chunk.ts';
import { until } from '../../support/wait-until.ts';

const ends: (() => void)[] = [];
after(() => {
  for (const end of ends) end();
});

interface Opened {
  readonly sink: MessageSink;
  /** The socket, if it was detached. */
  readonly socket: Socket | undefined;
}

/** A server that answers each request by messages, with the streams that it has opened. */
async function serve() {
  const opened: Opened[] = [];
  const answer = (message: IncomingMessage, response: ServerResponse): void => {
    const socket = detachSocket(message, response);
    const start = (sink: MessageSink): void => void opened.push({ sink, socket });
    const body = { kind: 'messages', contentType: 'text/plain', start, cancel: () => undefined } as const;
    startMessages(response, { status: 200, headers: ['X-Name', 'a b', 'Connection', 'close'], body, socket });
  };
  // Answers come later than the whole of what was read, as those of the API do.
  const server = createServer((message, response) => void setImmediate(answer, message, response));
  Object.assign(server, { httpAllowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  ends.push(() => {
    for (const { sink } of opened) sink.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { port, opened };
}

function open(port: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1' }, resolve).on('error', reject);
  });
}

/** Sends bytes, and collects what comes back. */
function send(port: number, bytes: string) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  ends.push(() => socket.destroy());
  let text = '';
  let isEnded = false;
  socket.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  socket.on('end', () => {
    isEnded = true;
  });
  socket.write(bytes);
  return { socket, text: () => text, isEnded: () => isEnded };
}

const first = async (opened: readonly Opened[]): Promise<Opened> => {
  await until('open', () => opened.length > 0);
  return opened[0] as Opened;
};

test('a detached socket has no parser, and its client reads a complete response', async () => {
  const { port, opened } = await serve();
  const response = await open(port);
  const { sink, socket } = await first(opened);
  assert.equal((socket as Socket & { parser: unknown }).parser, null);
  assert.equal(response.headers['transfer-encoding'], 'chunked');
  assert.equal(response.headers['x-name'], 'a b');
  assert.ok(!Number.isNaN(Date.parse(String(response.headers.date))));
  assert.equal(sink.send(toChunk('héllo\n')), true);
  sink.send(toChunk('twice'));
  sink.end();
  let closes = 0;
  sink.onClose(() => closes++);
  assert.equal(Buffer.concat(await response.toArray()).toString(), 'héllo\ntwice');
  assert.equal(response.complete, true);
  await until('closed', () => closes === 1);
  assert.equal(sink.isClosed(), true);
  assert.equal(sink.send(toChunk('late')), false);
});

test('a destroyed connection is an incomplete response', async () => {
  const { port, opened } = await serve();
  const response = await open(port);
  const { sink } = await first(opened);
  sink.send(toChunk('part'));
  await until('arrived', () => response.readableLength > 0);
  sink.destroy();
  await assert.rejects(response.toArray());
});

test('what a client sends afterwards is dropped, and one that ends its side is sent to', async () => {
  const { port, opened } = await serve();
  const client = send(port, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n');
  const { sink, socket } = await first(opened);
  client.socket.end('GET /more HTTP/1.1\r\nHost: test\r\n\r\nand more');
  await until('its end', () => socket?.readableEnded === true);
  sink.send(toChunk('still'));
  sink.end();
  await until('the end', client.isEnded);
  assert.match(client.text(), /\r\n\r\n5\r\nstill\r\n0\r\n\r\n$/);
  assert.equal(opened.length, 1);
});

test('a client that reads nothing makes it full, and room is told', async () => {
  const { port, opened } = await serve();
  const response = await open(port);
  response.pause();
  const { sink } = await first(opened);
  const chunk = toChunk('x'.repeat(100_000));
  do {
    for (let more = 0; more < 10; more++) sink.send(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  } while (!sink.isFull());
  let drains = 0;
  sink.onDrain(() => drains++);
  response.resume();
  await until('room', () => drains === 1 && !sink.isFull());
  sink.destroy();
});

const HTTP_1_0 = 'GET / HTTP/1.0\r\nHost: test\r\n\r\n';
const WITH_BODY = 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n12';
const REFUSED: readonly (readonly [name: string, bytes: string, expected: RegExp])[] = [
  ['of HTTP/1.0', HTTP_1_0, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nplain$/],
  ['whose request has not ended', WITH_BODY, /\r\n\r\n5\r\nplain\r\n0\r\n\r\n$/],
];
for (const [name, bytes, expected] of REFUSED)
  test(`a connection ${name} is not detached, and has its messages`, async () => {
    const { port, opened } = await serve();
    const client = send(port, bytes);
    const { sink, socket } = await first(opened);
    assert.equal(socket, undefined);
    sink.send(toChunk('plain'));
    sink.end();
    await until('the end', client.isEnded);
    assert.match(client.text(), expected);
  });
