// Live events in the client: by a stream, which is opened again where it ended, and by long polls where none arrives.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type FeedPage, isWdaError, type LostPlace } from '../../client/src/index.ts';
import { prepare, useServer } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';
import { useDemo, watchedFetch } from './demo.ts';

const demo = useDemo();
const streamless = useServer({ WDA_MAX_STREAMS: '0' }, demo.server);

const keepChanges = async (entity: string, changes = 'feed'): Promise<void> => {
  const { status } = await demo.workspace.admin(`entities/${entity}/settings`, { method: 'PUT', body: { changes } });
  assert.equal(status, 200);
};
prepare(async () => {
  for (const entity of ['orders', 'customers', 'tags']) await keepChanges(entity);
});

const isStream = ({ headers }: Request): boolean => headers.get('accept') === 'text/event-stream';

/** Counts requests for streams and for pages. */
const count = (requests: readonly Request[]): { streams: number; pages: number } => {
  const streams = requests.filter(isStream).length;
  return { streams, pages: requests.length - streams };
};

/** Answers a request for a stream as the server does, with the body changed. */
const change = async (request: Request, transform: TransformStream<Uint8Array, Uint8Array>): Promise<Response> => {
  const answer = await fetch(request);
  return new Response(answer.body?.pipeThrough(transform), answer);
};

// A test that fails leaves no watch that runs.
const lastEnd = new AbortController();
const { signal } = lastEnd;
after(() => lastEnd.abort());

const tags = () => demo.client().entity('tags');

/** Returns the names of the tags that were created after the cursor. */
async function namesAfter(cursor: string | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const { data } of tags().changes({ after: cursor }))
    for (const event of data) if (event.type === 'created') names.push(event.record.name);
  return names;
}

/** Watches tags, creating the next one whenever one was told, until there are as many; returns their names. */
async function relay(client: ReturnType<typeof demo.client>, prefix: string, most: number) {
  const ended = new AbortController();
  const watch = client.entity('tags').watch({ signal: AbortSignal.any([ended.signal, signal]) });
  const names: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const event of watch) {
      if (event.type !== 'created') continue;
      names.push(event.record.name);
      if (names.length === most) ended.abort();
      else await tags().create({ name: `${prefix} ${names.length}` });
    }
  };
  const following = follow();
  await until('a place', () => watch.cursor !== undefined);
  await tags().create({ name: `${prefix} 0` });
  await assert.rejects(following, { name: 'AbortError' });
  assert.deepEqual(await namesAfter(watch.cursor), []);
  return names;
}

const getNames = (prefix: string, most: number): string[] =>
  Array.from({ length: most }, (_, index) => `${prefix} ${index}`);

test('a stream gives events as they happen, over one connection, which ends with the iteration', {
  timeout: 300_000,
}, async () => {
  const { fetch, requests } = watchedFetch();
  assert.deepEqual(await relay(demo.client({ fetch }), 'live', 20), getNames('live', 20));
  assert.deepEqual(count(requests), { streams: 1, pages: 0 });
  await until('closed', async () => /^wda_streams 0$/m.test(await demo.server.metrics()));
});

test('a cursor is that after the events that are worked off, and an iteration goes on there', {
  timeout: 300_000,
}, async () => {
  const watch = tags().watch({ after: 'oldest', signal });
  const names: string[] = [];
  for (const most of [3, 5])
    for await (const event of watch) {
      if (event.type !== 'created') continue;
      names.push(event.record.name);
      assert.deepEqual((await namesAfter(watch.cursor))[0], event.record.name);
      if (names.length === most) break;
    }
  assert.deepEqual(names, ['live 0', 'live 1', 'live 2', 'live 2', 'live 3']);
});

/** Ends a stream in the middle of its second event. */
function cutSecond(): TransformStream<Uint8Array, Uint8Array> {
  let events = 0;
  return new TransformStream({
    transform(chunk, controller) {
      events += new TextDecoder().decode(chunk).split('"type":"created"').length - 1;
      controller.enqueue(events < 2 ? chunk : chunk.subarray(0, -20));
      if (events >= 2) controller.terminate();
    },
  });
}

test('connections that break are followed by others, without a gap and without a repeat', {
  timeout: 300_000,
}, async () => {
  let opened = 0;
  const { fetch, requests } = watchedFetch((request) => {
    if (!isStream(request)) return undefined;
    if (++opened === 2) throw new TypeError('fetch failed');
    return opened === 1 ? change(request, cutSecond()) : undefined;
  });
  assert.deepEqual(await relay(demo.client({ fetch }), 'cut', 4), getNames('cut', 4));
  // After a stream that did not arrive there are two pages, then a stream again.
  assert.equal(count(requests).streams >= 3, true, JSON.stringify(count(requests)));
  assert.ok(count(requests).pages >= 2);
});

const NO_STREAMS: readonly (readonly [name: string, answer: (request: Request) => Response | undefined])[] = [
  ['a proxy that answers itself', () => new Response('', { status: 200 })],
  ['too many streams', () => Response.json({ error: { code: 'RATE_LIMITED', message: 'no' } }, { status: 429 })],
];

for (const [name, answer] of NO_STREAMS)
  test(`events come by pages where no stream arrives: ${name}`, { timeout: 300_000 }, async () => {
    const { fetch, requests } = watchedFetch((request) => (isStream(request) ? answer(request) : undefined));
    assert.deepEqual(await relay(demo.client({ fetch }), name, 3), getNames(name, 3));
    assert.ok(count(requests).streams >= 1);
  });

test('a server without streams is read by pages', { timeout: 300_000 }, async () => {
  const client = demo.client({ url: streamless.url });
  assert.deepEqual(await relay(client, 'streamless', 3), getNames('streamless', 3));
});

const end = (code: string): Response => {
  const text = `event: caught-up\nid: c_1\ndata: {}\n\nevent: end\ndata: ${JSON.stringify({ code, message: code })}\n\n`;
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
};

test('an end that a new connection mends is hidden, and the credential asked for again', {
  timeout: 300_000,
}, async () => {
  const codes = ['TOKEN_EXPIRED', 'TOO_SLOW', 'SHUTTING_DOWN'];
  let credentials = 0;
  const { fetch, requests } = watchedFetch((_, index) => {
    const code = codes[index];
    return code === undefined ? new Response('{}', { status: 400 }) : end(code);
  });
  const credential = () => `${demo.workspace.key}${credentials++}`;
  const watch = demo.client({ fetch, credential }).entity('tags').watch({ signal });
  await assert.rejects(Array.fromAsync(watch), { status: 400 });
  assert.deepEqual(
    requests.map(({ url, headers }) => [new URL(url).searchParams.get('after'), headers.get('authorization')]),
    [null, 'c_1', 'c_1', 'c_1'].map((after, index) => [after, `Bearer ${demo.workspace.key}${index}`]),
  );
});

test('a place that is lost is a reset, and what follows comes', { timeout: 300_000 }, async () => {
  const { value: start } = await tags().changes()[Symbol.asyncIterator]().next();
  const { cursor } = start as FeedPage<unknown>;
  await tags().create({ name: 'gone' });
  // Numbers the change.
  await namesAfter(cursor);
  const [workspace] = await demo.server.database.query(`select database_schema as name from wda.workspace`);
  const schema = `"${workspace?.name}"`;
  await demo.server.database.query(
    `update ${schema}."$change_progress" set expired = (select max(pos) from ${schema}."$change_position")`,
  );
  const watch = tags().watch({ after: cursor, signal });
  const seen: unknown[] = [];
  for await (const event of watch) {
    if (event.type === 'created') {
      seen.push(event.record.name);
      break;
    }
    assert.equal(event.type, 'reset');
    seen.push((event as LostPlace).reason);
    // Not before the events that follow have been taken: another process that goes on from here is told, too.
    assert.equal(watch.cursor, cursor);
    await tags().create({ name: 'read again' });
  }
  assert.deepEqual(seen, ['CURSOR_EXPIRED', 'read again']);
  await assert.rejects(tags().watch({ after: 'c_x' })[Symbol.asyncIterator]().next(), { status: 400 });
});

test('a workspace is followed over one connection: other entities are a reset, and no entity an error', {
  timeout: 300_000,
}, async () => {
  const { fetch, requests } = watchedFetch();
  const shop = demo.client({ fetch });
  const seen: string[] = [];
  const everything = shop.watch({ signal });
  const customers = shop.watch({ entities: ['customers'], signal });
  const all = (async () => {
    for await (const event of everything) {
      if (event.type === 'reset') {
        seen.push(event.reason);
        await shop.entity('products').create({ sku: 'W-1', title: 'Watched', price: 1 });
      } else if (event.type === 'created') {
        seen.push(event.entity === 'products' ? event.record.title : event.entity);
        if (event.entity === 'products') break;
      }
    }
  })();
  const some = (async () => {
    for await (const event of customers) if (event.type === 'created') seen.push(event.record.name);
  })();
  await until('two places', () => everything.cursor !== undefined && customers.cursor !== undefined);
  await tags().create({ name: 'one of several' });
  await until('told', () => seen.length === 1);
  await keepChanges('products');
  await all;
  assert.deepEqual(seen, ['tags', 'VIEW_CHANGED', 'Watched']);
  await keepChanges('customers', 'off');
  await assert.rejects(some, (error) => isWdaError(error, 'CHANGES_OFF'));
  await keepChanges('customers');
  assert.equal(count(requests).streams, 4);
});

test('a key that is revoked ends it with a 401', { timeout: 300_000 }, async () => {
  const body = { name: 'short', permissions: 'READ_ONLY' };
  const { data } = (await demo.workspace.admin('api-keys', { method: 'POST', body })).json;
  const watch = demo.client({ credential: data.key }).entity('tags').watch({ signal });
  const following = Array.fromAsync(watch);
  await until('a place', () => watch.cursor !== undefined);
  assert.equal((await demo.workspace.admin(`api-keys/${data.id}`, { method: 'DELETE' })).status, 204);
  await assert.rejects(following, (error) => isWdaError(error, 'UNAUTHORIZED'));
});
