// Imports and exports when others write at the same time, when clients leave or fall silent, when the schema changes,
// and when too many come at once. Clients that send in pieces speak HTTP by node:http.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Answer, startTestServer, type TestServer, type TestWorkspace } from '../support/server.ts';

const SCHEMA = {
  entities: {
    people: {
      fields: { name: { type: 'string', required: true }, email: { type: 'string', unique: true } },
      relations: { team: { kind: 'belongsTo', entity: 'teams' } },
    },
    teams: { fields: { name: { type: 'string', required: true } } },
    lines: { fields: { text: { type: 'text' } } },
  },
};

const CSV = { 'content-type': 'text/csv' };

let server: TestServer;
let workspace: TestWorkspace;
let count = 0;

function useServer(env: Readonly<Record<string, string>> = {}): void {
  before(async () => {
    server = await startTestServer(env);
  });
  after(() => server.stop());
}

async function freshWorkspace(): Promise<string> {
  workspace = await server.workspace(`acme/trouble-${++count}`, SCHEMA);
  const [row] = await server.database.query(`select database_schema from wda.workspace where slug = $1`, [
    `trouble-${count}`,
  ]);
  return `"${row?.database_schema}"`;
}

function load(entity: string, body: string, query = ''): Promise<Answer> {
  return workspace.call(`${entity}/_import${query}`, { method: 'POST', headers: CSV, body });
}

/** 20 MB of lines: more than the sockets of a client that does not read take. */
async function fill(schema: string): Promise<void> {
  await server.database.query(
    `insert into ${schema}.lines (text) select repeat('x', 1000) from generate_series(1, 20000)`,
  );
}

async function countOf(entity: string): Promise<number> {
  return (await workspace.call(`${entity}?size=1`)).json.meta.totalElements;
}

function detailsOf({ json }: Answer): string[] {
  return json.error.details.map(
    (detail: { row: number; field: string; code: string }) => `${detail.row} ${detail.field} ${detail.code}`,
  );
}

/** A transaction beside the server's own, to stand in its way. */
async function otherTransaction(
  ...statements: string[]
): Promise<{ end: (how: 'commit' | 'rollback') => Promise<void> }> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  for (const statement of ['begin', ...statements]) await client.query(statement);
  return {
    async end(how) {
      await client.query(how);
      await client.end();
    },
  };
}

/** A request whose body is sent piece by piece. */
function open(path: string, method = 'POST'): ClientRequest {
  const sent = request(`${server.url}/api/v1/${workspace.path}/${path}`, {
    method,
    headers: { ...(method === 'POST' ? CSV : {}), authorization: `Bearer ${workspace.key}` },
  });
  sent.on('error', () => undefined);
  return sent;
}

function closeOf(sent: ClientRequest): Promise<void> {
  return new Promise((resolve) => sent.once('close', () => resolve()));
}

async function answerOf(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, headers: new Headers(), text, json: JSON.parse(text) };
}

/** Waits until the condition holds; the limit is only there so that a broken test ends. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `never happened: ${what}`);
    await sleep(20);
  }
}

async function isActive(pattern: string, wait = '%'): Promise<boolean> {
  const rows = await server.database.query(
    `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query like $1 and coalesce(wait_event_type, '') like $2`,
    [pattern, wait],
  );
  return rows.length > 0;
}

const isCopying = (): Promise<boolean> => isActive('copy %');

/** Nothing of an import or export is left on any connection. */
async function isQuiet(): Promise<boolean> {
  const rows = await server.database.query(
    `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
  );
  return rows.length === 0;
}

describe('an import beside other writes', () => {
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
    for (let round = 1; round <= 5; round++) {
      const start = round * 100_000;
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
    await until('the import waits for the other write', () => isActive('with inserted%', 'Lock'));
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
    await until('the import waits for the delete', () => isActive('with inserted%', 'Lock'));
    await other.end('commit');
    const answer = await loading;
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(detailsOf(answer), ['2 teamId REFERENCE_NOT_FOUND']);
  });

  test('an import with ids gets past a long write, and creates get past the import', async () => {
    const schema = await freshWorkspace();
    const other = await otherTransaction(`insert into ${schema}.lines (text) values ('uncommitted')`);
    const loading = load('lines', 'id,text\n500,x\n');
    await until('the import asks for the lock', () => isActive('lock table%'));
    const created = await workspace.call('lines', { method: 'POST', body: { text: 'meanwhile' } });
    assert.equal(created.status, 201, created.text);
    await other.end('commit');
    const answer = await loading;
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await workspace.call('lines', { method: 'POST', body: {} })).json.data.id, 501);
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
});

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
      const sent = request(`${limited.url}/api/v1/${workspace.path}/lines/_import`, {
        method: 'POST',
        headers: { ...CSV, authorization: `Bearer ${workspace.key}` },
      });
      sent.on('error', () => undefined);
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

test('a server that stops in the middle of an import has imported nothing', async () => {
  server = await startTestServer();
  const second = await startTestServer({}, server.database);
  try {
    await freshWorkspace();
    const slow = request(`${second.url}/api/v1/${workspace.path}/lines/_import`, {
      method: 'POST',
      headers: { ...CSV, authorization: `Bearer ${workspace.key}` },
    });
    slow.on('error', () => undefined);
    slow.write('text\nA\nA\nA\n');
    await until('the import copies', isCopying);
    await second.stop();
    await until('nothing is left of it', isQuiet);
    assert.equal(await countOf('lines'), 0);
  } finally {
    await server.stop();
  }
});
