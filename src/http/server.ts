// The HTTP server: listens, finds the mount of a request, and is the only place that answers thrown errors. Knows no route.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { badRequest } from '../errors.ts';
import { type FairScheduler, makeFairScheduler } from '../limits/fair-scheduler.ts';
import { type MemoryBudget, makeMemoryBudget } from '../limits/memory-budget.ts';
import type { MinRate } from '../limits/upload.ts';
import type { CorsOrigins } from '../model/origin.ts';
import type { Observer } from '../observer.ts';
import { errorText, toApiError } from '../response/error-body.ts';
import { JSON_TYPE, type Reply } from '../response/reply.ts';
import { endRequest, REQUESTS, type RequestTrace } from '../tracing.ts';
import { makePipelining, type Pipelining } from './pipelining.ts';
import { buildCommonHeaders, type Delegation, delegate, isSent, writeReply } from './reply.ts';
import { HttpRequest, type RawRequest } from './request.ts';
import { type Mount, makeRouter, UNKNOWN } from './router.ts';

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly bodyTimeoutMs: number;
  /** Slowest reading of an answer above 64 KiB, and the memory of those that are not read yet. */
  readonly minAnswerRate: MinRate;
  readonly answerBudget: MemoryBudget;
  readonly corsOrigins: CorsOrigins;
  /** Mounts of the server. A request goes to the first that matches its URL. */
  readonly mounts: readonly Mount[];
  /** Resolves when a request without a valid credential may be refused. */
  readonly waitForThrottle: () => Promise<void>;
  /** Returns why requests cannot be served at the moment (database unavailable, starting), or undefined if they can. */
  readonly unready: () => string | undefined;
  readonly observer: Observer;
}

export interface HttpServer {
  /** Starts to listen; returns the port in use. */
  listen(): Promise<number>;
  /** Stops accepting, lets requests in flight finish for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

// Memory of the long bodies that are in work at once. The values made of a body take some four times its bytes.
const BODY_MEMORY = {
  totalBytes: 67_108_864,
  maxGroupBytes: 33_554_432,
  timeoutMs: 10_000,
  fullMessage: 'Too many long bodies are being read; retry',
};
const MAX_HEADER_BYTES = 16_384;
const SERVER_OPTIONS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: 10_000,
  // Bodies have their own clock (bodyTimeoutMs between bytes): an import may take longer than any fixed time.
  requestTimeout: 0,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2000,
  insecureHTTPParser: false,
  // A mount refuses such requests, so that the refusal has the usual body.
  requireHostHeader: false,
} as const;

export function makeHttpServer(options: HttpOptions): HttpServer {
  const findMount = makeRouter(options.mounts, options.unready);
  const scheduler = makeFairScheduler();
  let isClosing = false;
  const getGroup = makeGetGroup(options.mounts);
  const pipelining = makePipelining(
    (message, response) => {
      const url = toOriginForm(message.url ?? '/');
      message.url = url;
      const mount = findMount(message, url);
      const arrivedAt = performance.now();
      scheduler.admit(getGroup(mount, message, url), () => {
        // The client is gone, and waits for no answer.
        if (message.socket.destroyed) pipelining.end(message);
        else respond(message, response, mount, arrivedAt);
      });
    },
    () => isClosing,
  );
  const respond = makeResponder(options, scheduler, pipelining, () => isClosing);
  const server = createServer(SERVER_OPTIONS, pipelining.add);
  // Without it Node.js drops the answers of a client that ends its side of the connection after its last request.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Node.js refuses unknown expectations with a 417 that has neither a body nor an id.
  server.on('checkExpectation', pipelining.add);
  // Each waiting request listens to the end of its connection, and clients may send many before the first is answered.
  server.on('connection', (socket) => {
    socket.setMaxListeners(0);
    pipelining.accept(socket);
  });
  server.on('clientError', (error: ClientError, stream) => {
    const socket = stream as Socket;
    // The answer to the request that ends the connection is the last one; what follows is dropped (RFC 9112 section 9.6).
    if (error.code === 'HPE_CLOSED_CONNECTION') return;
    if (error.code === 'ECONNRESET') socket.destroy();
    else pipelining.onIdle(socket, () => rejectMalformed(error, socket));
  });
  return {
    async listen() {
      await startListening(server, options);
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : options.port;
    },
    async close(graceMs) {
      isClosing = true;
      const cutTimer = setTimeout(() => {
        server.closeAllConnections();
        pipelining.closeDetached();
      }, graceMs);
      // A server that never listened calls back with an error.
      const closePromise = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await closePromise;
      clearTimeout(cutTimer);
    },
  };
}

function startListening(server: Server, { host, port }: HttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

type Responder = (message: IncomingMessage, response: ServerResponse, mount: Mount, arrivedAt: number) => void;

function makeResponder(
  options: HttpOptions,
  scheduler: FairScheduler,
  { end, isNewest, detach }: Pipelining,
  isClosing: () => boolean,
): Responder {
  const { observer, bodyTimeoutMs, corsOrigins, minAnswerRate: minRate, answerBudget } = options;
  const idPrefix = Math.floor(Math.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
  const shared = { bodyTimeoutMs, scheduler, memory: makeMemoryBudget(BODY_MEMORY), answerBudget };
  let nextId = 0;
  return (message, response, mount, arrivedAt) => {
    const id = `${idPrefix}-${(nextId++).toString(36)}`;
    const raw = new HttpRequest(message, { id, arrivedAt, getGroup: mount.getGroup ?? getNoGroup, shared });
    const { method, path } = raw;
    const operation = mount.getOperationName(method, message.url ?? '/');
    const trace = REQUESTS.hasSubscribers ? toRequestTrace(raw, operation) : undefined;
    const observe = (status: number, error: unknown, name = operation): void => {
      const milliseconds = performance.now() - arrivedAt;
      observer.request({ id, method, path, operation: name, status, milliseconds, error });
      if (trace !== undefined) endRequest(trace, name, status);
    };
    const send = (reply: Reply | Delegation, error: unknown, origins: CorsOrigins | null): void => {
      const common = mount.ownHeaders ?? buildCommonHeaders(origins ?? corsOrigins, message.headers.origin);
      raw.finish();
      // Node.js drops the answers of all requests after the one with this header.
      if (isClosing() && isNewest(message)) response.setHeader('Connection', 'close');
      if ('serve' in reply) {
        delegate(response, reply, { id, common, bodyTimeoutMs, observe: (status) => observe(status, error) });
      } else {
        const rest = raw.discardRest();
        const take = (): Socket | undefined => detach(message, response);
        writeReply(response, reply, {
          id,
          common,
          isHead: method === 'HEAD',
          minRate,
          memory: raw,
          rest,
          detach: take,
        });
        observe(reply.status, error, reply.operation);
      }
      // A request is in work until its answer has left: those that are not read would fill the memory.
      if (isSent(response)) end(message);
      else response.once('close', () => end(message));
    };
    const finish = (reply: Reply | Delegation, error: unknown): void => {
      const origins = findOrigins(mount, message, 'status' in reply && reply.status === 401);
      if (!(origins instanceof Promise)) send(reply, error, origins);
      else {
        // Without the database no records are in the answer, and pages may read why.
        const isUnavailable = 'status' in reply && reply.status >= 500;
        origins.then(
          (value) => send(reply, error, value),
          () => send(reply, error, isUnavailable ? null : []),
        );
      }
    };
    const pendingReply = trace === undefined ? mount.handle(raw) : REQUESTS.runStores(trace, () => mount.handle(raw));
    pendingReply.then(
      (reply) => finish(reply, undefined),
      (error) => {
        const apiError = toApiError(error);
        const refuse = (): void => finish(mount.toErrorReply(apiError), error);
        if (operation === UNKNOWN || mount.isThrottled(apiError)) options.waitForThrottle().then(refuse);
        else refuse();
      },
    );
  };
}

const NO_PAGE: CorsOrigins = [];

/**
 * Finds the origins that replace those of the server. Programs send no origin, and no look-up is made for them. Refusals of
 * a credential must not show, also not by their time, whether a workspace is in memory.
 */
function findOrigins({ corsOrigins }: Mount, { url = '/', headers }: IncomingMessage, isRefusal: boolean) {
  if (corsOrigins === undefined) return null;
  if (headers.origin === undefined) return NO_PAGE;
  const cachedOrigins = isRefusal ? undefined : corsOrigins.getCached(url);
  return cachedOrigins === undefined ? corsOrigins.find(url) : cachedOrigins;
}

const getNoGroup = (): string => '';

type GetGroup = (mount: Mount, message: IncomingMessage, url: string) => string;

/** Makes the function that returns the scheduling group of a request: its workspace, its client, or its mount. */
function makeGetGroup(mounts: readonly Mount[]): GetGroup {
  const names = new Map(mounts.map((mount, index) => [mount, `mount ${index}`]));
  return (mount, { headers, socket }, url) => {
    if (mount.isVerified?.(headers.authorization) === false) return `client ${socket.remoteAddress}`;
    return mount.getGroup?.(url) ?? names.get(mount) ?? 'other';
  };
}

/** Builds the trace of a request at its start. */
function toRequestTrace({ id, method, path, arrivedAt, headers }: RawRequest, operation: string): RequestTrace {
  const { traceparent, tracestate } = headers as Readonly<Record<string, string | undefined>>;
  return { phase: 'asked', id, method, path, traceparent, tracestate, operation, startedAt: arrivedAt };
}

/** Returns the path and query of a request target, which may be a whole URL (RFC 9112 section 3.2.2). */
function toOriginForm(target: string): string {
  const prefix = /^https?:\/\/[^/?]*/i.exec(target);
  if (prefix === null) return target;
  const rest = target.slice(prefix[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

type ClientError = Error & { readonly code?: string };

/** Answers bytes that are not HTTP in the usual form, after the requests before them; then ends the connection. */
function rejectMalformed(error: ClientError, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const message = tooLarge
    ? `The URL and headers of the request are larger than ${MAX_HEADER_BYTES} bytes. A long list request goes into the body of POST …/_query`
    : error.code === 'HPE_INVALID_URL'
      ? 'The URL is malformed: percent-encode what is not ASCII'
      : 'The request is malformed HTTP';
  const body = errorText(badRequest(tooLarge ? 'HEADERS_TOO_LARGE' : 'MALFORMED_REQUEST', message));
  const head = [
    `HTTP/1.1 ${tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request'}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
