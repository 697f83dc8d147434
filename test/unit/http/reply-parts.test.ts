// Large answers are written part by part, with other requests in between.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { writeReply } from '../../../src/http/reply.ts';

test('one part is written in each round, even if the connection takes all at once', async () => {
  const bytes = Buffer.alloc(1024 * 1024, 'a');
  let firstRound: number | undefined;
  const server = createServer((_, response) => {
    writeReply(
      response,
      { status: 200, headers: {}, body: { kind: 'bytes', contentType: 'text/plain', bytes } },
      {
        id: 'a',
        common: [],
        isHead: false,
        minRate: { bytesPerSecond: 0, seconds: 1 },
        memory: { countUnread: () => () => undefined },
      },
    );
    setImmediate(() => {
      firstRound = response.socket?.bytesWritten;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const [answer] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
    const received = Buffer.concat(await answer.toArray());
    assert.ok(received.equals(bytes));
    assert.ok(firstRound !== undefined && firstRound > 0 && firstRound < 2 * 65_536, `${firstRound} bytes`);
  } finally {
    server.close();
  }
});
