// Finds the mount that answers a URL. A mount is a part of the server as a value: its URLs, its handler and the form of its
// refusals; the server has a list of them and knows nothing else of their content. Routes outside the data API are values, too:
// method, pattern, description and handler; a table of them is a mount, in which find-my-way looks for the pattern.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import makeFindMyWay from 'find-my-way';
import {
  type ApiError,
  badRequest,
  hint,
  methodNotAllowed,
  notFound,
  serviceUnavailable,
  unknownParameter,
  unsupportedMediaType,
} from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Credential } from '../model/credential.ts';
import type { CorsOrigins } from '../model/origin.ts';
import type { Operation } from '../openapi/operation.ts';
import { isJsonType } from '../request/body.ts';
import { parseQueryString } from '../request/query-string.ts';
import { ADMIN_PREFIX } from '../request/record-path.ts';
import { errorReply } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import { readJsonValue } from './body.ts';
import type { Delegation } from './reply.ts';
import type { RawRequest, RequestSignal } from './request.ts';

export interface Mount {
  /** True for a URL (path and query, from its slash on) of this mount. The first mount in the list that matches answers. */
  readonly matches: (url: string) => boolean;
  /** True when the server must be ready: until then requests are refused with 503, in the form of the mount. */
  readonly readyFirst: boolean;
  /**
   * Headers of all answers, flat as name, value, in place of the CORS headers. OPTIONS is then a method like others, so that
   * pages of other origins learn nothing. By default pages of all configured origins may use the mount.
   */
  readonly ownHeaders?: readonly string[];
  /**
   * Origins that replace those of the server for a URL; null where they do not. Without this member all URLs of the mount have
   * those of the server.
   */
  readonly corsOrigins?: UrlOrigins;
  /** Operations in the OpenAPI document of everything outside the data API; none for a mount that is not described there. */
  readonly operations: readonly Operation[];
  /**
   * Returns the scheduling group of a request. When many arrive at once the groups take turns; without this function all
   * requests of the mount are one group.
   */
  readonly getGroup?: (url: string) => string;
  /**
   * True for a credential that has been verified before. Requests with others are scheduled by the address of their client, so
   * that they take no time of the workspace that they name. Without this function all are scheduled by their group.
   */
  readonly isVerified?: (credential: string | undefined) => boolean;
  /** Returns the operation's name in metrics, from a small set. UNKNOWN for a URL that leads nowhere. */
  readonly getOperationName: (method: string, url: string) => string;
  /** Returns the reply, or the library that will answer. Errors go to `toErrorReply`. */
  readonly handle: (request: RawRequest) => Promise<Reply | Delegation>;
  /** Builds the reply to an error, in the form of the mount. */
  readonly toErrorReply: (error: ApiError) => Reply;
  /** True for the refusal of a request without a valid credential: its rate is limited, as for all requests that are UNKNOWN. */
  readonly isThrottled: (error: ApiError) => boolean;
}

export interface UrlOrigins {
  /** Returns what is in memory, or undefined. */
  readonly getCached: (url: string) => CorsOrigins | null | undefined;
  readonly find: (url: string) => Promise<CorsOrigins | null>;
}

/** Operation name in metrics of a request that leads nowhere. */
export const UNKNOWN = 'unknown';

/** Error handling of most mounts: the body of the API's errors, and throttled refusals of missing or invalid credentials. */
export const DEFAULT_ERROR_HANDLING: Pick<Mount, 'toErrorReply' | 'isThrottled'> = {
  toErrorReply: errorReply,
  isThrottled: ({ status }) => status === 401,
};

/** True for a URL with this path, with or without a slash at its end and a query. */
export function isAt(url: string, path: string): boolean {
  return url.startsWith(path) && /^\/?(?:\?|$)/.test(url.slice(path.length));
}

/** Makes the mount that replaces another while the server is not ready; `reason` says why. */
export function makeUnreadyMount(mount: Mount, reason: () => string | undefined): Mount {
  const { matches, readyFirst, ownHeaders, operations, toErrorReply, isThrottled } = mount;
  return {
    matches,
    readyFirst,
    ...(ownHeaders === undefined ? {} : { ownHeaders }),
    operations,
    getOperationName: () => 'unready',
    handle: () => Promise.reject(serviceUnavailable('NOT_READY', reason() ?? 'Not ready yet; retry')),
    toErrorReply,
    isThrottled,
  };
}

const CATCH_ALL = { ...DEFAULT_ERROR_HANDLING, matches: () => true, readyFirst: false, operations: [] } as const;

/** Answers CORS preflight (WHATWG Fetch) and plain OPTIONS, without a credential: browsers send none. */
export const PREFLIGHT: Mount = {
  ...CATCH_ALL,
  getOperationName: () => 'options',
  handle: async () => ({
    status: 204,
    headers: {
      Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'Access-Control-Allow-Headers':
        'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Traceparent, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
      'Access-Control-Max-Age': '600',
    },
    body: { kind: 'empty' },
  }),
};

/** Makes the answer to CORS preflights of a mount. When the origins cannot be looked up they are those of the server. */
const makePreflight = ({ corsOrigins }: Mount): Mount =>
  corsOrigins === undefined
    ? PREFLIGHT
    : {
        ...PREFLIGHT,
        // Whether a workspace is in memory must not show in the time of an answer.
        corsOrigins: { getCached: () => undefined, find: (url) => corsOrigins.find(url).catch(() => null) },
      };

/** Refuses requests without a Host, or with several (RFC 9112 section 3.2). */
export const BAD_HOST: Mount = {
  ...CATCH_ALL,
  getOperationName: () => UNKNOWN,
  handle: ({ headers }) => {
    const message = headers.host === undefined ? 'The Host header is missing' : 'There is more than one Host header';
    return Promise.reject(badRequest('MALFORMED_REQUEST', message));
  },
};

/** Refuses the target `*` of all methods but OPTIONS: it is no resource (RFC 9112 section 3.2.4). */
export const BAD_TARGET: Mount = {
  ...CATCH_ALL,
  getOperationName: () => UNKNOWN,
  handle: () =>
    Promise.reject(badRequest('MALFORMED_REQUEST', 'The request target must be a path; only OPTIONS takes *')),
};

/** Makes the mount that refuses URLs which no other matches. `patterns`: paths of routes, for the names that it lists. */
export function makeNotFound(patterns: readonly string[]): Mount {
  const routes = patterns.filter((pattern) => pattern.startsWith(ADMIN_PREFIX)).map(splitPath);
  return {
    ...CATCH_ALL,
    readyFirst: true,
    getOperationName: () => UNKNOWN,
    handle: ({ path }) =>
      Promise.reject(
        isDecodable(path)
          ? notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}${describeNeighbors(path, routes)}`)
          : badRequest('MALFORMED_PATH', 'The path is malformed'),
      ),
  };
}

const splitPath = (path: string): readonly string[] => path.split('/').filter((part) => part !== '');

/** Lists the names that continue the longest part of the path that leads to a route; empty outside of all routes. */
function describeNeighbors(path: string, routes: readonly (readonly string[])[]): string {
  if (!isBelow(path, ADMIN_PREFIX)) return '';
  const segments = splitPath(path);
  let depth = splitPath(ADMIN_PREFIX).length;
  let candidates = routes;
  for (; depth < segments.length; depth++) {
    const next = candidates.filter(
      (route) => route[depth] === segments[depth] || route[depth]?.startsWith(':') === true,
    );
    if (next.length === 0) break;
    candidates = next;
  }
  const names = [...new Set(candidates.flatMap((route) => route.slice(depth, depth + 1)))].sort();
  if (names.length === 0) return '';
  const parent = `/${segments.slice(0, depth).join('/').slice(0, 200)}`;
  const segment = segments[depth];
  const similar = segment === undefined ? null : closest(segment, names);
  const suggestion = similar === null ? null : [parent, similar, ...segments.slice(depth + 1)].join('/').slice(0, 200);
  return `.${hint(suggestion)} Known below ${parent}: ${names.map((name) => name.replace(/^:(.*)/, '{$1}')).join(', ')}`;
}

const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

function isDecodable(path: string): boolean {
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}

/** Makes the function that finds the mount of a request: by its URL, unless the request gets the same answer at all URLs. */
export function makeRouter(
  mounts: readonly Mount[],
  unready: () => string | undefined,
): (message: IncomingMessage, url: string) => Mount {
  const notFoundMount = makeNotFound(mounts.flatMap(({ operations }) => operations.map(({ pattern }) => pattern)));
  const candidates = [...mounts, notFoundMount].map((mount) => ({
    open: mount,
    preflight: makePreflight(mount),
    unreadyMount: makeUnreadyMount(mount, unready),
  }));
  return (message, url) => {
    const hosts = countHosts(message.rawHeaders);
    if (hosts > 1 || (hosts === 0 && message.httpVersion === '1.1')) return BAD_HOST;
    const isOptions = message.method === 'OPTIONS';
    if (url === '*') return isOptions ? PREFLIGHT : BAD_TARGET;
    for (const { open: mount, preflight, unreadyMount } of candidates) {
      if (!mount.matches(url)) continue;
      if (isOptions && mount.ownHeaders === undefined) return unready() === undefined ? preflight : PREFLIGHT;
      return mount.readyFirst && unready() !== undefined ? unreadyMount : mount;
    }
    return notFoundMount;
  };
}

/** Counts Host headers: `headers` has the first alone, and a proxy may have read the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/* ---- routes ---- */

export interface RouteRequest {
  readonly id: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  /** Returns the decoded query parameters, a repeated one with several values; 400 when the route does not know one. */
  readonly query: () => ReadonlyMap<string, readonly string[]>;
  readonly credential: Credential;
  /** Header If-None-Match, as sent. */
  readonly ifNoneMatch: string | undefined;
  /** Header If-Match, as sent. */
  readonly ifMatch: string | undefined;
  /**
   * Reads and parses the JSON body (numbers keep their digits, see model/exact-json.ts), or returns undefined if there is none.
   * A handler calls it only after it has authenticated the client: 415, 413 or 400.
   */
  readonly body: () => Promise<unknown>;
  /** Returns the body as a stream, in place of body(): 415 unless it has this media type. It fails when silent for too long. */
  readonly upload: (mediaType: string) => Readable;
  readonly signal: RequestSignal;
}

/** A route refuses everything that it does not describe: unknown query parameters are 400. */
export interface Route extends Operation {
  readonly handle: (request: RouteRequest) => Promise<Reply>;
}

export interface RouteMountOptions {
  /** True when the server must be ready before its routes are used. */
  readonly readyFirst: boolean;
  /** Longest JSON body; beyond it 413. */
  readonly maxBodyBytes: number;
}

interface RouteMatch {
  /** The matching route, or null if a part of the path is longer than any name. */
  readonly route: Route | null;
  readonly params: RouteRequest['params'];
}

const MAX_NAME_LENGTH = 200;

/** Makes a mount of routes, which takes all URLs at which a route answers any method. HEAD is answered like GET. */
export function makeRouteMount(routes: readonly Route[], { readyFirst, maxBodyBytes }: RouteMountOptions): Mount {
  const find = makeFind(routes);
  const methods = [...new Set(routes.map(({ method }) => method))];
  const findMethod = (requestedMethod: string) =>
    methods.find((method) => method === (requestedMethod === 'HEAD' ? 'GET' : requestedMethod));
  const findMatch = (requestedMethod: string, url: string): RouteMatch | undefined => {
    const method = findMethod(requestedMethod);
    return method === undefined ? undefined : find(method, url);
  };
  return {
    ...DEFAULT_ERROR_HANDLING,
    readyFirst,
    operations: routes,
    matches: (url) => methods.some((method) => find(method, url) !== undefined),
    getOperationName(requestedMethod, url) {
      const { method, pattern } = findMatch(requestedMethod, url)?.route ?? {};
      return pattern === undefined ? UNKNOWN : `${method} ${pattern}`;
    },
    async handle(raw) {
      const match = findMatch(raw.method, raw.path);
      if (match?.route === null) throw badRequest('MALFORMED_PATH', 'The path is malformed');
      if (match !== undefined) return match.route.handle(toRouteRequest(raw, match.route, match.params, maxBodyBytes));
      const otherRoutes = routes.filter((route) => find(route.method, raw.path)?.route === route);
      throw methodNotAllowed(raw.method, [...new Set(otherRoutes.map(({ method }) => method))]);
    },
  };
}

/** Makes the look-up of routes by method and URL. */
function makeFind(routes: readonly Route[]): (method: Route['method'], url: string) => RouteMatch | undefined {
  const noop = (): void => undefined;
  const patterns = makeFindMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_NAME_LENGTH,
    // Makes the router return a match without a route.
    onMaxParamLength: noop,
    querystringParser: noop,
  });
  for (const route of routes) patterns.on(route.method, route.pattern, noop, route);
  return (method, url) => {
    const match = patterns.find(method, url);
    return match === null ? undefined : { route: match.store, params: match.params as RouteRequest['params'] };
  };
}

function toRouteRequest(
  raw: RawRequest,
  { describe }: Route,
  params: RouteRequest['params'],
  maxBodyBytes: number,
): RouteRequest {
  let value: Promise<unknown> | undefined;
  return {
    id: raw.id,
    url: raw.query === '' ? raw.path : `${raw.path}?${raw.query}`,
    params,
    query: () => collectParameters(raw.query, Object.keys(describe.query)),
    credential: raw.credential,
    ifNoneMatch: raw.headers['if-none-match'],
    ifMatch: raw.headers['if-match'],
    body() {
      value ??= parseJsonBody(raw, maxBodyBytes);
      return value;
    },
    upload(mediaType) {
      if (raw.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== mediaType)
        throw unsupportedMediaType(mediaType);
      return raw.stream();
    },
    signal: raw.signal,
  };
}

async function parseJsonBody(raw: RawRequest, maxBytes: number): Promise<unknown> {
  const bytes = await raw.body(maxBytes);
  if (bytes.length === 0) return undefined;
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  return readJsonValue(bytes, raw);
}

function collectParameters(query: string, allowed: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const { name, value } of parseQueryString(query)) {
    if (allowed.includes(name)) values.set(name, [...(values.get(name) ?? []), value]);
    else if (!name.startsWith('_')) throw unknownParameter(name, closest(name, allowed), allowed);
  }
  return values;
}
