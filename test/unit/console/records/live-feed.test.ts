import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { ApiError } from '../../../../console/src/api/api-error.ts';
import { LiveFeed } from '../../../../console/src/records/live-feed.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const CAUGHT_UP = 'event: caught-up\nid: c_1\ndata: {}\n\n';
const CHANGE = 'event: change\nid: c_2\ndata: {"id":"e"}\n\n';
const endOf = (code: string) => `event: end\ndata: {"code":"${code}","message":"Because."}\n\n`;

const stream = (...texts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(bytes(text));
      controller.close();
    },
  });

/** A stream from which nothing comes until it is aborted, as fetch does. */
const silent = (signal: AbortSignal) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      signal.addEventListener('abort', () => controller.error(new DOMException('aborted', 'AbortError')));
    },
  });

const refusal = (status: number, code: string, retryAfterSeconds?: number) =>
  new ApiError('No.', { status, code, retryAfterSeconds });

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Runs a feed whose connections are these, one after the other; the last one stays open. */
async function follow(connections: readonly (ReadableStream<Uint8Array> | ApiError | 'silent')[]) {
  mock.timers.enable({ apis: ['setTimeout'] });
  const controller = new AbortController();
  const [cursors, events, states]: [unknown[], string[], string[]] = [[], [], []];
  let starts = 0;
  const feed = new LiveFeed({
    async open(cursor, signal) {
      cursors.push(cursor);
      const connection = connections[cursors.length - 1] ?? 'silent';
      if (connection === 'silent') return silent(signal);
      if (connection instanceof ApiError) throw connection;
      return connection;
    },
    onEvent: (name, data) => void events.push(`${name} ${data}`),
    onStart: () => void starts++,
  });
  feed.subscribe(() => {
    const state = feed.state();
    states.push(state.kind === 'notLive' ? `notLive: ${state.reason}` : state.kind);
  });
  let isOver = false;
  void feed.run(controller.signal).then(() => {
    isOver = true;
  });
  // A second of the feed's clock for each turn, as pauses are between 0.5 and 60 s.
  for (let second = 0; second < 200 && cursors.length <= connections.length && !isOver; second++) {
    await settled();
    mock.timers.tick(1000);
  }
  controller.abort();
  // A timer of these that is cleared later would take one of the next test with it.
  await settled();
  mock.timers.reset();
  return { cursors, events, states, starts, isOver };
}

test('events come in order, and a new connection goes on behind the last one', async () => {
  for (const broken of [stream(CAUGHT_UP, CHANGE), stream(CAUGHT_UP + CHANGE, endOf('SHUTTING_DOWN'))]) {
    const { cursors, events, states, starts } = await follow([broken]);
    assert.deepEqual(cursors, [undefined, 'c_2']);
    assert.deepEqual(events, ['change {"id":"e"}']);
    assert.deepEqual(states, ['live', 'connecting']);
    assert.equal(starts, 1);
  }
});

test('without a place to go on from the records are read again', async () => {
  for (const lost of [
    [stream(CAUGHT_UP, endOf('VIEW_CHANGED'))],
    [stream(CAUGHT_UP), refusal(410, 'CURSOR_EXPIRED')],
  ]) {
    const { cursors, starts } = await follow([...lost, stream(CAUGHT_UP)]);
    assert.deepEqual(cursors.at(lost.length), undefined);
    assert.equal(starts, 2);
  }
});

test('what passes is tried again and told, what stays is told once', async () => {
  const passing = await follow([refusal(429, 'RATE_LIMITED', 5), stream(CAUGHT_UP)]);
  assert.deepEqual(passing.states.slice(0, 2), ['notLive: No', 'live']);
  for (const last of [refusal(409, 'CHANGES_UNAVAILABLE'), refusal(403, 'FORBIDDEN')]) {
    const { isOver, states } = await follow([last, stream(CAUGHT_UP)]);
    assert.deepEqual([isOver, states], [true, ['notLive: No']]);
  }
  const off = await follow([stream(CAUGHT_UP, endOf('CHANGES_OFF')), stream(CAUGHT_UP)]);
  assert.deepEqual([off.isOver, off.states], [true, ['live', 'notLive: Because']]);
});

test('a stream from which nothing comes is given up, and tried again', async () => {
  const { states, cursors } = await follow(['silent', stream(CAUGHT_UP)]);
  assert.deepEqual(states.slice(0, 2), ['notLive: No events arrive; a proxy may hold them back', 'live']);
  assert.deepEqual(cursors.slice(0, 2), [undefined, undefined]);
});
