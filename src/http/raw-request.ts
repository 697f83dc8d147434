// A request of the data API as a value: bytes and headers, the body read only when the handler asks for it, so that a
// refusal never waits for it.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { badRequest, payloadTooLarge, serviceUnavailable } from '../errors.ts';
import type { Credential } from '../model/credential.ts';
import type { Arriving, BodyRoom, LeaveRoom } from '../pace/body-room.ts';
import type { Turn, Turns } from '../pace/turns.ts';

export interface RawRequest {
  readonly id: string;
  /** When its head was read, on the clock of performance.now(). */
  readonly arrivedAt: number;
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  /** Raw query string, without `?`. */
  readonly query: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  /** What it proves its sender by. */
  readonly credential: Credential;
  /** The address of whoever has opened the connection; undefined when it is gone. */
  readonly address: string | undefined;
  /** The whole body; 413 beyond `maxBytes`, 400 when it stops arriving. */
  readonly body: (maxBytes: number) => Promise<Buffer>;
  /** The body as a stream, for imports. Errors when it is silent for too long. */
  readonly stream: () => Readable;
  /** The client that waits for the answer: work for a client that has left is not begun. */
  readonly caller: Caller;
  /** For work on the request that takes long, in pieces. */
  readonly turn: Turn;
}

export interface Caller {
  readonly isGone: () => boolean;
  /**
   * Calls `listener` once when the connection of the request closes; gives the function that takes the listener back.
   */
  readonly onGone: (listener: () => void) => () => void;
}

export interface RawRequestOptions {
  readonly id: string;
  readonly arrivedAt: number;
  /** Of a URL: whose request it is, among those who take turns. */
  readonly groupOf: (url: string) => string;
  readonly shared: SharedRooms;
}

/** What all requests of the server have together. */
export interface SharedRooms {
  readonly bodyTimeoutMs: number;
  readonly turns: Turns;
  readonly bodies: BodyRoom;
}

/** A class, as each request has one: closures in place of its methods took 1 µs. */
export class HttpRequest implements RawRequest, Caller {
  readonly id: string;
  readonly arrivedAt: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  readonly #message: IncomingMessage;
  readonly #groupOf: RawRequestOptions['groupOf'];
  readonly #shared: SharedRooms;
  #whole: Promise<Buffer> | undefined;
  #leaveRoom: LeaveRoom | undefined;
  #isDone = false;
  #limit = 0;

  constructor(message: IncomingMessage, { id, arrivedAt, groupOf, shared }: RawRequestOptions) {
    const url = message.url ?? '/';
    const at = url.indexOf('?');
    this.id = id;
    this.arrivedAt = arrivedAt;
    this.method = message.method ?? 'GET';
    this.path = at < 0 ? url : url.slice(0, at);
    this.query = at < 0 ? '' : url.slice(at + 1);
    this.headers = message.headers;
    this.#message = message;
    this.#groupOf = groupOf;
    this.#shared = shared;
  }

  get credential(): Credential {
    return this.headers.authorization;
  }

  get address(): string | undefined {
    return this.#message.socket.remoteAddress;
  }

  get caller(): Caller {
    return this;
  }

  get turn(): Turn {
    return this.#shared.turns(this.#group());
  }

  #group(): string {
    return this.#groupOf(this.#message.url ?? '/');
  }

  body(maxBytes: number): Promise<Buffer> {
    // A request that is planned again after a schema change reads its body again.
    if (this.#whole === undefined) {
      this.#whole = this.#readWhole(maxBytes);
      this.#limit = maxBytes;
      return this.#whole;
    }
    // It was read within another limit.
    return maxBytes >= this.#limit ? this.#whole : this.#whole.then((bytes) => bounded(bytes, maxBytes));
  }

  #readWhole(maxBytes: number): Promise<Buffer> {
    const told = this.#message.headers['content-length'];
    // A body that does not tell its length may become as long as it may be.
    const bytes = told === undefined ? maxBytes : Number(told);
    const { bodyTimeoutMs } = this.#shared;
    const limits = { maxBytes, timeoutMs: bodyTimeoutMs };
    if (bytes <= SHORT_BODY || bytes > maxBytes) return readBody(this.#message, limits);
    const arrival = new Arrival(bytes, bodyTimeoutMs);
    return this.#readInRoom(bytes, arrival, () => readBody(this.#message, limits, arrival));
  }

  async #readInRoom(bytes: number, arrival: Arrival, read: () => Promise<Buffer>): Promise<Buffer> {
    const leave = await this.#shared.bodies.take(this.#group(), bytes, arrival);
    // The answer may have been given meanwhile, to a client that has left.
    if (this.#isDone || this.isGone()) {
      leave();
      throw badRequest('The request body was cut off');
    }
    this.#leaveRoom = leave;
    return read();
  }

  /** The request is answered: nothing of its body is needed any more. */
  done(): void {
    this.#isDone = true;
    this.#leaveRoom?.();
  }

  /**
   * Reads what is left of the body of a request that is answered to nowhere, within bounds; then the connection ends. Gives
   * the end of that, undefined when nothing is left.
   */
  discardRest(): Promise<void> | undefined {
    const message = this.#message;
    if (message.complete || message.destroyed) return undefined;
    let bytes = 0;
    const timer = setTimeout(() => message.destroy(), MAX_DISCARD_MS);
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DISCARDED_BYTES) message.destroy();
    });
    message.on('error', ignore);
    message.resume();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      message.once('end', end);
      message.once('close', end);
    });
  }

  stream(): Readable {
    const message = this.#message;
    const { socket } = message;
    const onSilence = (): void => void message.destroy(new Error('the request body stopped arriving'));
    socket.setTimeout(this.#shared.bodyTimeoutMs, onSilence);
    message.once('close', () => {
      socket.setTimeout(0);
      socket.off('timeout', onSilence);
    });
    return message;
  }

  isGone(): boolean {
    return this.#message.socket.destroyed;
  }

  onGone(listener: () => void): () => void {
    const { socket } = this.#message;
    socket.once('close', listener);
    return () => void socket.off('close', listener);
  }
}

const ignore = (): void => undefined;

// What is still read of a body after its refusal, so that the client gets to read the answer: most clients look only
// when they have sent everything, and a closed connection makes them lose what they were sent.
const MAX_DISCARDED_BYTES = 67_108_864;
const MAX_DISCARD_MS = 5000;

// Bodies up to this length take no room worth counting: 1,000 of them are 64 MB.
const SHORT_BODY = 65_536;

// Bytes allocated for a body before its length is known.
const FIRST_BYTES = 4096;

// A body may begin slowly: the time before it can be late.
const GRACE_MS = 1000;

/** A long body on its way. It is late when at its pace it would not be whole in time. */
class Arrival implements Arriving {
  readonly #bytes: number;
  readonly #timeoutMs: number;
  #arrived = 0;
  #begunAt = 0;
  #refuse: ((error: Error) => void) | undefined;

  constructor(bytes: number, timeoutMs: number) {
    this.#bytes = bytes;
    this.#timeoutMs = timeoutMs;
  }

  begin(refuse: (error: Error) => void): void {
    this.#begunAt = performance.now();
    this.#refuse = refuse;
  }

  add(bytes: number): void {
    this.#arrived += bytes;
  }

  end(): void {
    this.#refuse = undefined;
  }

  isLate(): boolean {
    if (this.#refuse === undefined) return false;
    const time = performance.now() - this.#begunAt - GRACE_MS;
    return this.#arrived < (this.#bytes * time) / this.#timeoutMs;
  }

  cutOff(): void {
    this.#refuse?.(serviceUnavailable('The request body arrives too slowly while others wait for room; retry', 1));
  }
}

interface BodyLimits {
  readonly maxBytes: number;
  /** For all of it. */
  readonly timeoutMs: number;
}

function readBody(message: IncomingMessage, { maxBytes, timeoutMs }: BodyLimits, arrival?: Arrival): Promise<Buffer> {
  const told = Number(message.headers['content-length'] ?? 0);
  if (told > maxBytes) return Promise.reject(payloadTooLarge(maxBytes));
  // It closes only once: waiting for a request that was cut off before now would last until the timeout.
  if (message.destroyed && !message.readableEnded) return Promise.reject(badRequest('The request body was cut off'));
  return new Promise((resolve, reject) => {
    let bytes: Buffer | undefined;
    let size = 0;
    // Every message closes in the end: the error is made only when it is needed (10 µs, most of it the stack).
    const cutOff = (): void => finish(badRequest('The request body was cut off'));
    const timer = setTimeout(() => finish(badRequest('The request body stopped arriving')), timeoutMs);
    function finish(error: Error | undefined): void {
      clearTimeout(timer);
      arrival?.end();
      message.off('data', onData);
      message.off('error', cutOff);
      message.off('close', cutOff);
      // Nobody waits for the message any more, but an error of it must not end the process.
      message.on('error', ignore);
      if (error === undefined) resolve(bytes === undefined ? Buffer.alloc(0) : bytes.subarray(0, size));
      else reject(error);
    }
    function onData(chunk: Buffer): void {
      if (size + chunk.length > maxBytes) {
        finish(payloadTooLarge(maxBytes));
        return;
      }
      // Copied together: keeping a chunk of one byte takes 300 bytes.
      if (bytes === undefined && chunk.length >= told && told > 0) bytes = chunk;
      else {
        bytes = withRoom(bytes, size, size + chunk.length, Math.max(told, FIRST_BYTES));
        chunk.copy(bytes, size);
      }
      size += chunk.length;
      arrival?.add(chunk.length);
    }
    arrival?.begin(finish);
    message.on('data', onData);
    message.once('end', () => finish(undefined));
    message.once('error', cutOff);
    message.once('close', cutOff);
  });
}

function bounded(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  return bytes;
}

/** The bytes in a buffer with room for `needed` of them; it grows to twice the size each time. */
function withRoom(bytes: Buffer | undefined, size: number, needed: number, first: number): Buffer {
  if (bytes !== undefined && bytes.length >= needed) return bytes;
  const larger = Buffer.allocUnsafe(Math.max(needed, bytes === undefined ? first : bytes.length * 2));
  bytes?.copy(larger, 0, 0, size);
  return larger;
}
