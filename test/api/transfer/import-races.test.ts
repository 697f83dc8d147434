// Imports while others write: ids, values, references and the schema itself change hands under them; and transfers whose
// server ends or whose connection to the database is lost.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import pg from 'pg';
import { INTERNALS } from '../../support/scenario.ts';
import { type Answer, startTestServer } from '../../support/server.ts';
import {
  answerOf,
  countOf,
  detailsOf,
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

/** Ends the backends that run such a statement. */
async function terminate(pattern: string): Promise<void> {
  await server.database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and query like $1`,
    [pattern],
  );
}

function unavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.json.error.code, 'SERVICE_UNAVAILABLE');
  assert.doesNotMatch(answer.text, INTERNALS);
}

describe('a transfer beside other work', () => {
  useServer();

  test('records created at the same time never get an id of the file', async () => {
    await freshWorkspace();
    let isRunning = true;
    const ids = new Set<number>();
    const creating = Array.from({ length: 4 }, async () => {
      while (isRunning) {
        const answer = await workspace.call('lines', { method: 'POST', body: { text: 'created' } });
        assert.equal(answer.status, 201, answer.text);
        assert.ok(!ids.has(answer.json.data.id));
        ids.add(answer.json.data.id);
      }
    });
    // The sequence is behind by some thousands, by a hundred thousand, and by more than is drawn id by id.
    for (const start of [5000, 100_000, 20_000_000, 20_100_000, 5_000_000_000]) {
      const rows = Array.from({ length: 3000 }, (_, index) => `${start + index},imported`);
      const answer = await load('lines', `id,text\n${rows.join('\n')}\n`);
      assert.equal(answer.status, 200, answer.text);
    }
    isRunning = false;
    await Promise.all(creating);
    assert.equal(await countOf('lines'), 15_000 + ids.size);
  });

  test('imports at the same time, with ids and without, all come in', async () => {
    await freshWorkspace();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, part) => {
        const rows = Array.from({ length: 500 }, (_, index) => `${part % 2 === 0 ? part * 1000 + index + 1 : ''},x`);
        return load('lines', `id,text\n${rows.join('\n')}\n`);
      }),
    );
    for (const answer of answers) {
      // An id that was drawn in the meantime is a conflict like any other.
      assert.ok(
        answer.status === 200 || detailsOf(answer).every((detail) => detail.endsWith('id NOT_UNIQUE')),
        answer.text,
      );
    }
    const whole = answers.filter((answer) => answer.status === 200).length;
    assert.ok(whole >= 3);
    assert.equal(await countOf('lines'), whole * 500);
    assert.equal((await workspace.call('lines', { method: 'POST', body: {} })).status, 201);
  });

  test('a value that another import has taken in the meantime is told by its row', async () => {
    await freshWorkspace();
    const slow = open('people/_import');
    const answered = answerOf(slow);
    slow.write('name,email\nA,a@example.com\n');
    await until('the first import copies', isCopying);
    assert.equal((await load('people', 'name,email\nX,b@example.com\n')).status, 200);
    slow.end('B,b@example.com\n');
    const answer = await answered;
    assert.equal(answer.status, 409);
    assert.deepEqual(detailsOf(answer), ['2 email NOT_UNIQUE']);
    assert.equal(await countOf('people'), 1);
  });

  test('a value that is taken while the import is being written is told by its row', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.people (name, email) values ('X', 'x@example.com')`);
    const loading = load('people', 'name,email\nA,a@example.com\nB,x@example.com\n');
    await until('the import waits for the other write', () => isActive('copy %', 'Lock'));
    await other.end('commit');
    const answer = await loading;
    assert.equal(answer.status, 409, answer.text);
    assert.deepEqual(detailsOf(answer), ['2 email NOT_UNIQUE']);
  });

  test('a record that is deleted while the import refers to it is told by the row', async () => {
    const schema = await freshWorkspace();
    await workspace.create('teams', [{ name: 'Leaving' }]);
    const other = await otherTransaction(`delete from ${schema}.teams`);
    const loading = load('people', 'name,teamId\nA,\nB,1\n');
    await until('the import waits for the delete', () => isActive('copy %', 'Lock'));
    await other.end('commit');
    const answer = await loading;
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(detailsOf(answer), ['2 teamId REFERENCE_NOT_FOUND']);
  });

  test('an import with ids does not wait for a long write, and creates do not wait for the import', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.lines (text) values ('uncommitted')`);
    const answer = await load('lines', 'id,text\n500,x\n');
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await workspace.call('lines', { method: 'POST', body: {} })).json.data.id, 501);
    await other.end('commit');
  });

  test('an import with ids does not wait for an index that is built, nor for a constraint that is validated', async () => {
    const schema = await freshWorkspace();
    const writing = await otherTransaction(`insert into ${schema}.lines (text) values ('uncommitted')`);
    const builder = new pg.Client({ connectionString: server.database.url });
    await builder.connect();
    const building = builder.query(`create index concurrently on ${schema}.lines (text)`);
    await until('the index waits for the write', () => isActive('create index%', 'Lock'));
    for (const id of [500, 5_000_000_000]) {
      const answer = await load('lines', `id,text\n${id},x\n`);
      assert.equal(answer.status, 200, answer.text);
    }
    await writing.end('commit');
    await building;
    await builder.end();
    // What VALIDATE CONSTRAINT holds for as long as it reads the table.
    const validating = await otherTransaction(`lock table ${schema}.lines in share update exclusive mode`);
    assert.equal((await load('lines', 'id,text\n6000000000,x\n')).status, 200);
    await validating.end('commit');
    assert.equal((await workspace.call('lines', { method: 'POST', body: {} })).json.data.id, 6_000_000_001);
  });

  test('imports that bring ids far apart at the same time leave the sequence behind the largest', async () => {
    await freshWorkspace();
    const largest = [9_000_000_000, 40_000, 3_000_000, 7_000_000_000, 900_000, 12_000_000];
    const answers = await Promise.all(largest.map((id) => load('lines', `id,text\n${id},x\n`)));
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    const created = await workspace.call('lines', { method: 'POST', body: {} });
    assert.equal(created.json.data.id, 9_000_000_001);
  });

  test('a schema that changes while the file arrives ends the import, and the next one fits', async () => {
    const schema = await freshWorkspace();
    const slow = open('people/_import');
    const answered = answerOf(slow);
    slow.write('name,email\nA,a@example.com\n');
    await until('the import copies', isCopying);
    await server.database.query(`alter table ${schema}.people rename column email to mail`);
    slow.end();
    const answer = await answered;
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.json.error.code, 'SERVICE_UNAVAILABLE');
  });

  test('a server that stops in the middle of an import has imported nothing', async () => {
    const second = await startTestServer({}, server.database);
    await freshWorkspace();
    const slow = open('lines/_import', 'POST', second.url);
    slow.write('text\nA\nA\nA\n');
    await until('the import copies', isCopying);
    await second.stop();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
  });

  test('a connection that is lost under a file that still arrives is told as that, not as a fault of ours', async () => {
    for (const pieces of [1, 20]) {
      await freshWorkspace();
      const cut = open('lines/_import');
      const answered = answerOf(cut);
      cut.write(`text\n${'x\n'.repeat(50_000)}`);
      await until('the import copies', isCopying);
      await terminate('copy %');
      for (let piece = 0; piece < pieces; piece++) cut.write('x\n'.repeat(50_000));
      unavailable(await answered);
      cut.destroy();
      await until('nothing is left of it', isQuiet);
      assert.equal(await countOf('lines'), 0);
    }
  });

  test('a connection that is lost under a file whose client is silent is told at once', async () => {
    await freshWorkspace();
    const silent = open('lines/_import');
    const answered = answerOf(silent);
    silent.write('text\nA\nA\n');
    await until('the import copies', isCopying);
    await terminate('copy %');
    unavailable(await answered);
    silent.destroy();
    assert.equal((await load('lines', 'text\nnext\n')).status, 200);
    assert.equal(await countOf('lines'), 1);
  });

  test('a connection that is lost under an export shows the client that its file is not whole', async () => {
    const schema = await freshWorkspace();
    await fill(schema);
    const cut = open('lines/_export', 'GET');
    cut.end();
    const [response] = (await once(cut, 'response')) as [IncomingMessage];
    await until('the export runs', () => isActive('select %lines%'));
    await terminate('select %lines%');
    await assert.rejects(async () => {
      for await (const _ of response);
    });
    assert.equal((await workspace.call('lines/_export?fields=id&filter=id,lte,2')).text, 'id\n1\n2\n');
  });
});
