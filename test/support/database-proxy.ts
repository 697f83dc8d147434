// A wire between a server and its PostgreSQL that can be cut, and that hears every statement on it.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestDatabase } from './database.ts';

export interface DatabaseProxy {
  /** The same database, reached through the wire. */
  readonly database: TestDatabase;
  /** Ends every connection and takes no more. */
  cut(): void;
  /** Takes no more connections, as a server that has as many as it may. */
  refuse(): void;
  /** Lets every connection be, and passes on nothing more on any of them. */
  freeze(): void;
  restore(): void;
  /** Holds back what comes with the next statement whose text has this part, and all that follows on its connection. */
  hold(part: string): HeldStatement;
  /**
   * Texts of the statements executed since the last call, and `close name of 1200` for a prepared one that is given up,
   * with how many its connection had.
   */
  statements(): string[];
  close(): Promise<void>;
}

interface HeldStatement {
  readonly isHeld: () => boolean;
  /** Passes it on, also when the server has given the connection up; resolves when the database has answered it. */
  readonly release: () => Promise<void>;
}

export async function openProxy(database: TestDatabase): Promise<DatabaseProxy> {
  const url = new URL(database.url);
  const folder = url.searchParams.get('host');
  const port = Number(url.port === '' ? 5432 : url.port);
  const target = folder?.startsWith('/')
    ? { path: `${folder}/.s.PGSQL.${port}` }
    : { host: folder ?? url.hostname, port };
  const sockets = new Set<Socket>();
  let isCut = false;
  let isFrozen = false;
  let heard: string[] = [];
  let wanted: { readonly part: string; readonly take: (backend: Socket, chunk: Buffer) => Buffer[] } | undefined;

  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const backend = connect(target as { host: string; port: number });
    let held: Buffer[] | undefined;
    const end = (): void => {
      client.destroy();
      if (held === undefined) backend.destroy();
    };
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    const listen = makeListener((text) => heard.push(text));
    client.on('data', (chunk: Buffer) => {
      if (isFrozen) return;
      listen(chunk);
      if (held !== undefined) held.push(chunk);
      else if (wanted !== undefined && chunk.includes(wanted.part)) {
        held = wanted.take(backend, chunk);
        wanted = undefined;
      } else backend.write(chunk);
    });
    backend.on('data', (chunk: Buffer) => {
      if (!isFrozen) client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url.host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  url.searchParams.delete('host');

  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    database: { ...database, url: url.href },
    cut() {
      isCut = true;
      hangUp();
    },
    refuse() {
      isCut = true;
    },
    freeze() {
      isFrozen = true;
    },
    restore() {
      // What was held back is lost: connections that live through it would have holes.
      if (isFrozen) hangUp();
      isFrozen = false;
      isCut = false;
    },
    hold(part) {
      let at: { readonly backend: Socket; readonly chunks: Buffer[] } | undefined;
      const take = (backend: Socket, chunk: Buffer): Buffer[] => {
        at = { backend, chunks: [chunk] };
        return at.chunks;
      };
      wanted = { part, take };
      return {
        isHeld: () => at !== undefined,
        async release() {
          if (at === undefined) throw new Error(`nobody sent ${part}`);
          const { backend, chunks } = at;
          const answered = once(backend, 'data');
          for (const chunk of chunks) backend.write(chunk);
          await answered;
          backend.destroy();
        },
      };
    },
    statements() {
      const all = heard;
      heard = [];
      return all;
    },
    async close() {
      hangUp();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows the messages of one client (PostgreSQL documentation, "Message Formats") and tells the statements it runs. */
function makeListener(onStatement: (text: string) => void): (chunk: Buffer) => void {
  const prepared = new Map<string, string>();
  let rest = Buffer.alloc(0);
  let started = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      const type = started ? String.fromCharCode(rest[0] as number) : '';
      const words = rest.toString('utf8', head + 4, end).split('\0');
      rest = rest.subarray(end);
      started = true;
      const closed = type === 'C' ? (words[0] ?? '').slice(1) : '';
      if (type === 'P') prepared.set(words[0] ?? '', words[1] ?? '');
      else if (type === 'C' && prepared.delete(closed)) onStatement(`close ${closed} of ${prepared.size + 1}`);
      else if (type === 'B') onStatement(prepared.get(words[1] ?? '') ?? '');
      else if (type === 'Q') onStatement(words[0] ?? '');
    }
  };
}
