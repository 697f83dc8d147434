// Bounds the requests of one connection that are in work at once (HTTP/1.1 pipelining, RFC 9112 section 9.3.2). Node.js emits
// each request as soon as it is read: 60 connections with 2,000 pipelined requests each held up all workspaces for seconds, also
// after they had been closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getCurrentRound } from '../limits/fair-scheduler.ts';
import { detachSocket } from './message-connection.ts';

export type StartRequest = (message: IncomingMessage, response: ServerResponse) => void;

export interface Pipelining {
  /**
   * Takes a new connection: when many come at once, they are read in turns. One whose client sends no more is closed when
   * it gets nothing for a second.
   */
  readonly accept: (socket: Socket) => void;
  /** Starts a request now, or when one before it on its connection is over; drops it when the connection is to close. */
  readonly add: (message: IncomingMessage, response: ServerResponse) => void;
  /** Ends a request that was started, and starts the next of its connection. */
  readonly end: (message: IncomingMessage) => void;
  /**
   * Ends the HTTP of a request that is the only one of its connection, which takes no other one. Returns the socket, or
   * undefined where it cannot be taken from Node.js.
   */
  readonly detach: (message: IncomingMessage, response: ServerResponse) => Socket | undefined;
  /** Closes all connections that were detached. */
  readonly closeDetached: () => void;
  /** True for the newest request of its connection that was started. */
  readonly isNewest: (message: IncomingMessage) => boolean;
  /** Calls the first listener of a connection when its requests are over, but for one whose body is incomplete. */
  readonly onIdle: (socket: Socket, listener: () => void) => void;
}

// Clients that pipeline send some ten requests at once.
const MAX_STARTED = 16;
// One read takes up to 64 KiB, which are some 650 short requests and 4 ms. New connections beyond these in one round of the
// event loop, and those that had more requests than may be started, are read one by one, each in its round.
const MAX_NEW_PER_ROUND = 2;

/** A socket with the state of its connection: a WeakMap in place of the member took 1 % of the throughput. */
type OwnSocket = Socket & { [STATE]?: Connection | undefined };

const STATE = Symbol('state of the connection');

// The end of a request stream is that of a client that still reads its answers, or that of one that is gone: the first answer
// shows which. A statement of a client that is gone runs for this long, as many clients leave when the next request replaces it.
const HALF_OPEN_MS = 1000;

interface Connection {
  started: number;
  newest: IncomingMessage | undefined;
  /** The newest request that was read. */
  last: IncomingMessage | undefined;
  onIdle: (() => void) | undefined;
  omitsStacks: boolean;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
}

/** Pauses after Node.js has resumed the connection, which it does in the tick after a request or a connection. */
function pauseLater(pause: () => void): void {
  process.nextTick(() => process.nextTick(pause));
}

/**
 * Closes a connection with many requests without a stack for each. Node.js makes an error for every request that was read, which
 * has no listener: with stacks those of 60 connections that were reset at once took 0.3 s.
 */
function omitStacksAtClose(socket: Socket, connection: Connection): void {
  if (connection.omitsStacks) return;
  connection.omitsStacks = true;
  const { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => {
    Error.stackTraceLimit = 0;
  });
  // The listener of Node.js is between these two.
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}

function isIdle({ started, last, waiting }: Connection): boolean {
  return waiting.length === 0 && started <= (last?.complete === false ? 1 : 0);
}

/** Closes a half-open connection that waits for its server while nothing is sent. */
function closeWhenSilent(this: Socket): void {
  let { bytesWritten } = this;
  const timer = setInterval(() => {
    if (this.writableLength === 0 && this.bytesWritten === bytesWritten) this.destroy();
    if (this.destroyed) clearInterval(timer);
    ({ bytesWritten } = this);
  }, HALF_OPEN_MS);
  timer.unref();
}

/**
 * Makes the bound. `start`: starts a request, which ends by `end`. Requests of a closed connection are dropped. While
 * `isClosing`, a connection takes no request besides those that were started, and closes when all of them are answered.
 */
export function makePipelining(start: StartRequest, isClosing: () => boolean): Pipelining {
  const pausedSockets: Socket[] = [];
  const detached = new Set<Socket>();
  let round = -1;
  let newInRound = 0;

  function getConnection(socket: OwnSocket): Connection {
    socket[STATE] ??= {
      started: 0,
      newest: undefined,
      last: undefined,
      onIdle: undefined,
      omitsStacks: false,
      waiting: [],
    };
    return socket[STATE];
  }

  function forget(this: Socket): void {
    detached.delete(this);
  }

  function resumeInTurn(socket: Socket): void {
    if (pausedSockets.length === 0) setImmediate(resumeNext);
    pausedSockets.push(socket);
  }

  function resumeNext(): void {
    pausedSockets.shift()?.resume();
    if (pausedSockets.length > 0) setImmediate(resumeNext);
  }

  return {
    accept(socket) {
      socket.once('end', closeWhenSilent);
      const current = getCurrentRound();
      if (current !== round) {
        round = current;
        newInRound = 0;
      }
      if (++newInRound <= MAX_NEW_PER_ROUND) return;
      pauseLater(() => {
        socket.pause();
        resumeInTurn(socket);
      });
    },
    add(message, response) {
      const { socket } = message;
      const connection = getConnection(socket);
      if (isClosing() && connection.started > 0) {
        message.resume();
        return;
      }
      connection.last = message;
      if (connection.started < MAX_STARTED) {
        connection.started++;
        connection.newest = message;
        start(message, response);
        return;
      }
      connection.waiting.push([message, response]);
      if (connection.waiting.length > 1) return;
      omitStacksAtClose(socket, connection);
      // The rest of what was read is still parsed; nothing more is read until the waiting requests have started.
      pauseLater(() => {
        if (connection.waiting.length > 0) socket.pause();
      });
    },
    end({ socket }) {
      const connection = (socket as OwnSocket)[STATE];
      // It was detached.
      if (connection === undefined) return;
      if (socket.destroyed || isClosing()) connection.waiting.length = 0;
      const next = connection.waiting.shift();
      if (next === undefined) {
        connection.started--;
        // The answer of its newest request may have been made before the server was to close.
        if (connection.started === 0 && isClosing()) socket.destroySoon();
        if (isIdle(connection)) connection.onIdle?.();
        if (connection.started === 0) connection.last = undefined;
        return;
      }
      connection.newest = next[0];
      // Its body may not have been read yet.
      if (connection.waiting.length === 0) resumeInTurn(socket);
      start(...next);
    },
    detach(message, response) {
      const { started, waiting, last } = getConnection(message.socket);
      const isAlone = started === 1 && waiting.length === 0 && last === message;
      const socket: OwnSocket | undefined = isAlone ? detachSocket(message, response) : undefined;
      if (socket === undefined) return undefined;
      socket[STATE] = undefined;
      detached.add(socket);
      return socket.on('end', closeWhenSilent).on('close', forget);
    },
    closeDetached() {
      for (const socket of detached) socket.destroy();
    },
    isNewest: (message) => getConnection(message.socket).newest === message,
    onIdle(socket, listener) {
      const connection = getConnection(socket);
      if (connection.onIdle !== undefined) return;
      connection.onIdle = listener;
      if (isIdle(connection)) listener();
    },
  };
}
