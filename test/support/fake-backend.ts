// A PostgreSQL that speaks just enough of the protocol to be connected to, and that may end a connection in the very
// bytes that open it, which a real one does too seldom for a test.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface FakeBackend {
  readonly port: number;
  /** Connections so far. */
  readonly connections: () => number;
  close(): Promise<void>;
}

const message = (type: string, body: Buffer): Buffer => {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 0, 'latin1');
  bytes.writeInt32BE(4 + body.length, 1);
  body.copy(bytes, 5);
  return bytes;
};

const number = (value: number, size: 2 | 4): Buffer => {
  const bytes = Buffer.alloc(size);
  bytes.writeIntBE(value, 0, size);
  return bytes;
};

const text = (value: string): Buffer => Buffer.from(`${value}\0`);

const READY = message('Z', Buffer.from('I'));
const AUTHENTICATED = message('R', number(0, 4));

const failure = (severity: string, state: string, words: string): Buffer => {
  const fields = [`S${severity}`, `V${severity}`, `C${state}`, `M${words}`].map(text);
  return message('E', Buffer.concat([...fields, Buffer.from([0])]));
};

const fatal = (): Buffer => failure('FATAL', '57P01', 'terminating connection due to administrator command');
const stopped = (): Buffer => failure('ERROR', '57014', 'canceling statement due to statement timeout');

/** One row of columns as text. */
function row(values: readonly (string | null)[]): Buffer {
  const cells = values.map((value) =>
    value === null ? number(-1, 4) : Buffer.concat([number(Buffer.byteLength(value), 4), Buffer.from(value)]),
  );
  return message('D', Buffer.concat([number(values.length, 2), ...cells]));
}

function description(columns: number): Buffer {
  const one = Buffer.concat([
    text('c'),
    number(0, 4),
    number(0, 2),
    number(25, 4),
    number(-1, 2),
    number(-1, 4),
    number(0, 2),
  ]);
  return message('T', Buffer.concat([number(columns, 2), ...Array.from({ length: columns }, () => one)]));
}

/** What the options of a start-up message ask for. */
function settingsOf(startup: string): Record<string, string> {
  const pairs = startup.matchAll(/-c (\w+)=((?:\\ |[^\s\0])+)/g);
  return Object.fromEntries([...pairs].map(([, name, value]) => [name, (value as string).replaceAll('\\ ', ' ')]));
}

export interface FakeOptions {
  /** How many of the first connections end in the bytes that open them. */
  readonly deadOnArrival: number;
  /** What it says of its settings instead of what it was asked for. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly isStandby?: boolean;
  readonly isReadOnly?: boolean;
  /** True for statements that it stops with an error, and does not go on after. */
  readonly sticksAt?: (statement: string) => boolean;
  /** For statements that it ends with an error: after how many milliseconds it goes on. */
  readonly failsAt?: (statement: string) => { readonly state: string; readonly restMs: number } | undefined;
  /** The answer to every statement: one row. */
  readonly answer: (statement: string) => readonly (string | null)[];
}

/** Listens on a free port of this machine. */
export async function startFakeBackend(options: FakeOptions): Promise<FakeBackend> {
  const { deadOnArrival, answer, sticksAt = () => false, isStandby = false, isReadOnly = false } = options;
  const { failsAt = () => undefined } = options;
  let opened = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let started = false;
    let isStuck = false;
    let isResting = false;
    let rest: Buffer = Buffer.alloc(0);
    let parsed = '';
    let settings: Record<string, string> = {};
    const rowOf = (statement: string): readonly (string | null)[] =>
      statement.includes('pg_backend_pid')
        ? ['1', String(isStandby), isReadOnly ? 'on' : 'off', JSON.stringify({ ...settings, ...options.settings })]
        : answer(statement);
    const read = (): void => {
      while (!isResting) {
        const header = started ? 1 : 0;
        if (rest.length < header + 4) return;
        const length = rest.readInt32BE(header) + header;
        if (rest.length < length) return;
        const type = started ? String.fromCharCode(rest[0] as number) : 'startup';
        const body = rest.subarray(header + 4, length);
        rest = rest.subarray(length);
        if (isStuck) continue;
        if (type === 'startup') {
          started = true;
          settings = settingsOf(body.toString());
          opened++;
          const hello = [AUTHENTICATED, message('K', Buffer.concat([number(opened, 4), number(1, 4)])), READY];
          if (opened > deadOnArrival) socket.write(Buffer.concat(hello));
          else socket.end(Buffer.concat([...hello, fatal()]));
        } else if (type === 'P') {
          parsed = body.toString().split('\0')[1] ?? '';
          socket.write(message('1', Buffer.alloc(0)));
        } else if (type === 'B') socket.write(message('2', Buffer.alloc(0)));
        else if (type === 'C') socket.write(message('3', Buffer.alloc(0)));
        else if (type === 'D') socket.write(description(rowOf(parsed).length));
        else if (type === 'E' && sticksAt(parsed)) {
          isStuck = true;
          socket.write(stopped());
        } else if (type === 'E' && failsAt(parsed) !== undefined) {
          const { state, restMs } = failsAt(parsed) as { state: string; restMs: number };
          socket.write(failure('ERROR', state, 'it has failed'));
          isResting = true;
          setTimeout(() => {
            isResting = false;
            read();
          }, restMs);
        } else if (type === 'E') socket.write(Buffer.concat([row(rowOf(parsed)), message('C', text('SELECT 1'))]));
        else if (type === 'S') socket.write(READY);
        else if (type === 'Q') {
          const values = rowOf(body.toString());
          socket.write(Buffer.concat([description(values.length), row(values), message('C', text('SELECT 1')), READY]));
        } else if (type === 'X') socket.end();
      }
    };
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      read();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => opened,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
