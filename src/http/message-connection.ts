// Connections on which messages are sent as they come. Node.js keeps parser, request and response of a connection until its
// response ends: 14 kB, where a socket alone takes 5 kB. So the socket of a long response is taken from them, as that of an
// upgrade is.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { LAST_CHUNK, type MessageSink, readChunk } from '../response/chunk.ts';
import type { MessagesBody } from '../response/reply.ts';

/**
 * Ends the HTTP of a request and frees its parser, before anything of its response is written. Returns the socket without
 * listeners, or undefined where answers before this one are not sent yet, a body is still being read, or the client does
 * not know chunks (HTTP/1.0).
 */
export function detachSocket(message: IncomingMessage, response: ServerResponse): Socket | undefined {
  const { socket } = message;
  // The listener by which Node.js cleans up after a connection that was closed.
  const freeParser = socket.listeners('close').find(({ name }) => name === 'bound socketOnClose');
  const isFirst = response.socket === socket && !response.headersSent;
  if (!isFirst || !message.complete || message.httpVersion !== '1.1' || freeParser === undefined) return undefined;
  response.emit('finish');
  freeParser.call(socket, false);
  // The time of a connection that waits for its next request.
  socket.removeAllListeners().setTimeout(0);
  return socket;
}

interface MessagesReply {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: MessagesBody;
  /** The socket, if it was detached from the response. */
  readonly socket: Socket | undefined;
}

/** Writes the head, and starts the messages. */
export function startMessages(response: ServerResponse, { status, headers, body, socket }: MessagesReply): void {
  if (socket !== undefined) {
    writeHead(socket, status, headers);
    body.start(new MessageConnection(socket));
    return;
  }
  response.writeHead(status, headers as string[]);
  response.flushHeaders();
  body.start(new MessageConnection(response.req.socket, response));
}

function writeHead(socket: Socket, status: number, headers: readonly string[]): void {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  lines.push(`Date: ${new Date().toUTCString()}`, 'Transfer-Encoding: chunked');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const ignore = (): void => undefined;

/** A class, as there are ten thousand at once. */
export class MessageConnection implements MessageSink {
  readonly #socket: Socket;
  /** The response, or undefined where the socket was detached. */
  readonly #response: ServerResponse | undefined;
  #listener: (() => void) | undefined;

  /** Sends to a socket that was detached, or to a response that cannot be; the head is written. */
  constructor(socket: Socket, response?: ServerResponse) {
    this.#socket = socket;
    this.#response = response;
    const notify = (): void => this.#listener?.();
    socket.on('close', notify);
    (response ?? socket).on('error', ignore).on('drain', notify);
    // Bytes that the client still sends are dropped.
    if (response === undefined) socket.on('data', ignore).resume();
  }

  send(chunk: Uint8Array): boolean {
    if (this.isClosed()) return false;
    return this.#response === undefined ? this.#socket.write(chunk) : this.#response.write(readChunk(chunk));
  }

  isFull(): boolean {
    return (this.#response ?? this.#socket).writableNeedDrain;
  }

  isClosed(): boolean {
    return this.#socket.destroyed || (this.#response ?? this.#socket).writableEnded;
  }

  onDrain(listener: (() => void) | undefined): void {
    this.#listener = listener;
  }

  end(): void {
    if (this.isClosed()) return;
    if (this.#response === undefined) {
      this.#socket.write(LAST_CHUNK);
      this.#socket.destroySoon();
    } else this.#response.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  onClose(listener: () => void): void {
    this.#socket.on('close', listener);
  }
}
