// One attempt over real sockets: what the receiver gets, what counts as success, and the words for what went wrong.
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { type HttpClient, type HttpClientOptions, makeHttpClient } from '../../../src/http-client/http-client.ts';
import { type Outcome, sendMessage } from '../../../src/webhooks/send.ts';
import { makeSigningSecret } from '../../../src/webhooks/signature.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { verifyMessage } from '../../support/standard-webhooks.ts';

let receiver: Receiver;
const clients: HttpClient[] = [];
const closers: (() => unknown)[] = [];

before(async () => {
  receiver = await startReceiver();
});
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  for (const close of closers) close();
  await receiver.stop();
});

const secret = makeSigningSecret();
const body = '{"type":"ping"}';

function makeClient(options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = makeHttpClient({ allowPrivate: true, setting: 'WDA_WEBHOOK_PRIVATE_NETWORK', ...options });
  clients.push(client);
  return client;
}

interface Sending {
  readonly client?: HttpClient;
  readonly timeoutMs?: number;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const send = (
  url: string,
  { client = makeClient(), timeoutMs = 5000, headers = {}, signal }: Sending = {},
): Promise<Outcome> =>
  sendMessage({ client, timeoutMs }, { url, headers, secrets: [secret] }, { id: 'msg_1', attempt: 2, body }, signal);

/** Starts a server of bytes and returns its URL. */
async function listen(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    closers.push(() => socket.destroy());
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

test('a message has the headers of Standard Webhooks, and those of the administrator', async () => {
  receiver.clear();
  const { attempt, isDelivered } = await send(`${receiver.origin}/hooks?x=1`, {
    headers: { Authorization: 'Bearer 1' },
  });
  assert.deepEqual([isDelivered, attempt.status, attempt.error], [true, 204, null]);
  assert.ok(attempt.durationMs >= 0 && !Number.isNaN(Date.parse(attempt.at)));
  const message = receiver.messages[0]!;
  assert.equal(message.path, '/hooks?x=1');
  assert.equal(message.body, body);
  verifyMessage(secret, message.body, message.headers);
  const { headers } = message;
  assert.equal(headers['webhook-id'], 'msg_1');
  assert.equal(headers['webhook-attempt'], '2');
  assert.equal(headers['content-type'], 'application/json');
  assert.match(headers['user-agent'] ?? '', /^workspace-data-api\/\d/);
  assert.equal(headers.authorization, 'Bearer 1');
  assert.equal(headers.cookie, undefined);
});

test('connections are used again', async () => {
  const sockets = new Set<unknown>();
  receiver.answer((response) => {
    sockets.add(response.socket);
    response.writeHead(200).end('ok');
  });
  const client = makeClient();
  for (let count = 0; count < 5; count++) await send(receiver.origin, { client });
  assert.ok(sockets.size < 5, String(sockets.size));
});

for (const [status, error, isDelivered] of [
  [200, null, true],
  [299, null, true],
  [302, 'REDIRECT_REFUSED', false],
  [304, 'REDIRECT_REFUSED', false],
  [400, null, false],
  [410, null, false],
  [500, null, false],
] as const) {
  test(`${status} is ${isDelivered ? 'a success' : 'a failure'}`, async () => {
    receiver.clear();
    receiver.answer((response) => response.writeHead(status, { location: `${receiver.origin}/elsewhere` }).end());
    const outcome = await send(receiver.origin);
    assert.deepEqual(
      [outcome.isDelivered, outcome.attempt.status, outcome.attempt.error],
      [isDelivered, status, error],
    );
    assert.equal(receiver.messages.length, 1);
  });
}

test('Retry-After counts with 429 and 503 alone', async () => {
  for (const [status, expected] of [
    [429, 120_000],
    [503, 120_000],
    [500, undefined],
  ] as const) {
    receiver.answer((response) => response.writeHead(status, { 'retry-after': '120' }).end());
    assert.equal((await send(receiver.origin)).retryAfterMs, expected);
  }
});

test('the answer of a private address is not kept, that of another one is, its first 2,048 bytes', async () => {
  const { port } = new URL(receiver.origin);
  receiver.answer((response) => response.writeHead(200).end(`\0ü${'ü'.repeat(40_000)}`));
  assert.equal((await send(receiver.origin)).attempt.responseBody, null);
  const named = makeClient({
    lookup: (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  });
  assert.equal((await send(`http://shop.internal:${port}/`, { client: named })).attempt.responseBody, null);
  // The kind of the address is that of the client's answer; sockets of a test lead to private ones alone.
  const open: Pick<HttpClient, 'post'> = {
    post: async (...args) => ({ ...(await named.post(...args)), isPrivate: false }),
  };
  const outcome = await sendMessage(
    { client: open, timeoutMs: 5000 },
    { url: `http://shop.internal:${port}/`, headers: {}, secrets: [secret] },
    { id: 'msg_1', attempt: 1, body },
  );
  const kept = outcome.attempt.responseBody ?? '';
  assert.equal(kept, `\ufffd${'ü'.repeat(1023)}`);
});

test('an answer without end is cut, and its status counts', async () => {
  let written = 0;
  receiver.answer((response) => {
    response.writeHead(200);
    const more = (error?: Error | null): void => {
      if (error || response.destroyed) return;
      written += 16_384;
      response.write('x'.repeat(16_384), more);
    };
    more();
  });
  const outcome = await send(receiver.origin);
  assert.equal(outcome.isDelivered, true);
  assert.ok(written < 16_000_000, String(written));
});

test('an answer whose body breaks off has been accepted', async () => {
  receiver.answer((response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{', () => response.destroy());
  });
  assert.equal((await send(receiver.origin)).isDelivered, true);
});

test('a receiver that is silent, or sends no last header, is given up', async () => {
  const silent = await listen(() => undefined);
  const slow = await listen((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => socket.write('X-A: 1\r\n'), 20);
    socket.on('close', () => clearInterval(drip));
    closers.push(() => clearInterval(drip));
  });
  for (const url of [silent, slow]) {
    const { attempt } = await send(url, { timeoutMs: 200 });
    assert.deepEqual([attempt.status, attempt.error], [null, 'TIMEOUT']);
  }
});

test('what is no HTTP, closes at once, refuses or speaks no TLS', async () => {
  const garbage = await listen((socket) => socket.end('hello\r\n\r\n'));
  const closing = await listen((socket) => socket.on('data', () => socket.destroy()));
  const plain = await listen((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  const gone = await startReceiver();
  await gone.stop();
  for (const [url, error] of [
    [garbage, 'BAD_RESPONSE'],
    [closing, 'CONNECTION_FAILED'],
    [gone.origin, 'CONNECTION_FAILED'],
    [plain.replace('http:', 'https:'), 'TLS_FAILED'],
  ] as const) {
    const { attempt } = await send(url);
    assert.deepEqual([attempt.status, attempt.error, attempt.responseBody], [null, error, null], url);
  }
});

test('a name that does not exist, and one that becomes private, gets no packet', async () => {
  const { port } = new URL(receiver.origin);
  receiver.clear();
  let looked = 0;
  const client = makeClient({
    allowPrivate: false,
    lookup: (host, _options, callback) => {
      if (host === 'nowhere.example.com') return callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []);
      callback(null, [{ address: looked++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }]);
    },
  });
  const url = `https://rebound.example.com:${port}/`;
  await client.resolve(url, AbortSignal.timeout(60_000));
  assert.equal((await send(url, { client })).attempt.error, 'ADDRESS_REFUSED');
  assert.equal((await send('https://nowhere.example.com/', { client })).attempt.error, 'DNS_FAILED');
  for (const refused of [
    'http://shop.example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://169.254.169.254/',
  ])
    assert.equal((await send(refused, { client })).attempt.error, 'ADDRESS_REFUSED', refused);
  assert.equal(receiver.messages.length, 0);
  assert.match(client.findMistake('http://10.0.0.1/') ?? '', /WDA_WEBHOOK_PRIVATE_NETWORK/);
});

test('a signal ends the attempt with its reason', async () => {
  const silent = await listen(() => undefined);
  const ending = new AbortController();
  const sending = send(silent, { signal: ending.signal });
  setTimeout(() => ending.abort(new Error('shut down')), 50);
  await assert.rejects(sending, /shut down/);
});
