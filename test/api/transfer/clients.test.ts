// Imports and exports whose clients leave, fall silent, send too much, take too long or are too many.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from '../../support/server.ts';
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
} from '../../support/transfer-faults.ts';

/** Sends rows until PostgreSQL is seen to copy: on a busy machine a silence of 700 ms may end before anybody has looked. */
async function untilItCopies(request: ClientRequest): Promise<void> {
  const sending = setInterval(() => request.write('A\n'), 50);
  try {
    await until('the import copies', isCopying);
  } finally {
    clearInterval(sending);
  }
}

/** Says whether an import inserts rows: by COPY straight into the table, or out of the staging table. */
const isInserting = async (...wait: string[]): Promise<boolean> =>
  (await isActive('copy%', ...wait)) || (await isActive('with inserted%', ...wait));

describe('clients that leave or fall silent', () => {
  // One connection for the transfers of a workspace: one that is not given back stops all that follow.
  useServer({ WDA_TRANSFER_CONNECTIONS: '2', WDA_BODY_TIMEOUT_MS: '700' });

  test('an import whose client leaves in the middle imports nothing and frees its connection', async () => {
    await freshWorkspace();
    const leaving = open('lines/_import');
    leaving.write(`text\n${'x\n'.repeat(50_000)}`);
    await untilItCopies(leaving);
    leaving.destroy();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
  });

  test('an import whose client leaves while it is written is stopped and imports nothing', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.people (name, email) values ('X', 'x@example.com')`);
    const leaving = open('people/_import');
    leaving.end('name,email\nA,x@example.com\n');
    await until('the import waits for the other write', () => isInserting('Lock'));
    leaving.destroy();
    await until('the import is stopped', async () => !(await isInserting()));
    await other.end('rollback');
    assert.equal(await countOf('people'), 0);
    assert.equal((await load('people', 'name,email\nA,x@example.com\n')).status, 200);
  });

  test('an import whose client falls silent ends', async () => {
    await freshWorkspace();
    const silent = open('lines/_import');
    const closed = closeOf(silent);
    silent.write('text\n');
    await untilItCopies(silent);
    await closed;
    await until('nothing is left of it', isQuiet);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
    assert.equal(await countOf('lines'), 1);
  });

  test('an import that is waited for longer than a silence may last is no silence', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.people (name, email) values ('X', 'x@example.com')`);
    const loading = load('people', 'name,email\nA,x@example.com\n');
    await until('the import waits for the other write', () => isInserting('Lock'));
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

  test('an export whose client leaves before its first row is stopped', async () => {
    await freshWorkspace();
    const schema = await freshWorkspace();
    await fill(schema);
    await server.database.query(
      `insert into ${schema}.lines (text) select repeat('x', 20) from generate_series(1, 2000000)`,
    );
    const leaving = open('lines/_export?filter=text,contains,never', 'GET');
    leaving.end();
    await until('the export looks for rows', () => isActive('select %lines%'));
    leaving.destroy();
    await until('nothing is left of it', isQuiet);
    assert.equal((await workspace.call('lines/_export?fields=id&filter=id,lte,2')).status, 200);
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
  useServer({ WDA_TRANSFER_CONNECTIONS: '2', WDA_STATEMENT_TIMEOUT_MS: '1000', WDA_TRANSFER_TIMEOUT_MS: '1000' });

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
    const answered = answerOf(slow);
    slow.write('text\nA\nA\nA\n');
    const trickling = setInterval(() => slow.write('A\n'), 50);
    const answer = await answered;
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json.error.message, /longer than 1 s/);
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
  useServer({ WDA_TRANSFER_CONNECTIONS: '2', WDA_STATEMENT_TIMEOUT_MS: '300' });

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

describe('clients that are slow', () => {
  useServer({
    WDA_TRANSFER_WINDOW_SECONDS: '1',
    WDA_MIN_IMPORT_BYTES_PER_SECOND: '1000',
    WDA_MIN_EXPORT_BYTES_PER_SECOND: '10000000',
  });

  test('an import that trickles is refused, and another of few bytes is not', async () => {
    await freshWorkspace();
    const slow = open('lines/_import');
    const answered = answerOf(slow);
    slow.write('text\n');
    const trickling = setInterval(() => slow.write('A\n'), 20);
    const answer = await answered;
    clearInterval(trickling);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'BAD_REQUEST');
    assert.match(answer.json.error.message, /less than 1000 bytes a second over 1 s/);
    slow.destroy();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
  });

  test('an import that waits for the database is not slow', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.people (name, email) values ('X', 'x@example.com')`);
    const loading = load('people', 'name,email\nA,x@example.com\n');
    await until('the import waits for the other write', () => isInserting('Lock'));
    await sleep(2000);
    await other.end('rollback');
    assert.equal((await loading).status, 200);
  });

  test('an export that is read slowly is broken off', async () => {
    const schema = await freshWorkspace();
    await fill(schema);
    const slow = open('lines/_export', 'GET');
    slow.end();
    const [response] = (await once(slow, 'response')) as [IncomingMessage];
    await assert.rejects(async () => {
      for await (const _ of response) await sleep(50);
    });
    await until('nothing is left of it', isQuiet);
  });

  test('an export that waits for the database is not slow', async () => {
    const schema = await freshWorkspace();
    await server.database.query(`insert into ${schema}.lines (text) select 'x' from generate_series(1, 40)`);
    await server.database.query(
      `create function ${schema}.slowly(text) returns text language sql volatile as 'select $1 from pg_sleep(0.05)'`,
    );
    await server.database.query(`alter table ${schema}.lines rename to lines$kept`);
    await server.database.query(
      `create view ${schema}.lines as select id, ${schema}.slowly(text) as text from ${schema}.lines$kept`,
    );
    const answer = await workspace.call('lines/_export?fields=text');
    assert.equal(answer.text, `text\n${'x\n'.repeat(40)}`);
  });
});

describe('transfers of several workspaces', () => {
  useServer({ WDA_TRANSFER_CONNECTIONS: '4' });

  test('those of one leave half of the turns to the others, and waiting ones that are left are dropped', async () => {
    await freshWorkspace();
    const trickling = Array.from({ length: 8 }, () => open('lines/_import'));
    for (const sent of trickling) sent.write('text\nA\nA\n');
    await until('two of them copy', async () => (await copies()) === 2);
    const crowded = workspace;
    await freshWorkspace();
    assert.equal((await load('lines', 'text\nB\n')).status, 200);
    assert.equal((await workspace.call('lines/_export')).text, 'id,text\n1,B\n');
    assert.equal(await copies(), 2);
    for (const sent of trickling) sent.destroy();
    await until('nothing is left of them', isQuiet);
    const next = await crowded.call('lines/_export');
    assert.equal(next.text, 'id,text\n');
  });
});

async function copies(): Promise<number> {
  const [row] = await server.database.query(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and state = 'active' and query like 'copy %'`,
  );
  return row?.count as number;
}
