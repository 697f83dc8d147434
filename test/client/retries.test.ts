// What is sent again, and that it is done once all the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, isWdaError } from '../../client/src/index.ts';
import { holdAt, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use } from '../support/resources.ts';
import { useDemo, watchedFetch } from './demo.ts';

const demo = useDemo();
const COUNTED = { entities: { notes: { fields: { text: { type: 'string' }, count: { type: 'string' } } } } };
const notes = use(() => demo.server.workspace('demo/notes', COUNTED));
prepare(() => prepareHolds(demo.server.database));

const refusal = (status: number, code: string, retryAfterSeconds?: number): Response =>
  Response.json({ error: { code, message: code }, retryAfterSeconds }, { status });

/** Answers the first requests in this way, and lets the server answer the others. */
const first = (times: number, answer: () => Response | Promise<Response>) =>
  watchedFetch((_, index) => (index < times ? answer() : undefined));

const lost = (): never => {
  throw new TypeError('fetch failed');
};

test('a refusal that passes is waited for, two times', async () => {
  for (const answer of [() => refusal(503, 'SERVICE_UNAVAILABLE', 0.01), () => refusal(429, 'RATE_LIMITED', 0.01)]) {
    const { fetch, requests } = first(2, answer);
    await demo.client({ fetch }).entity('tags').list();
    await demo
      .client({ fetch: first(2, answer).fetch })
      .entity('tags')
      .query();
    assert.equal(requests.length, 3);
    await assert.rejects(
      demo
        .client({ fetch: first(3, answer).fetch })
        .entity('tags')
        .list(),
      (error) => isWdaError(error) && error.retryAfterSeconds === 0.01,
    );
    await assert.rejects(
      demo
        .client({ fetch: first(1, answer).fetch, retries: 0 })
        .entity('tags')
        .list(),
    );
    await assert.rejects(
      demo
        .client({ fetch: first(1, answer).fetch })
        .entity('tags')
        .list({}, { retries: 0 }),
    );
  }
});

test('the wait is that of the server', async () => {
  const { fetch } = first(1, () => refusal(503, 'SERVICE_UNAVAILABLE', 0.3));
  const begin = Date.now();
  await demo.client({ fetch }).entity('tags').list();
  // At least: a timer never comes before its time, but for the last millisecond.
  assert.ok(Date.now() - begin >= 299);
});

test('what cannot pass is not sent again', async () => {
  for (const [status, code] of [
    [400, 'BAD_REQUEST'],
    [503, 'QUERY_TIMEOUT'],
    [500, 'INTERNAL_ERROR'],
  ] as const) {
    const { fetch, requests } = first(1, () => refusal(status, code, 0.01));
    await assert.rejects(demo.client({ fetch }).entity('tags').list(), { code });
    assert.equal(requests.length, 1);
  }
});

test('a write whose answer is lost is sent again with its key, and done once', async () => {
  let isLost = false;
  const { fetch, requests } = watchedFetch(async (request) => {
    if (isLost) return undefined;
    isLost = true;
    await globalThis.fetch(request.clone());
    return lost();
  });
  const tags = demo.client({ fetch }).entity('tags');
  const { data } = await tags.create({ name: 'once' });
  assert.equal(requests.length, 2);
  assert.match(requests[0]?.headers.get('idempotency-key') ?? '', /^\d+(-\d+){3}$/);
  assert.equal(requests[0]?.headers.get('idempotency-key'), requests[1]?.headers.get('idempotency-key'));
  assert.deepEqual((await tags.list({ filter: { name: 'once' } })).data, [data]);
  await tags.delete(data.id);
});

test('a key of the caller makes a repeated call the same one', async () => {
  const tags = demo.client().entity('tags');
  const idempotencyKey = 'order-66';
  const made = [
    await tags.create({ name: 'keyed' }, { idempotencyKey }),
    await tags.create({ name: 'keyed' }, { idempotencyKey }),
  ];
  assert.equal(made[0]?.data.id, made[1]?.data.id);
  assert.deepEqual(
    made.map(({ replayed }) => replayed),
    [false, true],
  );
  const [id = 0] = made.map(({ data }) => data.id);
  const records = [{ id, name: 'keyed anew' }];
  for (const replayed of [false, true]) {
    const changed = await tags.updateMany(records, { idempotencyKey: 'order-67', return: 'minimal' });
    assert.deepEqual([changed.data, changed.replayed], [[{ id }], replayed]);
    const request = demo
      .client()
      .request('PATCH', `tags/${id}`, { body: { name: 'keyed last' }, idempotencyKey: 'order-68' });
    assert.equal((await request).replayed, replayed);
  }
  await assert.rejects(tags.create({ name: 'other' }, { idempotencyKey }), { code: 'IDEMPOTENCY_KEY_REUSED' });
});

test('a write without a key, and a stream, are sent once', async () => {
  const answer = (): Response => refusal(503, 'SERVICE_UNAVAILABLE', 0.01);
  const keyless = first(1, answer);
  await assert.rejects(demo.client({ fetch: keyless.fetch, retries: 0 }).entity('tags').create({ name: 'x' }));
  await assert.rejects(demo.client({ fetch: first(1, answer).fetch }).request('POST', 'tags', { body: { name: 'x' } }));
  const streamed = first(1, answer);
  const file = new Blob(['name\nx\n']);
  await assert.rejects(demo.client({ fetch: streamed.fetch }).entity('tags').import(file.stream(), { format: 'csv' }));
  assert.equal(streamed.requests.length, 1);
  const { fetch, requests } = first(1, answer);
  assert.equal((await demo.client({ fetch }).entity('tags').import(file, { format: 'csv' })).inserted, 1);
  assert.equal(requests.length, 2);
});

test('a signal ends a request, and a wait', async () => {
  const waiting = watchedFetch(() => refusal(503, 'SERVICE_UNAVAILABLE', 30));
  const tags = demo.client({ fetch: waiting.fetch }).entity('tags');
  const ended = new AbortController();
  const answer = tags.list({}, { signal: ended.signal });
  setTimeout(() => ended.abort(new Error('enough')), 20);
  await assert.rejects(answer, /enough/);
  assert.equal(waiting.requests.length, 1);
  await assert.rejects(demo.client().entity('tags').list({}, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('twenty clients that change one record at once lose no change', async () => {
  const client = () => demo.client().entity('orderItems');
  const { data } = await client().create({ quantity: 1, price: 1, orderId: 1, productId: 1 });
  const add = async (): Promise<void> => {
    try {
      await client().modify(data.id, ({ quantity }) => ({ quantity: quantity + 1 }));
    } catch (error) {
      // Five times others were faster: it was not done, and the caller may ask again.
      if (!isWdaError(error, 'PRECONDITION_FAILED')) throw error;
      await add();
    }
  };
  await Promise.all(Array.from({ length: 20 }, add));
  assert.equal((await client().read(data.id)).data.quantity, 21);
});

test('modify changes nothing without the version of what it has read', async () => {
  const { fetch, requests } = watchedFetch(async (request) => {
    const answer = await globalThis.fetch(request);
    return new Response(answer.body, { status: answer.status });
  });
  const tags = demo.client({ fetch }).entity('tags');
  await assert.rejects(
    tags.modify(1, () => ({ name: 'x' })),
    /The answer has no ETag/,
  );
  assert.equal(requests.length, 1);
});

test('modify gives up after five times, and passes on what its function throws', async () => {
  const tags = demo.client().entity('tags');
  let turns = 0;
  const change = tags.modify(1, async ({ name }) => {
    await tags.update(1, { name: `${name}${++turns}` });
    return { name };
  });
  await assert.rejects(change, { code: 'PRECONDITION_FAILED' });
  assert.equal(turns, 5);
  await assert.rejects(
    tags.modify(1, () => Promise.reject(new Error('no'))),
    /no/,
  );
});

interface Notes {
  notes: {
    row: { id: number; text: string | null; count: number | null };
    create: { text?: string | null; count?: number | null };
    update: Partial<Notes['notes']['create']>;
    relations: Record<never, never>;
  };
}

test('calls wait for a blocking migration, and succeed', async () => {
  await notes.create('notes', [{ text: 'a', count: '1' }]);
  const schema = structuredClone(COUNTED);
  schema.entities.notes.fields.count.type = 'integer';
  const held = await holdAt(demo.server.database, { kind: 'ddl', like: '%alter column "count%type %using%' }, () =>
    notes.admin('schema?strategy=blocking&wait=0', { method: 'PUT', body: schema }),
  );
  const client = (ask: typeof fetch = fetch, retries = 2) =>
    createClient<Notes>({
      url: demo.server.url,
      workspace: notes.path,
      credential: notes.key,
      fetch: ask,
      retries,
    }).entity('notes');
  await assert.rejects(client(fetch, 0).list(), (error) => {
    assert.ok(isWdaError(error, 'SCHEMA_MIGRATION_IN_PROGRESS'));
    assert.ok((error.retryAfterSeconds ?? 0) > 0);
    assert.deepEqual([error.blocksReads, error.blocksWrites], [true, true]);
    return true;
  });
  // Each has been refused once when the migration goes on.
  const statuses: number[] = [];
  const watched: typeof fetch = async (...request) => {
    const answer = await fetch(...request);
    statuses.push(answer.status);
    if (statuses.length === 2) await held.release();
    return answer;
  };
  const [made, found] = await Promise.all([client(watched, 10).create({ count: 2 }), client(watched, 10).read(1)]);
  assert.deepEqual([made.data.count, found.data.count], [2, 1]);
  assert.deepEqual(statuses.slice(0, 2), [503, 503]);
});
