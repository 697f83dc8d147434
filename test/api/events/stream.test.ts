// The live stream of changes, read by fetch: its form, where it goes on, how it ends, and its limits.
import assert from 'node:assert/strict';
import { type IncomingMessage, request as sendRequest } from 'node:http';
import { after, describe, test } from 'node:test';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { startTestServer, type TestClient } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const FEED = { changes: 'feed' } as const;
const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'text' }, owner: { type: 'string' } },
      rowRules: [{ column: 'owner', claim: 'sub' }],
      settings: FEED,
    },
    tags: { fields: { name: { type: 'string' } }, settings: FEED },
    bulky: { fields: { n: { type: 'integer' }, text: { type: 'text' } }, settings: FEED },
  },
};

const issuer = useIssuer();
const server = useServer({ ...LOCAL_PROVIDER, WDA_STREAM_HEARTBEAT_SECONDS: '1', WDA_STREAMS_PER_CREDENTIAL: '20' });
const other = useServer({ ...LOCAL_PROVIDER }, server);
const shop = use(() => server.workspace('acme/live', SCHEMA));
let tokenOf: TokenOf;

prepare(async () => {
  tokenOf = await makeUsers(shop, issuer);
});

interface Message {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the server
  readonly data: any;
}

interface Stream {
  readonly response: Response;
  readonly messages: Message[];
  /** All lines, also those of no message. */
  readonly lines: string[];
  readonly isEnded: () => boolean;
  readonly close: () => void;
  readonly next: (event: string, count?: number) => Promise<Message>;
}

const streams: Stream[] = [];
after(() => {
  for (const { close } of streams) close();
});

interface Opening {
  readonly credential?: string;
  readonly on?: Pick<TestClient, 'url'>;
  readonly lastEventId?: string;
  readonly accept?: string;
}

const open = (
  path: string,
  { credential = shop.key, on = server, lastEventId, accept }: Opening,
  signal: AbortSignal,
) =>
  fetch(`${on.url}/api/v1/${shop.path}/${path}`, {
    signal,
    headers: {
      Accept: accept ?? 'text/event-stream, application/json',
      Authorization: `Bearer ${credential}`,
      ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
    },
  });

/** Reads a stream as the HTML standard says. */
async function listen(path: string, opening: Opening = {}): Promise<Stream> {
  const abort = new AbortController();
  const response = await open(path, opening, abort.signal);
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.text());
  const messages: Message[] = [];
  const lines: string[] = [];
  let isEnded = false;
  async function read(): Promise<void> {
    let rest = '';
    let part: { event: string; id?: string; data?: string } = { event: 'message' };
    for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        if (line !== '') {
          const [, name = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
          assert.ok(['', 'retry', 'event', 'id', 'data'].includes(name), line);
          assert.ok(name !== 'data' || part.data === undefined, 'one line of data');
          part = { ...part, [name]: value };
          continue;
        }
        if (part.data !== undefined) messages.push({ event: part.event, id: part.id, data: JSON.parse(part.data) });
        part = { event: 'message' };
      }
    }
  }
  void read()
    .catch(() => undefined)
    .finally(() => {
      isEnded = true;
    });
  const find = (event: string) => messages.filter((message) => message.event === event);
  const stream: Stream = {
    response,
    messages,
    lines,
    isEnded: () => isEnded,
    close: () => abort.abort(),
    async next(event, count = 1) {
      await until(`${count} of ${event}`, () => find(event).length >= count);
      return find(event)[count - 1] as Message;
    },
  };
  streams.push(stream);
  return stream;
}

async function write(body: object, entity = 'notes'): Promise<number> {
  const { status, text, json } = await shop.call(entity, { method: 'POST', body });
  assert.equal(status, 201, text);
  return json.data.id;
}

describe('a stream', () => {
  test('has its headers, says when a reader has everything, and sends what happens afterwards', async () => {
    const stream = await listen('notes/_changes');
    const { headers } = stream.response;
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-accel-buffering'), 'no');
    const { id, data } = await stream.next('caught-up');
    assert.equal(stream.lines[0], 'retry: 2000');
    assert.equal(data.cursor, id);
    const recordId = await write({ text: 'a\nb' });
    const change = await stream.next('change');
    assert.equal(change.data.type, 'created');
    assert.deepEqual(change.data.record, { id: recordId, text: 'a\nb', owner: null });
    // The same event as in a page, and the id is the cursor after it.
    const page = await shop.call(`notes/_changes?after=${id}`);
    assert.deepEqual(page.json.data, [change.data]);
    assert.deepEqual((await shop.call(`notes/_changes?after=${change.id}`)).json.data, []);
    stream.close();
  });

  test('has the writes of another process and of SQL, and several entities in one order', async () => {
    const stream = await listen('_changes?entities=notes,tags', { on: other });
    await stream.next('caught-up');
    await write({ text: 'one' });
    await write({ name: 'two' }, 'tags');
    await server.database.query(`insert into ${await schemaOf()}.tags (name) values ('three')`);
    await stream.next('change', 3);
    const texts = stream.messages.flatMap(({ data }) => (data.record ? [data.record.text ?? data.record.name] : []));
    assert.deepEqual(texts, ['one', 'two', 'three']);
    stream.close();
  });

  test('goes on after Last-Event-ID, which wins over after, at another process, without a gap and without a repeat', async () => {
    const first = await listen('notes/_changes');
    await first.next('caught-up');
    await write({ text: '1' });
    await write({ text: '2' });
    const { id } = await first.next('change');
    first.close();
    await write({ text: '3' });
    const second = await listen('notes/_changes?after=oldest', { on: other, lastEventId: String(id) });
    await write({ text: '4' });
    await second.next('change', 3);
    const texts = second.messages.filter(({ event }) => event === 'change').map(({ data }) => data.record.text);
    assert.deepEqual(texts, ['2', '3', '4']);
    second.close();
  });

  test('sends something at least every heartbeat, and moves the id where events of others have passed', async () => {
    const stream = await listen('notes/_changes', { credential: tokenOf({ sub: 'ann' }) });
    await stream.next('caught-up');
    await until('a comment', () => stream.lines.includes(': '));
    const count = stream.lines.length;
    await write({ text: 'hidden', owner: 'bo' });
    await until('an id', () => stream.lines.slice(count).some((line) => line.startsWith('id: ')));
    const moved = stream.lines.findLast((line) => line.startsWith('id: '))?.slice('id: '.length);
    const { json } = await shop.call(`notes/_changes?after=${moved}`, { credential: tokenOf({ sub: 'ann' }) });
    assert.deepEqual(json.data, []);
    assert.equal(stream.messages.filter(({ event }) => event === 'change').length, 0);
    stream.close();
  });

  test('shows each user what enters and leaves the own view', async () => {
    const stream = await listen('notes/_changes', { credential: tokenOf({ sub: 'cleo' }) });
    await stream.next('caught-up');
    const id = await write({ text: 'given', owner: 'cleo' });
    await write({ text: 'of another one', owner: 'dan' });
    await shop.call(`notes/${id}`, { method: 'PATCH', body: { owner: 'dan' } });
    await stream.next('change', 2);
    const events = stream.messages
      .filter(({ event }) => event === 'change')
      .map(({ data }) => [data.type, data.recordId]);
    assert.deepEqual(events, [
      ['created', id],
      ['removed', id],
    ]);
    stream.close();
  });
});

const schemaOf = async (): Promise<string> => {
  const [row] = await server.database.query(`select database_schema as name from wda.workspace where slug = 'live'`);
  return `"${row?.name}"`;
};

describe('a client that reads nothing', () => {
  test('costs no more than a buffer, and misses nothing afterwards', async () => {
    const COUNT = 60;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${shop.key}` };
      sendRequest(`${server.url}/api/v1/${shop.path}/bulky/_changes`, { headers }, resolve).on('error', reject).end();
    });
    response.pause();
    // The second has the same view and credential as the one that does not read.
    const others = [await listen('bulky/_changes?fields=n'), await listen('bulky/_changes')];
    await Promise.all(others.map((stream) => stream.next('caught-up')));
    for (let n = 0; n < COUNT; n++) await write({ n, text: 'x'.repeat(200_000) }, 'bulky');
    // Others are not delayed.
    for (const stream of others) await stream.next('change', COUNT);
    for (const stream of others) stream.close();
    const numbers: number[] = [];
    response.setEncoding('utf8');
    let rest = '';
    for await (const chunk of response) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: {"id"')) numbers.push(JSON.parse(line.slice(6)).record.n);
      if (numbers.length === COUNT) break;
    }
    assert.deepEqual(
      numbers,
      Array.from({ length: COUNT }, (_, n) => n),
    );
  });
});

describe('a stream ends', () => {
  test('when its key is revoked', async () => {
    const body = { name: 'short', permissions: 'READ_ONLY' };
    const { data } = (await shop.admin('api-keys', { method: 'POST', body })).json;
    const opening = { credential: data.key, on: other };
    const stream = await listen('notes/_changes', opening);
    const second = await listen('notes/_changes', opening);
    await Promise.all([stream.next('caught-up'), second.next('caught-up')]);
    assert.equal((await shop.admin(`api-keys/${data.id}`, { method: 'DELETE' })).status, 204);
    await write({ text: 'after the end' });
    assert.equal((await stream.next('end')).data.code, 'CREDENTIAL_REVOKED');
    assert.equal((await second.next('end')).data.code, 'CREDENTIAL_REVOKED');
    await until('closed', () => stream.isEnded() && second.isEnded());
    assert.match(await other.metrics(), /^wda_streams_ended_total\{code="CREDENTIAL_REVOKED"\} 2$/m);
    assert.deepEqual(
      stream.messages.map(({ event }) => event),
      ['caught-up', 'end'],
    );
  });

  test('when its token expires', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3;
    const stream = await listen('notes/_changes', { credential: tokenOf({ sub: 'eve', exp }) });
    assert.equal((await stream.next('end')).data.code, 'TOKEN_EXPIRED');
    await until('closed', stream.isEnded);
  });

  test('when the rules of its view change, before any event of another view', async () => {
    const stream = await listen('notes/_changes', { credential: tokenOf({ sub: 'flo' }), on: other });
    const owner = await listen('notes/_changes');
    await Promise.all([stream.next('caught-up'), owner.next('caught-up')]);
    const changed = await shop.admin('entities/notes/row-rules', { method: 'PUT', body: [] });
    assert.ok(changed.status < 300, changed.text);
    await write({ text: 'of another view', owner: 'gus' });
    assert.equal((await stream.next('end')).data.code, 'VIEW_CHANGED');
    assert.equal(
      stream.messages.some(({ event }) => event === 'change'),
      false,
    );
    // Nothing has changed for the owner.
    assert.equal((await owner.next('change')).data.record.text, 'of another view');
    owner.close();
  });

  test('when its entity keeps changes no longer', async () => {
    const stream = await listen('tags/_changes');
    await stream.next('caught-up');
    const off = await shop.admin('entities/tags/settings', { method: 'PUT', body: { changes: 'off' } });
    assert.equal(off.status, 200, off.text);
    assert.equal((await stream.next('end')).data.code, 'CHANGES_OFF');
    const on = await shop.admin('entities/tags/settings', { method: 'PUT', body: { changes: 'feed' } });
    assert.equal(on.status, 200, on.text);
  });

  test('when the server stops', async () => {
    const third = await startTestServer(LOCAL_PROVIDER, server.database);
    const stream = await listen('notes/_changes', { on: third });
    await stream.next('caught-up');
    await third.stop();
    assert.equal((await stream.next('end')).data.code, 'SHUTTING_DOWN');
    await until('closed', stream.isEnded);
  });
});

describe('refused', () => {
  const REFUSED: readonly (readonly [path: string, opening: Opening, status: number, code: string])[] = [
    ['notes/_changes?size=5', {}, 400, 'BAD_REQUEST'],
    ['notes/_changes?wait=5', {}, 400, 'BAD_REQUEST'],
    ['notes/_changes?tpyes=created', {}, 400, 'BAD_REQUEST'],
    ['notes/_changes', { lastEventId: 'c_nothing' }, 400, 'BAD_REQUEST'],
    ['nothing/_changes', {}, 404, 'NOT_FOUND'],
    ['notes/_changes', { credential: 'wda_nothing' }, 401, 'UNAUTHORIZED'],
  ];
  for (const [path, opening, status, code] of REFUSED) {
    test(`${path} ${JSON.stringify(opening)}: ${status}`, async () => {
      const answer = await open(path, opening, new AbortController().signal);
      const text = await answer.text();
      assert.equal(answer.status, status, text);
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(JSON.parse(text).error.code, code);
    });
  }

  test('a page is answered where the stream is not the first that is accepted', async () => {
    const answer = await open(
      'notes/_changes',
      { accept: 'application/json, text/event-stream' },
      AbortSignal.timeout(60_000),
    );
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    await answer.text();
  });

  test('more streams and waiting polls than a credential may have, while ordinary requests go on', async () => {
    const credential = tokenOf({ sub: 'hal' });
    const held = [await listen('tags/_changes', { credential }), await listen('tags/_changes', { credential })];
    await Promise.all(held.map((stream) => stream.next('caught-up')));
    const third = await open('tags/_changes', { credential }, AbortSignal.timeout(60_000));
    assert.equal(third.status, 429);
    assert.equal(third.headers.get('retry-after'), '5');
    await third.text();
    const poll = await shop.call('tags/_changes?wait=5', { credential });
    assert.equal(poll.status, 429, poll.text);
    assert.equal((await shop.call('tags/_changes', { credential })).status, 200);
    for (const { close } of held) close();
    await until('free again', async () => {
      const again = await open('tags/_changes', { credential }, AbortSignal.timeout(60_000));
      await again.body?.cancel();
      return again.status === 200;
    });
  });

  test('all streams where a server has none', async () => {
    const none = await startTestServer({ ...LOCAL_PROVIDER, WDA_MAX_STREAMS: '0' }, server.database);
    const answer = await open('notes/_changes', { on: none }, AbortSignal.timeout(60_000));
    assert.equal(answer.status, 503);
    await answer.text();
    await none.stop();
  });
});
