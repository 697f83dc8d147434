// Bytes <-> values: listens, gives requests of the data API to the record handler and all others to Fastify's router,
// and is the only place that answers what was thrown. Knows no route.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import {
  type ApiError,
  badRequest,
  methodNotAllowed,
  notFound,
  serviceUnavailable,
  unknownParameter,
  unsupportedMediaType,
} from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Observer } from '../observe.ts';
import { groupOf, makeAdmission } from '../pace/admission.ts';
import { makeTurns } from '../pace/turns.ts';
import { isJsonType } from '../request/body.ts';
import { parseQueryString } from '../request/query-string.ts';
import { PREFIX as RECORDS_PREFIX } from '../request/record-path.ts';
import { errorReply, toApiError } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import { jsonValue } from './json-body.ts';
import { HttpRequest, type RawRequest } from './raw-request.ts';
import { commonHeaders, type Delegation, delegate, writeReply } from './reply.ts';
import type { Route } from './routes.ts';

/** Answers a request of the data API. `operation` names it for metrics. */
export interface RecordHandler {
  (request: RawRequest): Promise<Reply>;
  readonly operationOf: (method: string, path: string) => string;
}

/** Answers a request, or names the library that will. */
export type PathHandler = (request: RawRequest) => Promise<Reply | Delegation>;

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly corsOrigins: '*' | readonly string[];
  readonly records: RecordHandler;
  readonly routes: readonly Route[];
  /** Paths with a handler for whatever comes to them: every method, and refusals in a form of their own. */
  readonly ownPaths: ReadonlyMap<string, PathHandler>;
  /** Resolves when a request that no credential carries may be refused. */
  readonly refusalTurn: () => Promise<void>;
  /** Why requests cannot be served at the moment (database away, starting), or undefined. */
  readonly unready: () => string | undefined;
  readonly observer: Observer;
}

export interface HttpServer {
  /** The port in use. */
  listen(): Promise<number>;
  /** Stops accepting, lets requests in flight finish for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

const ALWAYS_SERVED = ['/healthz', '/readyz', '/metrics'];
// What leads nowhere, in metrics.
const UNKNOWN = 'unknown';
const MAX_HEADER_BYTES = 16_384;

export function makeHttpServer(options: HttpOptions): HttpServer {
  const { observer } = options;
  const idPrefix = Math.floor(Math.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
  const turns = makeTurns();
  const admission = makeAdmission();
  let nextId = 0;
  let closing = false;

  function answer(
    message: IncomingMessage,
    response: ServerResponse,
    handle: PathHandler,
    operation: string,
    started = performance.now(),
  ): void {
    const raw = new HttpRequest(message, {
      id: `${idPrefix}-${(nextId++).toString(36)}`,
      arrivedAt: started,
      bodyTimeoutMs: options.bodyTimeoutMs,
      turn: () => turns(groupOf(message.url ?? '/', RECORDS_PREFIX)),
    });
    const common = commonHeaders(options.corsOrigins, message.headers.origin);
    const finish = (reply: Reply | Delegation, error: unknown): void => {
      if (closing) response.setHeader('Connection', 'close');
      const { id, method, path } = raw;
      const observe = (status: number): void =>
        observer.request({ id, method, path, operation, status, milliseconds: performance.now() - started, error });
      if ('serve' in reply) {
        delegate(response, reply, raw.id, common, options.bodyTimeoutMs, observe);
        return;
      }
      const isHead = raw.method === 'HEAD';
      writeReply(response, reply, { id: raw.id, common, isHead, stallMs: options.bodyTimeoutMs });
      observe(reply.status);
    };
    handle(raw).then(
      (reply) => finish(reply, undefined),
      (error) => {
        const refusal = toApiError(error);
        const send = (): void => finish(errorReply(refusal), error);
        if (refusal.status !== 401 && operation !== UNKNOWN) send();
        else options.refusalTurn().then(send);
      },
    );
  }

  const fastify = makeRouter(options, answer);
  const server = fastify.server as Server;

  function makeRouter({ routes }: HttpOptions, give: typeof answer): FastifyInstance {
    const router = Fastify({
      serverFactory: (fallback) => {
        const created = createServer(
          {
            maxHeaderSize: MAX_HEADER_BYTES,
            headersTimeout: 10_000,
            // Bodies have their own clock (bodyTimeoutMs between bytes): an import may take longer than any fixed time.
            requestTimeout: 0,
            keepAliveTimeout: 65_000,
            connectionsCheckingInterval: 2000,
            insecureHTTPParser: false,
            // Asked for below, so that the refusal has the usual body.
            requireHostHeader: false,
          },
          (message, response) => {
            message.url = originForm(message.url ?? '/');
            const { url } = message;
            const own = url.startsWith(RECORDS_PREFIX) ? undefined : ownPath(url);
            if (message.headers.host === undefined && message.httpVersion === '1.1') {
              give(message, response, () => Promise.reject(badRequest('The Host header is missing')), UNKNOWN);
            } else if (message.method === 'OPTIONS') give(message, response, preflight, 'options');
            else if (own !== undefined) give(message, response, own.handle, own.path);
            else if (isUnready(url)) give(message, response, () => Promise.reject(unavailable()), 'unready');
            else if (url.startsWith(RECORDS_PREFIX)) {
              const arrivedAt = performance.now();
              const operation = options.records.operationOf(message.method ?? 'GET', url);
              admission(groupOf(url, RECORDS_PREFIX), () =>
                give(message, response, options.records, operation, arrivedAt),
              );
            } else fallback(message, response);
          },
        );
        created.on('clientError', (error, socket) => refuseBytes(error, socket as Socket));
        return created;
      },
      // Paths that the router cannot take: escapes that do not decode, segments without end.
      frameworkErrors: (_error, request, reply) => {
        reply.hijack();
        give(request.raw, reply.raw, () => Promise.reject(badRequest('The path is malformed')), UNKNOWN);
      },
      routerOptions: { caseSensitive: true, ignoreTrailingSlash: true, maxParamLength: 200 },
      exposeHeadRoutes: true,
      return503OnClosing: false,
      logger: false,
    });
    router.removeAllContentTypeParsers();
    // Nothing is read here, so that no body is waited for or kept before it is known who sends it.
    router.addContentTypeParser('*', (_request, _body, done) => done(null));
    // Answering is done by the same function as for records.
    for (const route of routes) {
      router.route({
        method: route.method,
        url: route.pattern,
        handler: (request, reply) => {
          reply.hijack();
          give(
            request.raw,
            reply.raw,
            (raw) => callRoute(route, raw, request.params),
            `${route.method} ${route.pattern}`,
          );
        },
      });
    }
    router.setNotFoundHandler((request, reply) => {
      reply.hijack();
      give(request.raw, reply.raw, (raw) => Promise.reject(noRoute(raw, routes)), UNKNOWN);
    });
    router.setErrorHandler((error, request, reply) => {
      reply.hijack();
      give(request.raw, reply.raw, () => Promise.reject(frameworkError(error)), UNKNOWN);
    });
    return router;
  }

  function ownPath(url: string): { readonly path: string; readonly handle: PathHandler } | undefined {
    const path = url.replace(/\/?(\?.*)?$/s, '');
    const handle = options.ownPaths.get(path);
    return handle === undefined ? undefined : { path, handle };
  }

  function isUnready(url: string): boolean {
    return options.unready() !== undefined && !ALWAYS_SERVED.some((path) => url === path || url.startsWith(`${path}?`));
  }

  function unavailable(): ApiError {
    return serviceUnavailable(options.unready() ?? 'Not ready yet; retry', 1);
  }

  async function callRoute(route: Route, raw: RawRequest, params: unknown): Promise<Reply> {
    let parsed: Promise<unknown> | undefined;
    return route.handle({
      id: raw.id,
      params: params as Record<string, string>,
      query: () => parametersOf(raw.query, route.parameters),
      authorization: raw.headers.authorization,
      body: () => {
        parsed ??= jsonOf(raw, options.maxBodyBytes);
        return parsed;
      },
    });
  }

  return {
    async listen() {
      await fastify.listen({ host: options.host, port: options.port });
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : options.port;
    },
    async close(graceMs) {
      closing = true;
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      const closed = fastify.close();
      server.closeIdleConnections();
      await closed;
      clearTimeout(cut);
    },
  };
}

/** The path and query of a request target: the whole URL is to be taken, too (RFC 9112 section 3.2.2). */
function originForm(target: string): string {
  const whole = /^https?:\/\/[^/?]*/i.exec(target);
  if (whole === null) return target;
  const rest = target.slice(whole[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** CORS preflight (WHATWG Fetch) and plain OPTIONS, without a credential: browsers send none. */
function preflight(): Promise<Reply> {
  return Promise.resolve({
    status: 204,
    headers: {
      Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-Match, If-None-Match',
      'Access-Control-Max-Age': '600',
    },
    body: { kind: 'empty' },
  });
}

async function jsonOf(raw: RawRequest, maxBytes: number): Promise<unknown> {
  const bytes = await raw.body(maxBytes);
  if (bytes.length === 0) return undefined;
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  return jsonValue(bytes, raw);
}

function parametersOf(query: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const { name, value } of parseQueryString(query)) {
    if (known.includes(name)) values.set(name, [...(values.get(name) ?? []), value]);
    else if (!name.startsWith('_')) throw unknownParameter(name, closest(name, known), known);
  }
  return values;
}

function noRoute(raw: RawRequest, routes: readonly Route[]): ApiError {
  const allowed = routes.filter((route) => matchesPattern(route.pattern, raw.path)).map((route) => route.method);
  if (allowed.length > 0) return methodNotAllowed(raw.method, [...new Set(allowed)]);
  return notFound(`There is nothing at ${raw.path.slice(0, 200)}`);
}

function matchesPattern(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index]);
}

function frameworkError(error: unknown): unknown {
  const status = (error as { statusCode?: number }).statusCode;
  return status !== undefined && status >= 400 && status < 500 ? badRequest('The request is malformed') : error;
}

/** Bytes that are no HTTP: answered in the usual form, then the connection ends. */
function refuseBytes(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const message = tooLarge
    ? `The URL and headers of the request are larger than ${MAX_HEADER_BYTES} bytes. A long list request goes into the body of POST …/_query`
    : error.code === 'HPE_INVALID_URL'
      ? 'The URL is malformed: percent-encode what is not ASCII'
      : 'The request is malformed HTTP';
  const body = JSON.stringify({ error: { code: 'BAD_REQUEST', message } });
  socket.end(
    `HTTP/1.1 ${tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request'}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
