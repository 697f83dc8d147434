// What the command line does when the other side answers early, badly or not to the end. The peer is a plain TCP or HTTP
// listener that misbehaves on purpose; a well-behaved server cannot be made to do this.

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { useFolder } from '../support/temporary-folder.ts';
import { spawnWda, wda } from './wda.ts';

const folder = useFolder();

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function withPeer<T>(handler: Handler, use: (env: Record<string, string>) => Promise<T>): Promise<T> {
  const peer = createServer(handler);
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  const { port } = peer.address() as AddressInfo;
  try {
    return await use({ WDA_URL: `http://127.0.0.1:${port}`, WDA_KEY: 'wda_test', WDA_WORKSPACE: 'acme/shop' });
  } finally {
    peer.closeAllConnections();
    await new Promise((resolve) => peer.close(resolve));
  }
}

const makeRefusal = (message: string) =>
  JSON.stringify({
    error: {
      code: 'VALIDATION_FAILED',
      message,
      details: [{ row: 2, field: 'n', code: 'TYPE_MISMATCH', message: 'must be an integer' }],
    },
  });

async function* endless(limit: number): AsyncGenerator<string> {
  yield 'id,n\n';
  for (let sent = 0; sent < limit; sent++) yield '1,x\n'.repeat(16_384);
}

for (const [message, consequence] of [
  ['No', 'Nothing was imported\\.\\n'],
  ['Nothing was imported: row 2, n: must be an integer (and 3 more)', ''],
] as const)
  test(`an import that is refused early with "${message}" stops sending, shows the rows, and says once that nothing was done`, async () => {
    let received = 0;
    await withPeer(
      (request, response) => {
        request.on('data', (chunk: Buffer) => {
          received += chunk.length;
          if (response.headersSent) return;
          // Without closing: a reset may overtake the answer on its way.
          response.writeHead(400, { 'content-type': 'application/json' });
          response.end(makeRefusal(message));
        });
      },
      async (env) => {
        const whole = 1000;
        const { code, stdout, stderr } = await wda(['import', 'numbers', '-', '--format', 'csv'], {
          env,
          stdin: endless(whole),
        });
        assert.equal(code, 1);
        assert.equal(stdout, '');
        assert.match(
          stderr,
          new RegExp(
            `ROW {2}LINE {2}FIELD {2}CODE {11}VALUE {2}REASON\\n {2}2 {5}- {2}n {6}TYPE_MISMATCH {2}- {6}must be an integer\\n\\n${consequence}$`,
          ),
        );
        assert.ok(received < whole * 65_536, 'the rest of the file was not sent');
      },
    );
  });

test('a connection that is lost during an import says that nothing was imported', async () => {
  await withPeer(
    (request) => request.once('data', () => request.socket.resetAndDestroy()),
    async (env) => {
      const { code, stderr } = await wda(['import', 'numbers', '-', '--format', 'csv'], { env, stdin: endless(500) });
      assert.equal(code, 3);
      assert.match(stderr, /Nothing was imported/);
    },
  );
});

test('a connection that is lost after the whole file was sent says that nobody knows', async () => {
  const file = join(folder, 'small.csv');
  await writeFile(file, 'id,n\n1,2\n');
  await withPeer(
    (request) => {
      request.resume();
      request.on('end', () => request.socket.resetAndDestroy());
    },
    async (env) => {
      const { code, stderr } = await wda(['import', 'numbers', file], { env });
      assert.equal(code, 3);
      assert.match(stderr, /whole file had been sent/);
    },
  );
});

const cutExport: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/csv' });
  response.write('id,n\n1,2\n', () => response.socket?.resetAndDestroy());
};

test('an export that breaks leaves no file behind', async () => {
  const file = join(folder, 'cut.csv');
  await withPeer(cutExport, async (env) => {
    const { code, stdout, stderr } = await wda(['export', 'numbers', file], { env });
    assert.equal(code, 3);
    assert.equal(stdout, '');
    assert.match(stderr, /connection was lost in the middle of the export/);
  });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('cut')),
    [],
  );
});

test('an export that breaks leaves the file of before as it was', async () => {
  const file = join(folder, 'kept.csv');
  await writeFile(file, 'of before');
  await withPeer(cutExport, async (env) => {
    assert.equal((await wda(['export', 'numbers', file], { env })).code, 3);
  });
  assert.equal(await readFile(file, 'utf8'), 'of before');
});

test('an export that is interrupted leaves nothing behind', async () => {
  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    let child: ChildProcess | undefined;
    const holds: Handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.write('id,n\n1,2\n', () => child?.kill(signal));
    };
    await withPeer(holds, async (env) => {
      const args = ['export', 'numbers', join(folder, 'stopped.csv')];
      const { code } = await spawnWda(args, {
        env,
        onStart: (started) => {
          child = started;
        },
      });
      assert.equal(code, expected);
    });
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith('stopped')),
      [],
    );
  }
});

test('an export to stdout that breaks is a failure, whatever was printed', async () => {
  await withPeer(cutExport, async (env) => {
    const { code, stdout, stderr } = await wda(['export', 'numbers', '--format', 'csv'], { env });
    assert.equal(code, 3);
    assert.equal(stdout, 'id,n\n1,2\n');
    assert.match(stderr, /not whole/);
  });
});

const wholeExport: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/csv' });
  response.end('id,n\n1,2\n3,4\n');
};

test('an export through a link replaces what the link points to', async () => {
  const real = join(folder, 'real.csv');
  const link = join(folder, 'link.csv');
  await writeFile(real, 'of before');
  await symlink(real, link);
  await withPeer(wholeExport, async (env) => {
    const { code, stdout } = await wda(['export', 'numbers', link, '--json'], { env });
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { entity: 'numbers', file: link, format: 'csv', records: 2, bytes: 13 });
  });
  assert.equal(await readFile(real, 'utf8'), 'id,n\n1,2\n3,4\n');
});

test('an export to a pipe writes into it and does not replace it', async () => {
  const fifo = join(folder, 'pipe.csv');
  execFileSync('mkfifo', [fifo]);
  await withPeer(wholeExport, async (env) => {
    const [{ code, stdout }, read] = await Promise.all([
      wda(['export', 'numbers', fifo], { env }),
      readFile(fifo, 'utf8'),
    ]);
    assert.equal(code, 0);
    assert.equal(read, 'id,n\n1,2\n3,4\n');
    assert.match(stdout, /^numbers: 2 records to .*pipe\.csv/);
  });
  assert.ok((await stat(fifo)).isFIFO());
});

test('answers that are no answers of this API are failures in words', async () => {
  const html: Handler = (_request, response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end('<h1>Bad gateway</h1>');
  };
  const page: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<h1>Welcome</h1>');
  };
  const cut: Handler = (_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"data": [', () => response.socket?.resetAndDestroy());
  };
  const cases: readonly (readonly [Handler, number, RegExp])[] = [
    [html, 1, /answered 502 without an error document/],
    [page, 1, /not JSON: is it a Workspace Data API/],
    [cut, 3, /lost in the middle of the answer/],
  ];
  for (const [handler, expected, said] of cases)
    await withPeer(handler, async (env) => {
      const { code, stderr } = await wda(['org', 'list'], { env });
      assert.equal(code, expected);
      assert.match(stderr, said);
      assert.ok(!/\n\s+at /.test(stderr), 'no stack');
    });
});
