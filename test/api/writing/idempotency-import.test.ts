// Imports with an Idempotency-Key: a file is stored once, however often and by however many it is sent at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { makeNotes } from '../../support/notes-fixture.ts';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';

const server = useServer({ WDA_STATEMENT_TIMEOUT_MS: '4000', WDA_MAX_IMPORT_BYTES: '1048576' });
const notes = use(() => makeNotes(server, 'acme/files'));

const KEYS = '"ws1_files"."$idempotency_key"';

const csv = (...texts: readonly string[]): string => `text\n${texts.join('\n')}\n`;

function send(key: string, body: string, query = '', options: Call = {}): Promise<Answer> {
  const headers = { 'content-type': 'text/csv', 'idempotency-key': key };
  return notes.call(`notes/_import${query}`, { method: 'POST', headers, body, ...options });
}
const replayed = (answer: Answer): string | null => answer.headers.get('idempotent-replayed');
const countOf = async (text: string): Promise<number> =>
  (await notes.call(`notes?size=1&filter=text,startsWith,${text}`)).json.meta.totalElements;

function refused(answer: Answer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.json?.error?.code], [status, code], answer.text);
}

test('a file that is sent again is answered as the first was, and stored once', async () => {
  const file = csv('again 1', 'again 2');
  const first = await send('again', file);
  assert.deepEqual([first.status, first.json, replayed(first)], [200, { data: FIRST }, null]);
  const second = await send('"again"', file);
  assert.deepEqual([second.status, second.text, replayed(second)], [200, first.text, 'true']);
  assert.equal(await countOf('again'), 2);
});

interface Refusal {
  readonly error: { readonly code: string };
}

const FIRST = { inserted: 2, updated: 0, skipped: 0 };

test('another file or query is 422, also one that could not be imported', async () => {
  assert.equal((await send('other', csv('other 1'))).status, 200);
  refused(await send('other', csv('other 2')), 422, 'IDEMPOTENCY_KEY_REUSED');
  refused(await send('other', 'what\n1\n'), 422, 'IDEMPOTENCY_KEY_REUSED');
  refused(await send('other', csv('other 1'), '?map=text:text'), 422, 'IDEMPOTENCY_KEY_REUSED');
  assert.equal(await countOf('other'), 1);
});

test('after a refusal the key is free, and a dry run takes none', async () => {
  refused(await send('free', 'what\n1\n'), 400, 'VALIDATION_FAILED');
  assert.equal((await send('free', csv('free 1'), '?dryRun=true')).json.meta.dryRun, true);
  const answer = await send('free', csv('free 1'));
  assert.deepEqual([answer.status, replayed(answer)], [200, null], answer.text);
});

test('a repeated file is read within the limits of imports, by who may import', async () => {
  assert.equal((await send('limits', csv('limits'))).status, 200);
  refused(await send('limits', csv('x'.repeat(1_100_000))), 413, 'PAYLOAD_TOO_LARGE');
  // Without a length: counted while it is read.
  const stream = await fetch(`${server.url}/api/v1/acme/files/notes/_import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${notes.key}`, 'content-type': 'text/csv', 'idempotency-key': 'limits' },
    body: new Blob([csv('x'.repeat(1_100_000))]).stream(),
    duplex: 'half',
  } as RequestInit);
  assert.deepEqual([stream.status, ((await stream.json()) as Refusal).error.code], [413, 'PAYLOAD_TOO_LARGE']);
  refused(await send('limits', csv('limits'), '', { credential: notes.readOnlyKey }), 403, 'FORBIDDEN');
  refused(await send('a b', csv('limits')), 400, 'BAD_REQUEST');
  assert.equal(await countOf('limits'), 1);
});

test('a key is of its principal, and a new one after it has expired', async () => {
  assert.equal((await send('whose', csv('whose'))).status, 200);
  const other = await send('whose', csv('whose'), '', { credential: notes.readWriteKey });
  assert.deepEqual([other.status, replayed(other)], [200, null]);
  await server.database.query(`update ${KEYS} set created_at = now() - interval '25 hours'`);
  const again = await send('whose', csv('whose'));
  assert.deepEqual([again.status, replayed(again)], [200, null], again.text);
  assert.equal(await countOf('whose'), 3);
});

test('equal files at the same time are stored once, different ones are refused', async () => {
  const file = csv('together 1', 'together 2');
  const answers = await Promise.all(Array.from({ length: 6 }, () => send('together', file)));
  for (const { status, text } of answers) assert.deepEqual([status, text], [200, JSON.stringify({ data: FIRST })]);
  assert.equal(answers.filter((answer) => replayed(answer) === null).length, 1);
  assert.equal(await countOf('together'), 2);
  const mixed = await Promise.all([send('mixed', csv('mixed 1')), send('mixed', csv('mixed 2'))]);
  assert.deepEqual(mixed.map(({ status }) => status).sort(), [200, 422]);
  assert.equal(await countOf('mixed'), 1);
});

test('a key that another request has until the deadline is told as in use', async () => {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    assert.equal((await send('held', csv('held'))).status, 200);
    // As an import that has taken the key and goes on.
    await client.query('begin');
    await client.query(`create temp table taken on commit drop as select * from ${KEYS}`);
    await server.database.query(`delete from ${KEYS}`);
    await client.query(`insert into ${KEYS} select * from taken`);
    const answer = await send('held', csv('held'));
    refused(answer, 409, 'IDEMPOTENCY_KEY_IN_USE');
    assert.equal(answer.headers.get('retry-after'), '1');
    await client.query('commit');
  } finally {
    await client.end();
  }
  assert.equal(replayed(await send('held', csv('held'))), 'true');
  assert.equal(await countOf('held'), 1);
});
