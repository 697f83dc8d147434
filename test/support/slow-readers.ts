// Clients that ask for a large answer and read it as slowly as they like.
import { connect } from 'node:net';

export interface SlowReader {
  /** Status of its answer, or undefined while none has come. */
  readonly status: () => number | undefined;
  readonly isClosed: () => boolean;
  /** Reads at most so many bytes. */
  readonly read: (bytes: number) => void;
  readonly close: () => void;
}

/** Sends one GET; reads the status line, and no more than is asked for. */
export function openSlowReader(url: string, path: string, credential: string): SlowReader {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname });
  let status: number | undefined;
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
  });
  socket.on('readable', () => {
    if (status !== undefined) return;
    const head = socket.read(12) as Buffer | null;
    if (head !== null) status = Number(head.toString('latin1').slice(9));
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${credential}\r\n\r\n`);
  return {
    status: () => status,
    isClosed: () => isClosed || socket.readableEnded,
    read: (bytes) => void socket.read(bytes),
    close: () => void socket.destroy(),
  };
}
