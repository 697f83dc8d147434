// Writes and imports with an Idempotency-Key: done once, however often and by however many they are sent at the same time.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { skipOnCluster } from '../../support/citus.ts';
import { makeNotes } from '../../support/notes-fixture.ts';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const server = useServer({ ...LOCAL_PROVIDER, WDA_STATEMENT_TIMEOUT_MS: '4000', WDA_MAX_IMPORT_BYTES: '1048576' });
const narrow = useServer({ ...LOCAL_PROVIDER, WDA_MAX_RESPONSE_BYTES: '150000' }, server);
const notes = use(() => makeNotes(server, 'acme/once'));

const KEYS = '"ws1_once"."$idempotency_key"';

let next = 0;
const newKey = (): string => `key-${next++}`;

function send(key: string, method: string, path: string, body?: unknown, options: Call = {}): Promise<Answer> {
  const headers = { 'idempotency-key': key };
  return notes.call(path, { method, headers, ...(body === undefined ? {} : { body }), ...options });
}
const countOf = async (filter = ''): Promise<number> =>
  (await notes.call(`notes?size=1${filter}`)).json.meta.totalElements;
const replayed = (answer: Answer): string | null => answer.headers.get('idempotent-replayed');

function same(first: Answer, second: Answer): void {
  assert.deepEqual([second.status, second.text], [first.status, first.text]);
  for (const name of ['etag', 'location']) assert.equal(second.headers.get(name), first.headers.get(name));
  assert.equal(replayed(first), null);
  assert.equal(replayed(second), 'true');
}
function refused(answer: Answer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.json?.error?.code], [status, code], answer.text);
}

describe('a request that is sent again is answered as the first was, and done once', () => {
  test('create', async () => {
    const before = await countOf();
    const key = newKey();
    const first = await send(key, 'POST', 'notes', { text: 'a "b" \\ ü' });
    assert.equal(first.status, 201, first.text);
    same(first, await send(key, 'POST', 'notes', { text: 'a "b" \\ ü' }));
    same(first, await send(`"${key}"`, 'POST', 'notes/', { text: 'a "b" \\ ü' }));
    assert.equal(await countOf(), before + 1);
    assert.equal((await notes.call(`notes/${first.json.data.id}`)).headers.get('etag'), first.headers.get('etag'));
  });

  test('update, also with the version that it has changed', async () => {
    const { etag, id } = await made('one');
    const key = newKey();
    const options = { headers: { 'idempotency-key': key, 'if-match': etag } };
    const first = await notes.call(`notes/${id}`, { method: 'PATCH', body: { text: 'two' }, ...options });
    assert.equal(first.status, 200, first.text);
    same(first, await notes.call(`notes/${id}`, { method: 'PATCH', body: { text: 'two' }, ...options }));
    refused(await notes.call(`notes/${id}`, { method: 'PATCH', body: { text: 'x' }, ...options }), 422, REUSED);
    assert.equal((await notes.call(`notes/${id}`)).json.data.text, 'two');
  });

  test('an update that changes nothing', async () => {
    const { id } = await made('same');
    const key = newKey();
    const first = await send(key, 'PUT', `notes/${id}`, {});
    assert.equal(first.status, 200, first.text);
    same(first, await send(key, 'PUT', `notes/${id}`, {}));
  });

  test('delete', async () => {
    const { id } = await made('gone');
    const key = newKey();
    const first = await send(key, 'DELETE', `notes/${id}`);
    assert.equal(first.status, 204, first.text);
    same(first, await send(key, 'DELETE', `notes/${id}`));
    refused(await send(newKey(), 'DELETE', `notes/${id}`), 404, 'NOT_FOUND');
  });

  test('bulk', async () => {
    const before = await countOf();
    const key = newKey();
    const body = { data: [{ text: 'x' }, { text: 'y' }] };
    const first = await send(key, 'POST', 'notes/_bulk?return=minimal', body);
    assert.equal(first.status, 201, first.text);
    same(first, await send(key, 'POST', 'notes/_bulk?return=minimal', body));
    refused(await send(key, 'POST', 'notes/_bulk', body), 422, REUSED);
    assert.equal(await countOf(), before + 2);
    const ids = first.json.data.map(({ id }: { id: number }) => id);
    const other = newKey();
    const gone = await send(other, 'DELETE', `notes/_bulk?ids=${ids}`);
    assert.equal(gone.status, 204, gone.text);
    same(gone, await send(other, 'DELETE', `notes/_bulk?ids=${ids}`));
  });

  test('batch', async () => {
    const before = await countOf();
    const key = newKey();
    const body = {
      operations: [
        { ref: 'n', method: 'POST', entity: 'notes', body: { text: 'batch' } },
        { method: 'GET', entity: 'notes', id: { $ref: 'n.id' } },
      ],
    };
    const first = await send(key, 'POST', '_batch', body);
    assert.equal(first.status, 200, first.text);
    same(first, await send(key, 'POST', '_batch', body));
    refused(await send(key, 'POST', '_batch', { operations: [] }), 422, REUSED);
    assert.equal(await countOf(), before + 1);
  });

  test('a dry run takes no key', async () => {
    const key = newKey();
    const body = { operations: [{ method: 'POST', entity: 'notes', body: { text: 'dry' } }] };
    assert.equal((await send(key, 'POST', '_batch?dryRun=true', body)).status, 200);
    const bulk = { data: [{ text: 'dry' }] };
    assert.ok((await send(key, 'POST', 'notes/_bulk?dryRun=true', bulk)).status < 300);
    assert.equal(replayed(await send(key, 'POST', 'notes/_bulk', bulk)), null);
    assert.equal(replayed(await send(key, 'POST', '_batch', body)), null);
  });
});

const REUSED = 'IDEMPOTENCY_KEY_REUSED';

async function made(text: string): Promise<{ id: number; etag: string }> {
  const answer = await notes.call('notes', { method: 'POST', body: { text } });
  return { id: answer.json.data.id, etag: answer.headers.get('etag') as string };
}

test('a key is of its method, its path and its principal', async () => {
  const key = newKey();
  const first = await send(key, 'POST', 'notes', { text: 'mine' });
  const { id } = first.json.data;
  assert.equal(replayed(await send(key, 'POST', 'letters', { text: 'mine' })), null);
  assert.equal(replayed(await send(key, 'PUT', `notes/${id}`, { text: 'mine' })), null);
  assert.equal(replayed(await send(key, 'PATCH', `notes/${id}`, { text: 'mine' })), null);
  const other = await send(key, 'POST', 'notes', { text: 'mine' }, { credential: notes.readWriteKey });
  assert.deepEqual([other.status, replayed(other)], [201, null]);
  refused(await send(key, 'POST', 'notes', { text: 'mine' }, { credential: notes.readOnlyKey }), 403, 'FORBIDDEN');
});

test('another body is 422, also one that could not be written; after a refusal the key is free', async () => {
  const key = newKey();
  refused(await send(key, 'POST', 'notes', { text: 5 }), 400, 'VALIDATION_FAILED');
  assert.equal((await send(key, 'POST', 'notes', { text: 'five' })).status, 201);
  refused(await send(key, 'POST', 'notes', { text: 5 }), 422, REUSED);
  refused(await send(key, 'POST', 'notes', { text: 'six' }), 422, REUSED);
});

for (const key of ['a b', 'x'.repeat(256), 'a, b', '""']) {
  test(`a key of the form ${JSON.stringify(key.slice(0, 10))} is refused`, async () => {
    const before = await countOf();
    refused(await send(key, 'POST', 'notes', { text: 'x' }), 400, 'BAD_REQUEST');
    assert.equal(await countOf(), before);
  });
}

test('what is read anew has the ETag of today, and is never longer than an answer may be', async () => {
  const key = newKey();
  const text = 'x'.repeat(70_000);
  const first = await send(key, 'POST', 'notes', { text });
  const { id } = first.json.data;
  const unchanged = await send(key, 'POST', 'notes', { text });
  assert.deepEqual([unchanged.text, unchanged.headers.get('etag')], [first.text, first.headers.get('etag')]);
  await notes.call(`notes/${id}`, { method: 'PUT', body: { text: 'changed' } });
  const again = await send(key, 'POST', 'notes', { text });
  assert.deepEqual([again.status, again.json.data.text, replayed(again)], [201, 'changed', 'read']);
  assert.equal(again.headers.get('etag'), (await notes.call(`notes/${id}`)).headers.get('etag'));
  assert.equal(again.headers.get('location'), first.headers.get('location'));
  const bulk = { data: [{ text }, { text }, { text }] };
  const batch = { operations: bulk.data.map((body) => ({ method: 'POST', entity: 'notes', body })) };
  for (const [path, body] of [
    ['notes/_bulk', bulk],
    ['_batch', batch],
  ] as const) {
    assert.ok((await send(key, 'POST', path, body)).status < 300);
    const headers = { 'idempotency-key': key };
    const small = await narrow.call(`/api/v1/acme/once/${path}`, {
      method: 'POST',
      credential: notes.key,
      headers,
      body,
    });
    refused(small, 400, 'BAD_REQUEST');
    assert.match(small.json.error.message, /larger than 150000 bytes/);
  }
});

test('an answer that is too long to be kept is read anew', async () => {
  const key = newKey();
  const text = 'x'.repeat(70_000);
  const fields = { text: { type: 'text' }, code: { type: 'string', unique: true } };
  const types = await server.workspace('acme/long', { entities: { pages: { fields } } });
  const options = { method: 'POST', headers: { 'idempotency-key': key } };
  const first = await types.call('pages', { ...options, body: { text } });
  const second = await types.call('pages', { ...options, body: { text } });
  assert.deepEqual([second.status, second.text, replayed(second)], [201, first.text, 'read']);
  const body = { data: [{ text }, { text: 'short' }] };
  const many = await types.call('pages/_bulk', { ...options, body });
  const again = await types.call('pages/_bulk', { ...options, body });
  assert.deepEqual([again.status, again.text, replayed(again)], [201, many.text, 'read']);
  const coded = { data: [{ text, code: 'a' }, { code: 'b' }] };
  const another = { method: 'POST', headers: { 'idempotency-key': newKey() } };
  const upserted = await types.call('pages/_bulk?onConflict=code', { ...another, body: coded });
  assert.deepEqual(upserted.json.meta, { inserted: 2, updated: 0 });
  const told = await types.call('pages/_bulk?onConflict=code', { ...another, body: coded });
  assert.deepEqual([told.status, told.text, replayed(told)], [200, upserted.text, 'read']);
  const operations = [
    { ref: 'a', method: 'POST', entity: 'pages', body: { text } },
    { method: 'DELETE', entity: 'pages', id: { $ref: 'a.id' } },
    { method: 'POST', entity: 'pages', body: { text: 'last' } },
    { method: 'GET', entity: 'pages', query: 'fields=text&filter=text,eq,last' },
  ];
  const batch = await types.call('_batch', { ...options, body: { operations } });
  assert.equal(batch.status, 200, batch.text);
  const anew = await types.call('_batch', { ...options, body: { operations } });
  assert.deepEqual([anew.status, replayed(anew)], [200, 'read'], anew.text);
  assert.deepEqual(anew.json.data.slice(1), batch.json.data.slice(1));
  assert.equal((await types.call('pages?size=1')).json.meta.totalElements, 6);
});

test('a key that has expired is a new one', async () => {
  const key = newKey();
  await send(key, 'POST', 'notes', { text: 'old' });
  await server.database.query(`update ${KEYS} set created_at = now() - interval '25 hours'`);
  const again = await send(key, 'POST', 'notes', { text: 'new' });
  assert.deepEqual([again.status, replayed(again)], [201, null], again.text);
});

test('equal requests at the same time make one record', async () => {
  const key = newKey();
  const text = `together ${key}`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(key, 'POST', 'notes', { text })));
  for (const { status, text: body } of answers) assert.deepEqual([status, body], [201, answers[0]?.text]);
  assert.deepEqual(answers.filter((answer) => replayed(answer) === null).length, 1);
  assert.equal(await countOf(`&filter=text,eq,${text}`), 1);
});

test(
  'a key that somebody has until the deadline is told as in use',
  skipOnCluster('a wait for a lock is that of another node, and is not told apart from a long statement'),
  async () => {
    const key = newKey();
    const bulk = { data: [{ text: 'held' }] };
    const { id } = await made('locked by the one who has the key');
    assert.equal((await send(key, 'POST', 'notes', { text: 'held' })).status, 201);
    assert.equal((await send(key, 'POST', 'notes/_bulk', bulk)).status, 201);
    assert.equal((await send(key, 'PUT', `notes/${id}`, { text: 'changed' })).status, 200);
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      // As the first of these requests would have it that are at their end.
      await client.query(`create temp table kept as select * from ${KEYS}; delete from ${KEYS}`);
      await client.query(`begin; insert into ${KEYS} select * from kept`);
      await client.query(`select from "ws1_once".notes where id = ${id} for update`);
      const inUse = await Promise.all([
        send(key, 'POST', 'notes', { text: 'held' }),
        send(key, 'POST', 'notes/_bulk', bulk),
        send(key, 'PUT', `notes/${id}`, { text: 'changed' }),
      ]);
      for (const answer of inUse) {
        refused(answer, 409, 'IDEMPOTENCY_KEY_IN_USE');
        assert.equal(answer.headers.get('retry-after'), '1');
      }
    } finally {
      await client.query('commit');
      await client.end();
    }
    assert.equal(replayed(await send(key, 'POST', 'notes', { text: 'held' })), 'true');
    assert.equal(await countOf('&filter=text,eq,held'), 2);
  },
);

test('a record that others have locked is told the same with a key as without', async () => {
  const { id } = (await send(newKey(), 'POST', 'notes', { text: 'locked' })).json.data;
  const [row] = await server.database.query("select database_schema from wda.workspace where slug = 'once'");
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    await client.query(`begin; select id from "${row?.database_schema}".notes where id = ${id} for update`);
    const path = `notes/${id}`;
    const update = { method: 'PUT', body: { text: 'changed' } };
    const answers = await Promise.all([notes.call(path, update), send(newKey(), 'PUT', path, update.body)]);
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], answer.text);
    }
  } finally {
    await client.query('rollback');
    await client.end();
  }
});

test('while the first is under way the second waits for it', async () => {
  const key = newKey();
  const { id } = await made('locked');
  const [row] = await server.database.query("select database_schema from wda.workspace where slug = 'once'");
  const schema = `"${row?.database_schema}"`;
  await server.database.query('set citus.enable_unsafe_triggers = on');
  await server.database.query(`create function ${schema}.linger() returns trigger language plpgsql as
    'begin
       if new.text = ''slow'' then perform pg_sleep(3.8); end if;
       if new.text = ''slow update'' then perform pg_sleep(3.2); end if;
       return null;
     end'`);
  await server.database.query(`create constraint trigger linger after insert or update on ${schema}.notes
    deferrable initially deferred for each row execute function ${schema}.linger()`);
  const operations = [{ method: 'POST', entity: 'notes', body: { text: 'slow' } }];
  const first = send(key, 'POST', '_batch', { operations });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const other = send(key, 'POST', '_batch', { operations });
  const [one, two] = await Promise.all([first, other]);
  assert.equal(one.status, 200, one.text);
  same(one, two);
  // The second waits for the record before it comes to the key, and longer than others wait for a record.
  const update = send(key, 'PUT', `notes/${id}`, { text: 'slow update' });
  await new Promise((resolve) => setTimeout(resolve, 700));
  const updated = await Promise.all([update, send(key, 'PUT', `notes/${id}`, { text: 'slow update' })]);
  assert.equal(updated[0].status, 200, updated[0].text);
  same(...updated);
});

describe('row rules', () => {
  const own = use(() => makeNotes(server, 'acme/own'));
  const tokenOf = useUsers(own, useIssuer());

  test('who may not see the record any more gets 404', async () => {
    const credential = tokenOf({ sub: 'app' });
    const key = newKey();
    const ask = (path: string, body: unknown): Promise<Answer> =>
      own.call(path, { method: 'POST', credential, headers: { 'idempotency-key': key }, body });
    const single = { text: 'mine' };
    const bulk = { data: [{ text: 'mine' }] };
    const batch = {
      operations: [
        { method: 'POST', entity: 'letters', body: { text: 'mine' } },
        { method: 'GET', entity: 'letters', query: 'sort=id&fields=text' },
      ],
    };
    const first = await ask('letters', single);
    assert.equal(first.status, 201, first.text);
    same(first, await ask('letters', single));
    const many = await ask('letters/_bulk', bulk);
    same(many, await ask('letters/_bulk', bulk));
    const several = await ask('_batch', batch);
    assert.equal(several.status, 200, several.text);
    const anew = await ask('_batch', batch);
    assert.deepEqual([anew.text, replayed(anew)], [several.text, 'read']);
    const ids = [first.json.data, many.json.data[0], several.json.data[0].data].map(({ id }) => id);
    for (const id of ids) await own.call(`letters/${id}`, { method: 'PUT', body: { owner: 'else' } });
    for (const [path, body] of [
      ['letters', single],
      ['letters/_bulk', bulk],
      ['_batch', batch],
    ] as const) {
      refused(await ask(path, body), 404, 'NOT_FOUND');
    }
  });

  test('of many records all are looked at, whether their answer was kept or not', async () => {
    const credential = tokenOf({ sub: 'app' });
    for (const [query, text] of [
      ['', (index: number) => `${index}`],
      ['', (index: number) => `${index}`.padEnd(60, 'x')],
      ['?return=minimal', (index: number) => `${index}`],
    ] as const) {
      const body = { data: Array.from({ length: 1000 }, (_, index) => ({ text: text(index) })) };
      const headers = { 'idempotency-key': newKey() };
      const ask = () => own.call(`letters/_bulk${query}`, { method: 'POST', credential, headers, body });
      const first = await ask();
      const second = await ask();
      assert.deepEqual([second.status, second.text], [201, first.text]);
      assert.equal(replayed(second), first.text.length < 65_000 ? 'true' : 'read');
      const { id } = first.json.data.at(-1);
      await own.call(`letters/${id}`, { method: 'PUT', body: { owner: 'else' } });
      refused(await ask(), 404, 'NOT_FOUND');
    }
  });
});

test('any interleaving of equal and different requests leaves one record for each key that was answered', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ key: fc.nat(3), text: fc.nat(1), way: fc.constantFrom('single', 'bulk', 'batch') }), {
        minLength: 2,
        maxLength: 12,
      }),
      async (requests) => {
        const run = newKey();
        const body = { single: oneNote, bulk: bulkNote, batch: batchNote };
        const path = { single: 'notes', bulk: 'notes/_bulk', batch: '_batch' };
        const answers = await Promise.all(
          requests.map(async ({ key, text, way }) => {
            const words = `${run} ${key} ${text} ${way}`;
            return { key, text, way, answer: await send(`${run}.${key}`, 'POST', path[way], body[way](words)) };
          }),
        );
        const done = answers.filter(({ answer }) => answer.status < 300);
        for (const { answer } of answers) assert.ok([200, 201, 422].includes(answer.status), answer.text);
        const rows = (await notes.call(`notes?size=100&fields=text&filter=text,startsWith,${run} `)).json.data;
        const texts = rows.map((row: { text: string }) => row.text);
        assert.equal(new Set(texts).size, texts.length);
        const ways = new Set(answers.map(({ key, way }) => `${key} ${way}`));
        assert.equal(texts.length, ways.size);
        assert.deepEqual(new Set(done.map(({ key, text, way }) => `${run} ${key} ${text} ${way}`)), new Set(texts));
      },
    ),
    { numRuns: 30 },
  );
});

const oneNote = (text: string) => ({ text });
const bulkNote = (text: string) => ({ data: [{ text }] });
const batchNote = (text: string) => ({ operations: [{ method: 'POST', entity: 'notes', body: { text } }] });

describe('an import with a key', () => {
  const files = use(() => makeNotes(server, 'acme/files'));
  const nameKeyTable = async (): Promise<string> => {
    const [row] = await server.database.query("select database_schema from wda.workspace where slug = 'files'");
    return `"${row?.database_schema}"."$idempotency_key"`;
  };
  const FIRST = { inserted: 2, updated: 0, skipped: 0 };

  const csv = (...texts: readonly string[]): string => `text\n${texts.join('\n')}\n`;

  function sendFile(key: string, body: string, query = '', options: Call = {}): Promise<Answer> {
    const headers = { 'content-type': 'text/csv', 'idempotency-key': key };
    return files.call(`notes/_import${query}`, { method: 'POST', headers, body, ...options });
  }
  const countNotes = async (text: string): Promise<number> =>
    (await files.call(`notes?size=1&filter=text,startsWith,${text}`)).json.meta.totalElements;

  test('a file that is sent again is answered as the first was, and stored once', async () => {
    const file = csv('again 1', 'again 2');
    const first = await sendFile('again', file);
    assert.deepEqual([first.status, first.json, replayed(first)], [200, { data: FIRST }, null]);
    const second = await sendFile('"again"', file);
    assert.deepEqual([second.status, second.text, replayed(second)], [200, first.text, 'true']);
    assert.equal(await countNotes('again'), 2);
  });

  test('another file or query is 422, also one that could not be imported', async () => {
    assert.equal((await sendFile('other', csv('other 1'))).status, 200);
    refused(await sendFile('other', csv('other 2')), 422, 'IDEMPOTENCY_KEY_REUSED');
    refused(await sendFile('other', 'what\n1\n'), 422, 'IDEMPOTENCY_KEY_REUSED');
    refused(await sendFile('other', csv('other 1'), '?map=text:text'), 422, 'IDEMPOTENCY_KEY_REUSED');
    assert.equal(await countNotes('other'), 1);
  });

  test('after a refusal the key is free, and a dry run takes none', async () => {
    refused(await sendFile('free', 'what\n1\n'), 400, 'VALIDATION_FAILED');
    assert.equal((await sendFile('free', csv('free 1'), '?dryRun=true')).json.meta.dryRun, true);
    const answer = await sendFile('free', csv('free 1'));
    assert.deepEqual([answer.status, replayed(answer)], [200, null], answer.text);
  });

  test('a repeated file is read within the limits of imports, by who may import', async () => {
    assert.equal((await sendFile('limits', csv('limits'))).status, 200);
    refused(await sendFile('limits', csv('x'.repeat(1_100_000))), 413, 'PAYLOAD_TOO_LARGE');
    // Without a length: counted while it is read.
    const stream = await fetch(`${server.url}/api/v1/acme/files/notes/_import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${files.key}`, 'content-type': 'text/csv', 'idempotency-key': 'limits' },
      body: new Blob([csv('x'.repeat(1_100_000))]).stream(),
      duplex: 'half',
    } as RequestInit);
    assert.deepEqual(
      [stream.status, ((await stream.json()) as { error: { code: string } }).error.code],
      [413, 'PAYLOAD_TOO_LARGE'],
    );
    refused(await sendFile('limits', csv('limits'), '', { credential: files.readOnlyKey }), 403, 'FORBIDDEN');
    refused(await sendFile('a b', csv('limits')), 400, 'BAD_REQUEST');
    assert.equal(await countNotes('limits'), 1);
  });

  test('a key is of its principal, and a new one after it has expired', async () => {
    assert.equal((await sendFile('whose', csv('whose'))).status, 200);
    const other = await sendFile('whose', csv('whose'), '', { credential: files.readWriteKey });
    assert.deepEqual([other.status, replayed(other)], [200, null]);
    await server.database.query(`update ${await nameKeyTable()} set created_at = now() - interval '25 hours'`);
    const again = await sendFile('whose', csv('whose'));
    assert.deepEqual([again.status, replayed(again)], [200, null], again.text);
    assert.equal(await countNotes('whose'), 3);
  });

  test('equal files at the same time are stored once, different ones are refused', async () => {
    const file = csv('together 1', 'together 2');
    const answers = await Promise.all(Array.from({ length: 6 }, () => sendFile('together', file)));
    for (const { status, text } of answers) assert.deepEqual([status, text], [200, JSON.stringify({ data: FIRST })]);
    assert.equal(answers.filter((answer) => replayed(answer) === null).length, 1);
    assert.equal(await countNotes('together'), 2);
    const mixed = await Promise.all([sendFile('mixed', csv('mixed 1')), sendFile('mixed', csv('mixed 2'))]);
    assert.deepEqual(mixed.map(({ status }) => status).sort(), [200, 422]);
    assert.equal(await countNotes('mixed'), 1);
  });

  test('a key that another request has until the deadline is told as in use', async () => {
    const keys = await nameKeyTable();
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      assert.equal((await sendFile('held', csv('held'))).status, 200);
      // As an import that has taken the key and goes on.
      await client.query('begin');
      await client.query(`create temp table taken on commit drop as select * from ${keys}`);
      await server.database.query(`delete from ${keys}`);
      await client.query(`insert into ${keys} select * from taken`);
      const answer = await sendFile('held', csv('held'));
      refused(answer, 409, 'IDEMPOTENCY_KEY_IN_USE');
      assert.equal(answer.headers.get('retry-after'), '1');
      await client.query('commit');
    } finally {
      await client.end();
    }
    assert.equal(replayed(await sendFile('held', csv('held'))), 'true');
    assert.equal(await countNotes('held'), 1);
  });
});
