// `wda watch` and `wda changes` against a real server: lines and JSON, cursors, interruption, settings.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { verifyWebhook } from '../../client/src/webhooks.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { until } from '../support/wait-until.ts';
import { spawnWda, wda } from './wda.ts';

const server = useServer();
const folder = useFolder();
const workspace = use(() =>
  server.workspace('acme/shop', {
    entities: {
      orders: {
        fields: { status: { type: 'string' }, total: { type: 'decimal', precision: 20, scale: 2 } },
        settings: { changes: 'feed', changesOmit: ['total'] },
      },
      notes: { fields: { text: { type: 'text' }, size: { type: 'bigint' } }, settings: { changes: 'feed' } },
      logs: { fields: { text: { type: 'string' } } },
    },
  }),
);
let env: Record<string, string> = {};
prepare(() => {
  env = { WDA_URL: server.url, WDA_KEY: workspace.key, WDA_WORKSPACE: workspace.path };
});

const write = async (path: string, method: string, body?: object): Promise<number> =>
  (await workspace.call(path, { method, ...(body && { body }) })).json?.data?.id;

/** Resolves when the process has printed the text on the stream. */
const prints = (child: ChildProcess, stream: 'stdout' | 'stderr', text: string): Promise<void> =>
  new Promise((resolve) => {
    let all = '';
    child[stream]?.on('data', (chunk: Buffer) => {
      all += chunk;
      if (all.includes(text)) resolve();
    });
  });

test('watch prints a line an event, and the cursor at Ctrl-C', async () => {
  const { code, stdout, stderr } = await spawnWda(['watch', 'notes', 'orders'], {
    env,
    onStart: async (child) => {
      const last = prints(child, 'stdout', 'removed');
      await prints(child, 'stderr', 'Watching notes, orders.');
      const id = await write('orders', 'POST', { status: 'open', total: 1 });
      await write(`orders/${id}`, 'PATCH', { status: 'paid' });
      await write('notes', 'POST', { text: `a\n\u001b[31m${'x'.repeat(100)}`, size: '9007199254740993' });
      await write(`orders/${id}`, 'DELETE');
      await last;
      child.kill('SIGINT');
    },
  });
  assert.equal(code, 0, stderr);
  const key = 'by key owner';
  assert.deepEqual(
    stdout
      .replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
      .replaceAll(/by key \S+/g, key)
      .split('\n'),
    [
      `orders 1  created  status: open  ${key}`,
      `orders 1  updated  status: open -> paid  ${key}`,
      `notes 1  created  text: a\\u000a\\u001b[31m${'x'.repeat(52)}…, size: 9007199254740993  ${key}`,
      `orders 1  removed  ${key}`,
      '',
    ],
  );
  assert.match(stderr, /^Watching notes, orders\. Ctrl-C ends\.\nCursor: c_[\w-]+\n$/);
});

test('with a file of the cursor, JSON goes on where the last run ended', async () => {
  const file = join(folder, 'notes.cursor');
  const run = (text: string, ...more: string[]) =>
    spawnWda(['watch', 'notes', '--json', '--fields', 'text', '--cursor-file', file, ...more], {
      env,
      onStart: async (child) => {
        await prints(child, 'stdout', text);
        child.kill('SIGTERM');
      },
    });
  const since = new Date().toISOString();
  await write('notes', 'POST', { text: 'first' });
  const first = await run('first', '--since', since);
  assert.equal(first.code, 0, first.stderr);
  // The next run may begin with the last page of this one, as it is stored when the page is printed.
  await write('notes', 'POST', { text: 'second' });
  const second = await run('second', '--since', since);
  const events = second.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(events.at(-1).record.text, 'second');
  assert.deepEqual([second.code, events.at(-1).entity, events.at(-1).actor.kind], [0, 'notes', 'key']);
  assert.match(readFileSync(file, 'utf8'), /^c_[\w-]+\n$/);

  const other = await wda(['watch', 'notes', '--cursor-file', file], { env });
  assert.equal(other.code, 1);
  assert.match(other.stderr, /Remove the file to begin from now/);
  writeFileSync(file, 'c_x');
  assert.equal((await wda(['watch', 'notes', '--cursor-file', file], { env })).code, 1);
});

test('a lost place is a line, and what follows comes', async () => {
  const [row] = await server.database.query(`select database_schema as name from wda.workspace`);
  const schema = `"${row?.name}"`;
  const cursor = (await workspace.call('notes/_changes')).json.meta.cursor;
  await write('notes', 'POST', { text: 'gone' });
  await workspace.call('notes/_changes');
  await server.database.query(
    `update ${schema}."$change_progress" set expired = (select max(pos) from ${schema}."$change_position")`,
  );
  const { code, stdout } = await spawnWda(['watch', 'notes', '--after', cursor], {
    env,
    onStart: async (child) => {
      await prints(child, 'stdout', 'reset  CURSOR_EXPIRED\n');
      const told = prints(child, 'stdout', 'after the reset');
      await write('notes', 'POST', { text: 'after the reset' });
      await told;
      child.kill('SIGINT');
    },
  });
  assert.equal(code, 0);
  assert.equal(stdout.split('\n').length, 3, stdout);
});

test('lost connections are followed by others', { timeout: 300_000 }, async () => {
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const behind = connect(Number(new URL(server.url).port), '127.0.0.1');
    sockets.add(socket);
    for (const one of [socket, behind]) one.on('error', () => undefined);
    socket.on('close', () => behind.destroy());
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const { code, stdout, stderr } = await spawnWda(['watch', 'notes'], {
    env: { ...env, WDA_URL: `http://127.0.0.1:${port}` },
    onStart: async (child) => {
      const last = prints(child, 'stdout', 'two');
      const again = prints(child, 'stderr', 'Trying again.');
      const one = prints(child, 'stdout', 'one');
      await prints(child, 'stderr', 'Watching notes.');
      await write('notes', 'POST', { text: 'one' });
      await one;
      // The next request may not have begun.
      const cutting = setInterval(() => {
        for (const socket of sockets) socket.destroy();
      }, 50);
      await again;
      clearInterval(cutting);
      await write('notes', 'POST', { text: 'two' });
      await last;
      child.kill('SIGINT');
    },
  });
  proxy.close();
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trimEnd().split('\n').length, 2, stdout);
});

test('forward posts each event as a webhook does, again until it is accepted', { timeout: 300_000 }, async () => {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const receiver = createHttpServer(async (request, response) => {
    requests.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString() });
    response.writeHead([500, 302, 204][Math.min(2, requests.length - 1)] as number, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
  const { code, stdout, stderr } = await spawnWda(['watch', 'orders', '--forward', url], {
    env,
    onStart: async (child) => {
      const last = prints(child, 'stdout', 'status: paid -> sent');
      await prints(child, 'stderr', 'Watching orders.');
      const id = await write('orders', 'POST', { status: 'paid', total: '12345678901234567.10' });
      await write(`orders/${id}`, 'PATCH', { status: 'sent' });
      await last;
      await until('the second event', () => requests.length === 4);
      child.kill('SIGINT');
    },
  });
  receiver.close();
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trimEnd().split('\n').length, 2);
  assert.match(stderr, /answered 500\. Trying again in 1 s\.\n.* answered 302\. Trying again in 2 s\./);
  const secret = /signed with (whsec_\S+)/.exec(stderr)?.[1] ?? '';
  const messages = await Promise.all(requests.map(({ headers, body }) => verifyWebhook(body, headers, secret)));
  assert.deepEqual(
    messages.map(({ type, workspace }) => [type, workspace]),
    [
      ['orders.created', 'acme/shop'],
      ['orders.created', 'acme/shop'],
      ['orders.created', 'acme/shop'],
      ['orders.updated', 'acme/shop'],
    ],
  );
  const ids = requests.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual([ids[1], ids[2], ids[3] === ids[0]], [ids[0], ids[0], false]);
  assert.deepEqual(
    requests.map(({ headers }) => headers['webhook-attempt']),
    ['1', '2', '3', '1'],
  );
  // Lines have the values before, messages only on request.
  assert.ok(!requests[3]?.body.includes('"previous"'));
  for (const wrong of ['localhost:8080', 'http://user:word@localhost'])
    assert.equal((await wda(['watch', 'orders', '--forward', wrong], { env })).code, 2);
});

test('a change of fields is a line', async () => {
  const { json } = await workspace.admin('schema');
  json.data.entities.notes.fields.mood = { type: 'string' };
  const { code, stdout } = await spawnWda(['watch', 'notes'], {
    env,
    onStart: async (child) => {
      const last = prints(child, 'stdout', 'schema');
      await prints(child, 'stderr', 'Watching notes.');
      assert.equal((await workspace.admin('schema', { method: 'PUT', body: json.data })).status, 200);
      await last;
      child.kill('SIGINT');
    },
  });
  assert.equal(code, 0);
  assert.match(stdout, /^\d\d:\d\d:\d\d {2}notes {2}schema {2}added: mood\n$/);
});

test('refusals end it before it begins', async () => {
  const off = await wda(['watch', 'logs'], { env });
  assert.equal(off.code, 1);
  assert.match(off.stderr, /409 CHANGES_OFF\)\n.*wda changes set <entity> --keep feed/);
  const several = await wda(['watch', 'orders', 'notes', '--fields', 'text'], { env });
  assert.match(several.stderr, /fields needs one entity/);
  assert.equal((await wda(['watch'], { env: { ...env, WDA_URL: 'http://127.0.0.1:9' } })).code, 3);
});

test('changes shows what is kept, and sets it', async () => {
  const { stdout } = await wda(['changes'], { env });
  const lines = stdout.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>').split('\n');
  assert.deepEqual(
    lines.slice(0, 4).map((line) => line.replaceAll(/ {2,}/g, '  ')),
    [
      'ENTITY  CHANGES  SINCE  HISTORY DAYS  HISTORY FOR USERS  OMITTED',
      'orders  feed  <time>  -  -  total',
      'notes  feed  <time>  -  -  -',
      'logs  off  -  -  -  -',
    ],
  );
  assert.match(
    lines.slice(4).join('\n'),
    /^\n[\d.]+ [KM]iB kept, .*\n[\d,]+ changes? not yet read.*\n0 streams, 0 webhooks\n$/,
  );
  const set = await wda(['changes', 'set', 'logs', 'notes', '--keep', 'history', '--days', '3650'], { env });
  assert.deepEqual([set.code, set.stdout], [0, 'Changes of logs, notes: history, 3,650 days\n']);
  const shown = JSON.parse((await wda(['changes', '--json'], { env })).stdout);
  const { since, ...logs } = shown.entities.at(-1);
  assert.match(since, /Z$/);
  assert.equal(shown.webhooks, 0);
  assert.deepEqual(logs, {
    entity: 'logs',
    changes: 'history',
    historyDays: 3650,
    historyForUsers: false,
    changesOmit: [],
  });
  assert.match((await wda(['changes'], { env })).stdout, /^logs {4}history {2}\S+Z {2}3650 {10}false/m);
  const off = JSON.parse((await wda(['changes', 'set', 'logs', '--keep', 'off', '--json'], { env })).stdout);
  assert.equal(off[0].changes, 'off');
  assert.equal((await wda(['changes', 'set', 'nothing', '--keep', 'feed'], { env })).code, 1);
});
