// Requests of one connection: some at once, the others in their order, and none for a client that is gone.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { makePipelining } from '../../../src/http/pipelining.ts';
import { until } from '../../support/wait-until.ts';

const MOST = 16;
const ends: (() => void)[] = [];
after(() => {
  for (const end of ends) end();
});

/** A server whose requests are answered by `answer()`, oldest first. */
async function serve() {
  const started: (readonly [IncomingMessage, ServerResponse])[] = [];
  const paths: (string | undefined)[] = [];
  const pipelining = makePipelining(
    (message, response) => {
      started.push([message, response]);
      paths.push(message.url);
    },
    () => false,
  );
  const server = createServer(pipelining.add);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address() as { port: number };
  const socket: Socket = connect(address.port);
  ends.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  return {
    socket,
    started,
    detach: pipelining.detach,
    paths,
    received: () => received,
    async answer(): Promise<void> {
      const [message, response] = started.shift() as (typeof started)[number];
      // Node.js reads on by itself after an answer to a request that nobody read.
      const isRead = message.headers['content-length'] !== undefined;
      response.end(`${message.url} ${isRead ? await text(message).catch(() => '') : ''};`);
      pipelining.end(message);
    },
  };
}

const get = (index: number): string => `GET /${index} HTTP/1.1\r\nHost: test\r\n\r\n`;
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('a connection has some requests in work, and the others start in their order', async () => {
  const { socket, started, paths, received, answer } = await serve();
  const last = `POST /last HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n`;
  socket.write(range(2000).map(get).join('') + last);
  await until('some have started', () => started.length === MOST);
  for (let answered = 0; answered < 2000; answered++) {
    await until('the next has started', () => started.length > 0);
    assert.ok(started.length <= MOST);
    await answer();
  }
  // Its body was not sent before, and is read although the connection was paused.
  socket.write('body');
  await until('the last has started', () => started.length > 0);
  await answer();
  await until('all is answered', () => received().endsWith('/last body;'));
  assert.deepEqual(paths, [...range(2000).map((index) => `/${index}`), '/last']);
  assert.deepEqual(
    [...received().matchAll(/(\/\d+) ;/g)].map(([, path]) => path),
    range(2000).map((index) => `/${index}`),
  );
});

test('nothing more of a connection is read while requests wait, also when answers leave', async () => {
  const { socket, started, answer } = await serve();
  const bytes = range(20_000).map(get).join('');
  socket.write(bytes);
  await until('some have started', () => started.length === MOST);
  const [[message]] = started as [(typeof started)[number]];
  const { bytesRead } = message.socket;
  assert.ok(bytesRead < bytes.length / 4, `${bytesRead} bytes were read at once`);
  for (let answered = 0; answered < 200; answered++) {
    await answer();
    await turn();
  }
  assert.equal(message.socket.bytesRead, bytesRead);
});

test('the socket of a connection with another request is not taken', async () => {
  const { socket, started, detach, received, answer } = await serve();
  socket.write(get(0) + get(1));
  await until('two', () => started.length === 2);
  for (const [message, response] of started) assert.equal(detach(message, response), undefined);
  await answer();
  await answer();
  await until('both answers', () => received().includes('/1 ;'));
  socket.write(get(2));
  await until('the third', () => started.length === 1);
  const [message, response] = started.shift() as (typeof started)[number];
  assert.notEqual(detach(message, response), undefined);
});

test('of a closed connection nothing more is started', async () => {
  const { socket, started, paths, answer } = await serve();
  socket.write(range(200).map(get).join(''));
  await until('some have started', () => started.length === MOST);
  socket.resetAndDestroy();
  const [[message]] = started as [(typeof started)[number]];
  // The end of a paused connection shows in the answers.
  await until('the server knows', async () => {
    if (started.length > 0 && !message.socket.destroyed) await answer();
    return message.socket.destroyed;
  });
  const count = paths.length;
  while (started.length > 0) await answer();
  assert.equal(paths.length, count);
  assert.ok(count < 200, `${count} were started`);
});
