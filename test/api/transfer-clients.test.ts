// Imports and exports whose clients leave, fall silent, send too much, take too long or are too many.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from '../support/server.ts';
import {
  answerOf,
  closeOf,
  countOf,
  fill,
  freshWorkspace,
  isActive,
  isCopying,
  isQuiet,
  load,
  open,
  otherTransaction,
  server,
  until,
  useServer,
  workspace,
} from '../support/trouble.ts';

describe('clients that leave or fall silent', () => {
  // One connection for transfers: one that is not given back stops all that follow.
  useServer({ WDA_SLOW_CONNECTIONS: '2', WDA_BODY_TIMEOUT_MS: '700' });

  test('an import whose client leaves in the middle imports nothing and frees its connection', async () => {
    await freshWorkspace();
    const leaving = open('lines/_import');
    leaving.write(`text\n${'x\n'.repeat(50_000)}`);
    await until('the import copies', isCopying);
    leaving.destroy();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
  });

  test('an import whose client falls silent ends', async () => {
    await freshWorkspace();
    const silent = open('lines/_import');
    const closed = closeOf(silent);
    silent.write('text\nA\nA\nA\n');
    await until('the import copies', isCopying);
    await closed;
    await until('nothing is left of it', isQuiet);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
    assert.equal(await countOf('lines'), 1);
  });

  test('an import that is waited for longer than a silence may last is no silence', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.people (name, email) values ('X', 'x@example.com')`);
    const loading = load('people', 'name,email\nA,x@example.com\n');
    await until('the import waits for the other write', () => isActive('with inserted%', 'Lock'));
    await sleep(1500);
    await other.end('rollback');
    assert.equal((await loading).status, 200);
  });

  test('a refusal arrives while the client is still sending', async () => {
    await freshWorkspace();
    const endless = open('lines/_import');
    const answered = answerOf(endless);
    endless.write('txt\nA\nB\n');
    const answer = await answered;
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.details[0].message, /Did you mean text\?/);
    // What is sent behind the refusal is read to nowhere for a while, then the connection ends.
    const closed = closeOf(endless);
    const chunk = 'x\n'.repeat(50_000);
    const sending = setInterval(() => endless.write(chunk), 1);
    await closed;
    clearInterval(sending);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
  });

  test('a body of which no length was told is held against the limit too', async () => {
    const limited = await startTestServer({ WDA_MAX_IMPORT_BYTES: '2000' }, server.database);
    try {
      await freshWorkspace();
      const sent = open('lines/_import', 'POST', limited.url);
      const answered = answerOf(sent);
      sent.write('text\n');
      sent.write('x\n'.repeat(2000));
      assert.equal((await answered).status, 413);
      assert.equal(await countOf('lines'), 0);
    } finally {
      await limited.stop();
    }
  });

  test('an export whose client leaves frees its connection', async () => {
    const schema = await freshWorkspace();
    await fill(schema);
    const leaving = open('lines/_export', 'GET');
    leaving.end();
    const [response] = (await once(leaving, 'response')) as [IncomingMessage];
    await once(response, 'readable');
    response.destroy();
    await until('nothing is left of it', isQuiet);
    const next = await workspace.call('lines/_export?fields=id&filter=id,lte,2');
    assert.equal(next.text, 'id\n1\n2\n');
  });

  test('an export whose client does not read is broken off', async () => {
    const stalled = open('lines/_export', 'GET');
    stalled.end();
    const [response] = (await once(stalled, 'response')) as [IncomingMessage];
    response.pause();
    await until('nothing is left of it', isQuiet);
    assert.equal((await workspace.call('lines/_export?fields=id&filter=id,lte,2')).status, 200);
    // The client sees that its file is not whole.
    await assert.rejects(async () => {
      for await (const _ of response);
    });
  });

  test('an export that HEAD asks for is not run to its end', async () => {
    const answer = await workspace.call('lines/_export', { method: 'HEAD' });
    assert.equal(answer.status, 200);
    await until('nothing is left of it', isQuiet);
  });
});

describe('limits of time', () => {
  useServer({ WDA_SLOW_CONNECTIONS: '2', WDA_STATEMENT_TIMEOUT_MS: '1000', WDA_TRANSFER_TIMEOUT_MS: '1000' });

  test('an export that cannot begin in time is refused as JSON', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`lock table ${schema}.lines in access exclusive mode`);
    const answer = await workspace.call('lines/_export');
    await other.end('rollback');
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.json.error.code, 'QUERY_TIMEOUT');
  });

  test('an import that takes too long is broken off', async () => {
    await freshWorkspace();
    const slow = open('lines/_import');
    const closed = closeOf(slow);
    slow.write('text\nA\nA\nA\n');
    const trickling = setInterval(() => slow.write('A\n'), 50);
    await closed;
    clearInterval(trickling);
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
  });

  test('an export that takes too long is broken off', async () => {
    const schema = await freshWorkspace();
    await fill(schema);
    const slow = open('lines/_export', 'GET');
    slow.end();
    const [response] = (await once(slow, 'response')) as [IncomingMessage];
    await assert.rejects(async () => {
      for await (const _ of response) await sleep(20);
    });
    await until('nothing is left of it', isQuiet);
  });
});

describe('more transfers than there is room for', () => {
  useServer({ WDA_SLOW_CONNECTIONS: '2', WDA_STATEMENT_TIMEOUT_MS: '300' });

  test('one transfer too many waits, and is told to come again', async () => {
    await freshWorkspace();
    const first = open('lines/_import');
    first.write('text\n');
    const answered = answerOf(first);
    first.write('A\nA\nA\n');
    await until('the import copies', isCopying);
    const second = await load('lines', 'text\nB\n');
    assert.equal(second.status, 503, second.text);
    assert.equal(second.headers.get('retry-after'), '5');
    first.end();
    assert.equal((await answered).status, 200);
    assert.equal((await load('lines', 'text\nC\n')).status, 200);
  });
});

describe('a server that stops', () => {
  useServer();

  test('in the middle of an import has imported nothing', async () => {
    const second = await startTestServer({}, server.database);
    await freshWorkspace();
    const slow = open('lines/_import', 'POST', second.url);
    slow.write('text\nA\nA\nA\n');
    await until('the import copies', isCopying);
    await second.stop();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
  });
});
