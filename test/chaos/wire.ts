// The network between server and database: it can be cut, fall silent, be slow, and pass on a few bytes at a time. What
// it holds back it passes on afterwards, as TCP does.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Weather =
  | { readonly kind: 'clear' }
  /** Connections end, and no new ones come about. */
  | { readonly kind: 'cut' }
  /** Nothing is passed on, and nobody is told. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'slow'; readonly milliseconds: number }
  | { readonly kind: 'drip'; readonly bytes: number };

export interface Wire {
  readonly port: number;
  set(weather: Weather): void;
  /** Ends this share of the connections, the oldest first. */
  break(share: number): void;
  close(): Promise<void>;
}

// More than this is not taken in while it cannot be passed on.
const MAX_HELD_BYTES = 1_000_000;
const DRIP_MS = 5;

/** A wire to a port of this machine. */
export async function makeWire(target: number): Promise<Wire> {
  let weather: Weather = { kind: 'clear' };
  const pumps = new Set<() => void>();
  const sockets = new Set<Socket>();

  /** Passes on what comes from one side, as the weather lets it. */
  function pass(from: Socket, to: Socket): void {
    let held: { bytes: Buffer; due: number }[] = [];
    let size = 0;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const again = (milliseconds: number): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        pump();
      }, milliseconds);
    };
    const send = (bytes: Buffer): void => {
      size -= bytes.length;
      if (!to.destroyed) to.write(bytes);
    };
    function pump(): void {
      if (weather.kind === 'silent') return;
      if (weather.kind === 'drip' && held[0] !== undefined) {
        const first = held[0];
        send(first.bytes.subarray(0, weather.bytes));
        first.bytes = first.bytes.subarray(weather.bytes);
        if (first.bytes.length === 0) held.shift();
        again(DRIP_MS);
        return;
      }
      const now = performance.now();
      while (held[0] !== undefined && (weather.kind !== 'slow' || held[0].due <= now)) {
        send((held.shift() as { bytes: Buffer }).bytes);
      }
      if (held[0] !== undefined) again(Math.max(1, held[0].due - now));
      if (size < MAX_HELD_BYTES) from.resume();
      if (held.length === 0 && isOver) to.end();
    }
    from.on('data', (bytes: Buffer) => {
      const delay = weather.kind === 'slow' ? weather.milliseconds : 0;
      held.push({ bytes, due: performance.now() + delay });
      size += bytes.length;
      if (size >= MAX_HELD_BYTES) from.pause();
      pump();
    });
    from.on('end', () => {
      isOver = true;
      pump();
    });
    pumps.add(pump);
    from.on('close', () => {
      pumps.delete(pump);
      clearTimeout(timer);
      held = [];
      to.destroy();
    });
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (weather.kind === 'cut') {
      client.destroy();
      return;
    }
    const backend = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }
    pass(client, backend);
    pass(backend, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hangUp = (share: number): void => {
    const all = [...sockets];
    for (const socket of all.slice(0, Math.ceil(all.length * share))) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      weather = next;
      if (next.kind === 'cut') hangUp(1);
      for (const pump of [...pumps]) pump();
    },
    break: hangUp,
    async close() {
      hangUp(1);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
