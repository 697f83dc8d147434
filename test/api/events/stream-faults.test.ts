// What happens to those who follow a stream when its server is killed, and to a server whose streams nobody reads. Followers are
// the client, and somebody else's reader of event streams.
import assert from 'node:assert/strict';
import { type IncomingMessage, request as sendRequest } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventSource } from 'eventsource';
import { createClient, isWdaError } from '../../../client/src/index.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { openSwitch } from '../../support/tcp-proxy.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() =>
  server.workspace('acme/followed', {
    entities: {
      notes: { fields: { n: { type: 'integer' } }, settings: { changes: 'feed' } },
      bulky: { fields: { n: { type: 'integer' }, text: { type: 'text' } }, settings: { changes: 'feed' } },
    },
  }),
);

let tokenOf: TokenOf;
prepare(async () => {
  tokenOf = await makeUsers(shop, issuer);
});

interface Shape {
  notes: {
    row: { id: number; n: number | null };
    create: { n?: number | null };
    update: { n?: number | null };
    relations: Record<never, never>;
  };
}

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

const count = (most: number): number[] => Array.from({ length: most }, (_, n) => n);

test('servers are killed and started again: readers have each event once, in order', {
  timeout: 180_000,
}, async (t) => {
  let killed: ServerProcess = await startServerProcess({ DATABASE_URL: server.database.url });
  const proxy = await openSwitch(portOf(killed));
  const ended = new AbortController();
  const numbers: number[] = [];
  const url = `http://127.0.0.1:${proxy.port}`;
  const client = createClient<Shape>({ url, workspace: shop.path, credential: shop.key });
  const watch = client.entity('notes').watch({ signal: ended.signal });
  const following = (async () => {
    for await (const event of watch) if (event.type === 'created') numbers.push(event.record.n as number);
  })().catch((error) => {
    if (!ended.signal.aborted) throw error;
  });

  const foreign: number[] = [];
  const ends: string[] = [];
  const refusals: (number | undefined)[] = [];
  let isReady = false;
  let source: EventSource;
  const openSource = (after = ''): void => {
    let cursor = after;
    source = new EventSource(`${url}/api/v1/${shop.path}/notes/_changes${after === '' ? '' : `?after=${after}`}`, {
      fetch: (input, init) =>
        fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${shop.key}` } }),
    });
    source.addEventListener('change', ({ data, lastEventId }) => {
      cursor = lastEventId;
      foreign.push(JSON.parse(data).record.n);
    });
    source.addEventListener('caught-up', ({ lastEventId }) => {
      cursor = lastEventId;
      isReady = true;
    });
    source.addEventListener('end', ({ data }) => ends.push(JSON.parse(data).code));
    // A reader of event streams connects again by itself, but after an answer that is no stream, as 503, it is closed for good.
    source.addEventListener('error', ({ code, target }) => {
      if ((target as EventSource).readyState !== EventSource.CLOSED || ended.signal.aborted) return;
      refusals.push(code);
      setTimeout(openSource, 1000, cursor);
    });
  };
  openSource();
  t.after(async () => {
    ended.abort();
    source.close();
    await following;
    await proxy.close();
    await killed.stop();
  });

  let next = 0;
  const writeSome = async (most: number): Promise<void> => {
    for (const until = next + most; next < until; next++) await shop.create('notes', [{ n: next }]);
  };
  const state = () => `both have a place; ready: ${isReady}, refusals: ${refusals}, cursor: ${watch.cursor}`;
  await until(state, () => isReady && watch.cursor !== undefined);
  await writeSome(5);
  // Killed while they follow, and while others write.
  for (let kills = 0; kills < 2; kills++) {
    const writing = writeSome(20);
    await killed.kill();
    await writing;
    killed = await startServerProcess({ DATABASE_URL: server.database.url });
    proxy.to(portOf(killed), false);
    await until('all of before', () => numbers.length === next && foreign.length === next);
  }
  // The connections are cut, and another process answers.
  proxy.to(portOf(server), true);
  await writeSome(5);
  await until('all from the other process', () => numbers.length === next && foreign.length === next);
  // One that stops says so, and the next one goes on.
  proxy.to(portOf(killed), true);
  await writeSome(5);
  await until('all again', () => numbers.length === next && foreign.length === next);
  proxy.to(portOf(server), false);
  await killed.stop();
  await writeSome(5);
  await until('all at last', () => numbers.length === next && foreign.length === next);
  assert.deepEqual(ends, ['SHUTTING_DOWN']);
  assert.deepEqual([numbers, foreign], [count(next), count(next)]);
});

test('tokens expire: a client that renews them has each event once, another one ends', {
  timeout: 300_000,
}, async (t) => {
  const ended = new AbortController();
  t.after(() => ended.abort());
  let renewals = 0;
  const follow = (credential: string | (() => string)) =>
    createClient<Shape>({ url: server.url, workspace: shop.path, credential })
      .entity('notes')
      .watch({ signal: ended.signal });
  const makeToken = (): string => tokenOf({ sub: 'ann', exp: Math.floor(Date.now() / 1000) + 8 });
  const renewing = follow(() => {
    renewals++;
    return makeToken();
  });
  const once = follow(makeToken());
  const seen: (number | null)[] = [];
  const following = (async () => {
    for await (const event of renewing) {
      if (event.type === 'created') seen.push(event.record.n);
      if (event.type === 'created' && event.record.n === null) return;
    }
  })();
  const ending = assert.rejects(Array.fromAsync(once), (error) => isWdaError(error, 'UNAUTHORIZED'));
  await until('both have a place', () => renewing.cursor !== undefined && once.cursor !== undefined);
  let written = 0;
  while (renewals < 2) {
    await shop.create('notes', [{ n: written++ }]);
    await sleep(20);
  }
  await shop.create('notes', [{ n: null }]);
  await Promise.all([following, ending]);
  assert.deepEqual(seen, [...count(written), null]);
});

test('a server whose streams nobody reads keeps its memory, and they go on', { timeout: 180_000 }, async (t) => {
  const STREAMS = 40;
  const RECORDS = 60;
  for (const n of count(RECORDS)) await shop.create('bulky', [{ n, text: 'x'.repeat(200_000) }]);
  // All that is sent to them would be twice of what it may have.
  const small = await startServerProcess({
    DATABASE_URL: server.database.url,
    WDA_STREAMS_PER_CREDENTIAL: '100',
    NODE_OPTIONS: '--max-old-space-size=200',
  });
  const responses: IncomingMessage[] = [];
  t.after(async () => {
    for (const one of responses) one.destroy();
    await small.stop();
  });
  for (const _ of count(STREAMS)) {
    const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${shop.key}` };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const path = `${small.url}/api/v1/${shop.path}/bulky/_changes?after=oldest`;
      sendRequest(path, { headers, agent: false }, resolve).on('error', reject).end();
    });
    assert.equal(response.statusCode, 200);
    response.pause();
    responses.push(response);
  }
  for (const response of [responses[0], responses.at(-1)] as IncomingMessage[]) {
    const numbers: number[] = [];
    response.setEncoding('utf8');
    let rest = '';
    for await (const chunk of response) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: {"id"')) numbers.push(JSON.parse(line.slice(6)).record.n);
      if (numbers.length === RECORDS) break;
    }
    assert.deepEqual(numbers, count(RECORDS));
  }
  assert.equal(small.child.exitCode, null);
});
