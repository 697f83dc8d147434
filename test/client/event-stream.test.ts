// How the client reads an event stream: its messages, however they are cut, and connections that are silent or break.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Message, parseMessages, readMessages } from '../../client/src/event-stream.ts';
import { isWdaError } from '../../client/src/index.ts';

async function* give(...chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks;
}

const collect = <T>(items: AsyncIterable<T>): Promise<T[]> => Array.fromAsync(items);

const CASES: readonly (readonly [name: string, text: string, messages: readonly Message[]])[] = [
  ['nothing', '', []],
  ['a message', 'event: change\nid: c_1\ndata: {"a": 1}\n\n', [{ event: 'change', id: 'c_1', data: '{"a": 1}' }]],
  ['CR LF', 'event: change\r\ndata: 1\r\n\r\n', [{ event: 'change', data: '1' }]],
  [
    'no space after the colon, and one of two',
    'data:1\n\ndata:  2\n\n',
    [
      { event: 'message', data: '1' },
      { event: 'message', data: ' 2' },
    ],
  ],
  ['an id alone', 'id: c_2\n\n', [{ event: 'message', id: 'c_2' }]],
  ['a comment', ': \n\n', [{ event: 'message' }]],
  ['several lines of data', 'data: 1\ndata: 2\ndata\n\n', [{ event: 'message', data: '1\n2\n' }]],
  ['fields that are none of these', 'retry: 2000\nother: x\nid: c_3\n\n', [{ event: 'message', id: 'c_3' }]],
  ['a message that is cut off', 'data: 1\n\ndata: 2\n', [{ event: 'message', data: '1' }]],
  ['colons in values', 'data: {"a":"b: c"}\n\n', [{ event: 'message', data: '{"a":"b: c"}' }]],
];

for (const [name, text, messages] of CASES)
  test(`messages: ${name}`, async () => {
    assert.deepEqual(await collect(parseMessages(give(text))), messages);
    // Cut anywhere, they are the same.
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length)), async (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const chunks = places.slice(1).map((to, index) => text.slice(places[index], to));
        assert.deepEqual(await collect(parseMessages(give(...chunks))), messages);
      }),
    );
  });

const SOON = { first: 0.02, later: 0.02 };
const LATE = { first: 60, later: 60 };
const never = new Promise<void>(() => undefined);

/** A response body of chunks that ends as `last` does, and as those of `fetch` when its signal is aborted. */
function makeBody(chunks: readonly string[], last: () => Promise<void>) {
  let isAborted = false;
  let pulls = 0;
  const open = async (signal: AbortSignal) =>
    new ReadableStream<Uint8Array>(
      {
        start(controller) {
          signal.addEventListener('abort', () => {
            isAborted = true;
            controller.error(signal.reason);
          });
        },
        async pull(controller) {
          const chunk = chunks[pulls++];
          if (chunk !== undefined) return controller.enqueue(new TextEncoder().encode(chunk));
          await last();
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  return { open, pulls: () => pulls, isAborted: () => isAborted };
}

test('a server that says nothing, at first or later, is left', async () => {
  for (const chunks of [[], ['data: 1\n\n']]) {
    const { open } = makeBody(chunks, () => never);
    await assert.rejects(collect(readMessages(open, undefined, SOON)), (error) => isWdaError(error, 'UNREACHABLE'));
  }
  // Not even headers.
  const silent = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await assert.rejects(collect(readMessages(silent, undefined, SOON)), { code: 'UNREACHABLE' });
});

test('a connection that breaks is UNREACHABLE, whatever a runtime throws, and one that ends is an end', async () => {
  for (const thrown of [new TypeError('terminated'), new Error('ECONNRESET')]) {
    const { open } = makeBody(['data: 1\n\n'], () => Promise.reject(thrown));
    await assert.rejects(collect(readMessages(open, undefined, LATE)), { status: 0, code: 'UNREACHABLE' });
  }
  const { open } = makeBody(['data: ä'.slice(0, 6), 'ä\n\n'], async () => undefined);
  assert.deepEqual(await collect(readMessages(open, undefined, LATE)), [{ event: 'message', data: 'ä' }]);
  assert.deepEqual(await collect(readMessages(async () => null, undefined, LATE)), []);
});

test('what is not taken is not read, and a message that ends the iteration ends the connection', async () => {
  const { open, pulls, isAborted } = makeBody(
    Array.from({ length: 100 }, (_, n) => `data: ${n}\n\n`),
    () => never,
  );
  for await (const { data } of readMessages(open, undefined, { first: 5, later: 0.1 })) {
    // A consumer that takes its time is no silence of the server.
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.ok(pulls() < 10, `${pulls()} of 100`);
    if (data === '3') break;
  }
  assert.ok(isAborted());
});

test('a signal ends it with its reason', async () => {
  const ended = new AbortController();
  const { open } = makeBody([], () => never);
  const reading = collect(readMessages(open, ended.signal, LATE));
  setTimeout(() => ended.abort(new Error('enough')), 10);
  await assert.rejects(reading, /enough/);
  await assert.rejects(collect(readMessages(open, ended.signal, LATE)), /enough/);
});
