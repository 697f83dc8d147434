// Bounds the requests of one connection that are in work at once (HTTP/1.1 pipelining, RFC 9112 section 9.3.2). Node.js emits
// each request as soon as it is read: 60 connections with 2,000 pipelined requests each held up all workspaces for seconds, also
// after they had been closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type StartRequest = (message: IncomingMessage, response: ServerResponse) => void;

export interface Pipelining {
  /** Starts a request now, or when one before it on its connection is over. */
  readonly add: (message: IncomingMessage, response: ServerResponse) => void;
  /** Ends a request that was started, and starts the next of its connection. */
  readonly end: (message: IncomingMessage) => void;
}

// Clients that pipeline send some ten requests at once.
const MAX_STARTED = 16;

interface Connection {
  started: number;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
}

/** Makes the bound. `start`: starts a request, which ends by `end`. Requests of a closed connection are dropped. */
export function makePipelining(start: StartRequest): Pipelining {
  const connections = new WeakMap<Socket, Connection>();

  function getConnection(socket: Socket): Connection {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = { started: 0, waiting: [] };
      connections.set(socket, connection);
    }
    return connection;
  }

  return {
    add(message, response) {
      const { socket } = message;
      const connection = getConnection(socket);
      if (connection.started < MAX_STARTED) {
        connection.started++;
        start(message, response);
        return;
      }
      connection.waiting.push([message, response]);
      // The rest of what was read is still parsed; nothing more is read until the waiting requests have started.
      socket.pause();
    },
    end({ socket }) {
      const connection = getConnection(socket);
      if (socket.destroyed) connection.waiting.length = 0;
      const next = connection.waiting.shift();
      if (next === undefined) {
        connection.started--;
        return;
      }
      // Its body may not have been read yet.
      if (connection.waiting.length === 0) socket.resume();
      start(...next);
    },
  };
}
