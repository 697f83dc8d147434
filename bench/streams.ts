// Many event streams of one entity on one server: the memory and the processor time that they take, at rest and with one
// event a second for all, and the time from a write to its event at a stream.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from './load.ts';
import { call, type RunningServer, readMemory, readProcessorTime } from './setup.ts';

type StreamOptions = {
  readonly streams: number;
  readonly seconds: number;
  /** Path of the entity, without its feed. */
  readonly path: string;
  readonly key: string;
};

type Stream = { readonly socket: Socket; events: number; arrivedAt: number; tail: string };

// Streams that are opened at once.
const OPENED_AT_ONCE = 100;
const EVENT = 'event: change';
const WRITES_A_SECOND = 1000;

/** Returns rows of a table: what is measured, and its figures. */
export async function measureStreams(server: RunningServer, options: StreamOptions): Promise<string[][]> {
  const { path, key, seconds } = options;
  const readMegabytes = () => readMemory(server.pid)?.now ?? Number.NaN;
  const readMilliseconds = () => (readProcessorTime(server.pid) ?? Number.NaN) / 1000;
  const write = (index: number) => call(server, key, 'POST', path, { status: 'open', total: index, customerId: 1 });
  await write(0);
  const before = readMegabytes();
  const streams: Stream[] = [];
  while (streams.length < options.streams) {
    const count = Math.min(OPENED_AT_ONCE, options.streams - streams.length);
    streams.push(...(await Promise.all(Array.from({ length: count }, () => open(server.port, path, key)))));
  }
  try {
    await sleep(2000);
    const opened = readMegabytes();
    const idle = await measureFor(seconds, readMilliseconds, () => sleep(seconds * 1000));
    // Times of the first and of the last stream.
    const first: number[] = [];
    const last: number[] = [];
    const busy = await measureFor(seconds, readMilliseconds, async () => {
      for (let index = 0; index < seconds; index++) {
        const next = sleep(1000);
        const counts = streams.map(({ events }) => events + 1);
        const started = performance.now();
        await write(index);
        await waitFor(() => streams.every(({ events }, at) => events >= (counts[at] ?? 0)));
        const times = streams.map(({ arrivedAt }) => arrivedAt - started).sort((a, b) => a - b);
        first.push(times[0] ?? Number.NaN);
        last.push(times.at(-1) ?? Number.NaN);
        await next;
      }
    });
    const most = readMegabytes();
    const some = (times: number[], share: number) =>
      percentile(
        times.sort((a, b) => a - b),
        share,
      ).toFixed(0);
    return [
      [
        `memory of the server: without streams, with ${options.streams}`,
        `${before.toFixed(0)} MB, ${most.toFixed(0)} MB`,
      ],
      ['memory of the server when they were opened', `${opened.toFixed(0)} MB`],
      ['processor time a second at rest', `${idle.toFixed(0)} ms`],
      ['processor time of one event for all', `${(busy - idle).toFixed(0)} ms`],
      ['from the write to the first stream: median, longest', `${some(first, 0.5)} ms, ${some(first, 1)} ms`],
      ['from the write to the last stream: median, longest', `${some(last, 0.5)} ms, ${some(last, 1)} ms`],
    ];
  } finally {
    for (const { socket } of streams) socket.destroy();
  }
}

/** Times from writes to their events at one stream, one after the other and while others write. */
export async function measureLatency(
  server: RunningServer,
  { path, key, seconds }: StreamOptions,
  writeMany: (perSecond: number, seconds: number) => Promise<unknown>,
): Promise<string[][]> {
  const measureOne = async (stream: Stream, isOver: () => boolean): Promise<string> => {
    const times: number[] = [];
    while (!isOver()) {
      const text = `mark ${times.length}`;
      const started = performance.now();
      stream.tail = '';
      await call(server, key, 'POST', path, { status: 'open', total: 1, note: text, customerId: 1 });
      const answered = performance.now();
      await waitFor(() => stream.tail.includes(`"${text}"`));
      times.push(Math.max(stream.arrivedAt, answered) - started);
      await sleep(50);
    }
    times.sort((a, b) => a - b);
    return `${percentile(times, 0.5).toFixed(0)} ms, ${percentile(times, 0.99).toFixed(0)} ms`;
  };
  const stream = await open(server.port, path, key);
  try {
    const end = performance.now() + seconds * 1000;
    const idle = await measureOne(stream, () => performance.now() > end);
    let isOver = false;
    const writing = writeMany(WRITES_A_SECOND, seconds).finally(() => {
      isOver = true;
    });
    const busy = await measureOne(stream, () => isOver);
    await writing;
    return [
      ['from the write to its event: median, 99 of 100', idle],
      [`the same under ${WRITES_A_SECOND} writes a second`, busy],
    ];
  } finally {
    stream.socket.destroy();
  }
}

async function measureFor(seconds: number, read: () => number, work: () => Promise<unknown>): Promise<number> {
  const before = read();
  await work();
  return (read() - before) / seconds;
}

async function waitFor(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(1);
}

/** Opens a stream, and resolves when it has all. */
function open(port: number, path: string, key: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const stream: Stream = { socket, events: 0, arrivedAt: 0, tail: '' };
    const headers = [`GET ${path}/_changes HTTP/1.1`, 'Host: bench', `Authorization: Bearer ${key}`];
    socket.setEncoding('latin1').on('error', reject);
    socket.write(`${[...headers, 'Accept: text/event-stream'].join('\r\n')}\r\n\r\n`);
    socket.on('data', (text: string) => {
      stream.arrivedAt = performance.now();
      stream.events += text.split(EVENT).length - 1;
      stream.tail = (stream.tail + text).slice(-65_536);
      if (text.includes('caught-up')) resolve(stream);
      else if (/^HTTP\/1.1 [45]/.test(text)) reject(new Error(text));
    });
  });
}
