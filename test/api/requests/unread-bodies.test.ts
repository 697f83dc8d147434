// Bodies outside the data API: nobody is waited for before it is known who sends, and nobody for ever.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openConnection, type RawAnswer } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY } from '../../support/server.ts';

// A hang is a failure, long before the runner's own patience ends.
const LIMIT = { timeout: 300_000 };
const MAX_BYTES = 65_536;

const server = useServer({ WDA_BODY_TIMEOUT_MS: '300', WDA_MAX_BODY_BYTES: String(MAX_BYTES) });
const workspace = use(() =>
  server.workspace('acme/bodies', { entities: { notes: { fields: { text: { type: 'text' } } } } }),
);

const ORGANIZATIONS = '/api/admin/v1/organizations';

/** Announces a body and sends a part of it; gives the answer that comes all the same. */
async function sendPart(
  method: string,
  path: string,
  credential: string | null,
  announced = 50_000,
  headers: readonly string[] = [],
): Promise<RawAnswer> {
  const { socket, answer } = openConnection(server.url);
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: test',
    'Content-Type: application/json',
    ...(credential === null ? [] : [`Authorization: Bearer ${credential}`]),
    `Content-Length: ${announced}`,
    ...headers,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n{"slug":"x","name":"${'x'.repeat(10_000)}`);
  try {
    return await answer;
  } finally {
    socket.destroy();
  }
}

for (const [method, path, credential, status, code] of [
  ['POST', ORGANIZATIONS, null, 401, 'UNAUTHORIZED'],
  ['POST', ORGANIZATIONS, 'junk', 401, 'UNAUTHORIZED'],
  ['PUT', `${ORGANIZATIONS}/acme/workspaces/bodies/schema`, null, 401, 'UNAUTHORIZED'],
  ['POST', `${ORGANIZATIONS}?unknown=1`, null, 401, 'UNAUTHORIZED'],
  ['POST', `${ORGANIZATIONS}?unknown=1`, ADMIN_KEY, 400, 'BAD_REQUEST'],
  ['DELETE', `${ORGANIZATIONS}/nothing`, ADMIN_KEY, 404, 'NOT_FOUND'],
  ['PATCH', ORGANIZATIONS, null, 405, 'METHOD_NOT_ALLOWED'],
  ['POST', '/nothing', null, 404, 'NOT_FOUND'],
  ['PUT', '/api/admin/v1/nothing', null, 404, 'NOT_FOUND'],
  ['POST', '/healthz', null, 405, 'METHOD_NOT_ALLOWED'],
  ['POST', '/%zz', null, 400, 'BAD_REQUEST'],
] as const) {
  test(
    `${method} ${path} with ${credential ?? 'no credential'} is ${status} before its body has come`,
    LIMIT,
    async () => {
      const answer = await sendPart(method, path, credential);
      assert.equal(answer.status, status, answer.text);
      assert.equal(JSON.parse(answer.text).error.code, code);
    },
  );
}

test('who may not do it is told so before the body has come', LIMIT, async () => {
  assert.equal((await sendPart('POST', ORGANIZATIONS, workspace.key)).status, 403);
});

test('nor is a key of the request a reason to wait for the body of who may not write', LIMIT, async () => {
  const path = '/api/v1/acme/bodies';
  const sendKeyed = (entity: string, credential: string): Promise<RawAnswer> =>
    sendPart('POST', `${path}/${entity}/_bulk`, credential, 50_000, ['Idempotency-Key: unread']);
  assert.equal((await sendKeyed('notes', workspace.readOnlyKey)).status, 403);
  assert.equal((await sendKeyed('letters', workspace.key)).status, 404);
});

test('a body of the admin API that stops arriving is refused', LIMIT, async () => {
  const answer = await sendPart('POST', ORGANIZATIONS, ADMIN_KEY);
  assert.equal(answer.status, 400, answer.text);
  assert.equal(JSON.parse(answer.text).error.message, 'The request body stopped arriving');
});

test('a body of the admin API that is too large is 413 to whoever may send one, announced or not', LIMIT, async () => {
  assert.equal((await sendPart('POST', ORGANIZATIONS, ADMIN_KEY, MAX_BYTES + 1)).status, 413);
  assert.equal((await sendPart('POST', ORGANIZATIONS, null, MAX_BYTES + 1)).status, 401);
  const { socket, answer } = openConnection(server.url);
  socket.write(
    `POST ${ORGANIZATIONS} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  socket.write(`${(MAX_BYTES + 1).toString(16)}\r\n${' '.repeat(MAX_BYTES + 1)}\r\n`);
  assert.equal((await answer).status, 413);
  socket.destroy();
});

// In a thread of its own, as it sends while the server answers.
const SENDER = `const { parentPort, workerData } = require('node:worker_threads');
  const { url, credential } = workerData;
  const headers = { authorization: 'Bearer ' + credential, 'content-type': 'application/json' };
  const body = JSON.stringify({ text: 'x'.repeat(8388608) });
  const send = () => fetch(url, { method: 'POST', headers, body }).then(
    async (answer) => (await answer.json()).error && answer.status,
    (error) => error.cause?.code);
  (async () => {
    const statuses = [];
    for (let times = 0; times < 10; times++) statuses.push(await send());
    parentPort.postMessage(statuses);
  })();`;

for (const [path, credential, status] of [
  ['/api/v1/acme/bodies/notes', () => workspace.key, 413],
  ['/api/v1/acme/bodies/notes/_bulk', () => 'junk', 401],
  ['/api/v1/acme/bodies/letters', () => workspace.key, 404],
  [ORGANIZATIONS, () => ADMIN_KEY, 413],
] as const) {
  test(`a large body to ${path} that is ${status} does not keep its sender from reading that`, LIMIT, async () => {
    const workerData = { url: server.url + path, credential: credential() };
    const sender = new Worker(SENDER, { eval: true, workerData });
    const [statuses] = await once(sender, 'message');
    await sender.terminate();
    assert.deepEqual(statuses, Array(10).fill(status));
  });
}

for (const [version, header] of [
  ['1.1', 'Connection: close'],
  ['1.0', 'Accept: */*'],
] as const) {
  test(
    `who sends all of a large body before reading, by HTTP/${version} with ${header}, reads the refusal`,
    LIMIT,
    async () => {
      const { hostname, port } = new URL(server.url);
      const socket = connect(Number(port), hostname);
      const length = 8_388_608;
      const head = [
        `POST ${ORGANIZATIONS} HTTP/${version}`,
        'Host: test',
        'Content-Type: application/json',
        `Authorization: Bearer ${ADMIN_KEY}`,
        header,
        `Content-Length: ${length}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      // The answer is on its way; of what is written only some finds room in buffers.
      await once(socket, 'readable');
      await new Promise<void>((resolve, reject) =>
        socket.write('x'.repeat(length), (error) => (error ? reject(error) : resolve())),
      );
      assert.match(await text(socket), /^HTTP\/1\.1 413 .*PAYLOAD_TOO_LARGE/s);
    },
  );
}

test('who goes on sending for ever after the answer is cut off', LIMIT, async () => {
  const { socket, answer } = openConnection(server.url);
  socket.write('POST /api/v1/acme/bodies/notes HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
  assert.equal((await answer).status, 401);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const more = setInterval(() => socket.write('1\r\nx\r\n'), 50);
  await closed;
  clearInterval(more);
});

test('a body of another type is 415, and none at all is a body that is missing', async () => {
  const post = (headers: Record<string, string>, body: string) =>
    server.call(ORGANIZATIONS, { method: 'POST', credential: ADMIN_KEY, headers, body });
  assert.equal((await post({ 'content-type': 'text/plain' }, '{}')).status, 415);
  assert.equal((await post({ 'content-type': 'application/json' }, '')).status, 400);
});

test('a body that comes in chunks of a byte is read as one that comes at once', LIMIT, async () => {
  const { socket, answer } = openConnection(server.url);
  socket.write(
    [
      'POST /api/v1/acme/bodies/notes HTTP/1.1',
      'Host: test',
      'Content-Type: application/json',
      `Authorization: Bearer ${workspace.key}`,
      'Transfer-Encoding: chunked',
      '\r\n',
    ].join('\r\n'),
  );
  const text = JSON.stringify({ text: 'abc'.repeat(7000) });
  socket.write(`${[...text].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`);
  const { status, text: told } = await answer;
  socket.destroy();
  assert.equal(status, 201, told.slice(0, 200));
  assert.equal(JSON.parse(told).data.text, 'abc'.repeat(7000));
});
