// A proxy of TCP connections whose other end can be changed, as that in front of a cluster of databases.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Switch {
  readonly port: number;
  /** From now on connections go there. `cut`: those that are open end. */
  to(port: number, cut: boolean): void;
  close(): Promise<void>;
}

/** Listens on a free port of this machine; connections go to another one of it. */
export async function openSwitch(port: number): Promise<Switch> {
  let target = port;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const backend = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    to(next, cut) {
      target = next;
      if (cut) cutAll();
    },
    async close() {
      server.close();
      cutAll();
    },
  };
}
