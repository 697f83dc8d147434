// Large answers are written from memory that is used again: none has bytes of another, however they are asked for and broken
// off.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';

const schema = {
  entities: {
    books: { fields: {}, relations: { notes: { kind: 'hasMany', entity: 'notes', inverse: 'book' } } },
    notes: { fields: { body: { type: 'text' } }, relations: { book: { kind: 'belongsTo', entity: 'books' } } },
  },
};
// From less than is taken as bytes to more than the longest memory that is used again.
const SIZES = [10_000, 20_000, 45_000, 70_000, 130_000, 300_000, 1_200_000, 4_500_000];
const COUNT = 1000;

// All are asked for at once, and a busy machine takes its time for them.
const server = useServer({
  WDA_MAX_QUEUE: '5000',
  WDA_STATEMENT_TIMEOUT_MS: '60000',
  WDA_MAX_BODY_BYTES: '10000000',
  WDA_MAX_UNREAD_BYTES: '2000000000',
});
const workspace = use(() => server.workspace('acme/books', schema));
const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

/** Another letter in each note, with characters of two to four bytes. */
const bodies = SIZES.map((size, index) => `${String.fromCharCode(97 + index)}é漢🎵\n"`.repeat(size / 12));

prepare(async () => {
  await workspace.create('books', [{}]);
  for (const body of bodies) await workspace.create('notes', [{ body, bookId: 1 }]);
});

interface Received {
  readonly status: number | undefined;
  readonly hash: string;
  readonly etag: string | undefined;
}

/** Sends a request; resolves with the whole answer, or with undefined where it is broken off at its first bytes. */
function send(method: string, path: string, headers = {}, isBrokenOff = false): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    const options = { method, agent, headers: { authorization: `Bearer ${workspace.key}`, ...headers } };
    const url = `${server.url}/api/v1/${workspace.path}/${path}`;
    const sent = request(url, options, async (response) => {
      if (isBrokenOff) response.once('data', () => response.destroy()).once('close', () => resolve(undefined));
      else {
        const bytes = Buffer.concat(await response.toArray());
        resolve({ status: response.statusCode, hash: hash('sha1', bytes), etag: response.headers.etag });
      }
    });
    sent.on('error', (error) => (isBrokenOff ? resolve(undefined) : reject(error)));
    sent.end();
  });
}

const PATHS = [
  // A statement of its own: those whose answers are above 1 MB wait for memory.
  ...SIZES.map((size, index) => `notes/${index + 1}${size < 1_000_000 ? '' : '?fields=id,body'}`),
  'notes?size=4&count=none',
  'notes?size=3&page=1&sort=id&versions=true',
  'books/1?expand=notes&notes.filter=id,lte,6',
];

test('records, lists and related records are what was stored', async () => {
  for (const [index, body] of bodies.entries()) {
    const { json } = await workspace.call(`notes/${index + 1}`);
    assert.equal(json.data.body, body);
  }
  const list = await workspace.call('notes?size=3&page=1&sort=id&versions=true');
  assert.deepEqual(
    list.json.data.map((note: { readonly body: string }) => note.body),
    bodies.slice(3, 6),
  );
  assert.equal(list.json.meta.versions.length, 3);
  assert.equal(list.json.meta.totalElements, bodies.length);
  const book = await workspace.call('books/1?expand=notes');
  assert.deepEqual(
    book.json.data.notes.map((note: { readonly body: string }) => note.body),
    bodies,
  );
});

test('a thousand at once are the same as one after the other, also when some are broken off', async () => {
  const expected = new Map<string, Received | undefined>();
  for (const path of PATHS) expected.set(path, await send('GET', path));
  const requests = Array.from({ length: COUNT }, (_, index) => {
    // The longest wait for memory one after the other.
    const isLongest = index % 200 === 0;
    const path = isLongest ? (PATHS[6 + ((index / 200) % 2)] as string) : (PATHS[index % 6] ?? '');
    return { path: index % 7 === 6 ? (PATHS[8 + (index % 3)] as string) : path, index };
  });
  const answers = await Promise.all(
    requests.map(async ({ path, index }) => {
      if (index % 10 === 3) return send('GET', path, {}, true);
      if (index % 10 === 5) {
        const headers = { 'if-none-match': expected.get(path)?.etag ?? '"none"' };
        const answer = await send('GET', path, headers);
        assert.equal(answer?.status, path.startsWith('notes?') ? 200 : 304);
        return answer?.status === 304 ? undefined : { path, answer };
      }
      if (index % 10 === 7) {
        const answer = await send('HEAD', path);
        assert.equal(answer?.status, 200);
        return undefined;
      }
      return { path, answer: await send('GET', path) };
    }),
  );
  for (const one of answers)
    if (one !== undefined && 'path' in one) assert.deepEqual(one.answer, expected.get(one.path));
});

test('an operation of a batch has the text', async () => {
  const operations = [
    { method: 'GET', entity: 'notes', id: 6 },
    { method: 'GET', entity: 'books', id: 1, query: 'expand=notes&notes.filter=id,lte,4' },
  ];
  const { json } = await workspace.call('_batch', { method: 'POST', body: { operations } });
  assert.equal(json.data[0].data.body, bodies[5]);
  assert.equal(json.data[1].data.notes[3].body, bodies[3]);
});
