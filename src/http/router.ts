// Which handler answers a URL. A mount is a part of the server as a value: which URLs are its own, who answers there, and how
// it refuses; the server has a list of them and knows nothing else of what it serves. Routes outside the data API are values,
// too: method, pattern, description and handler; a table of them is a mount, in which find-my-way looks for the pattern.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import makeFindMyWay from 'find-my-way';
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
import type { Credential } from '../model/credential.ts';
import type { Operation } from '../openapi/operation.ts';
import { isJsonType } from '../request/body.ts';
import { parseQueryString } from '../request/query-string.ts';
import { errorReply } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import { readJsonValue } from './body.ts';
import type { Delegation } from './reply.ts';
import type { RawRequest, RequestSignal } from './request.ts';

export interface Mount {
  /**
   * True for a URL (path and query, from its slash on) of this mount. The first mount in the list that matches answers.
   */
  readonly matches: (url: string) => boolean;
  /** True when the server must be ready: until then requests are refused with 503, in the form of the mount. */
  readonly readyFirst: boolean;
  /**
   * Headers of all its answers, flat as name, value, in place of those that let pages of other origins ask. OPTIONS is then a
   * method like others, so no page of another origin learns anything. Without: it is an API that all may ask.
   */
  readonly ownHeaders?: readonly string[];
  /** What the document of the operations outside the data API says of it; none: it is described elsewhere, or nowhere. */
  readonly operations: readonly Operation[];
  /**
   * The group that a request belongs to. When many come at once the groups take turns; without this function each
   * request is begun as it comes.
   */
  readonly getGroup?: (url: string) => string;
  /** The request's name in metrics: a word of a small set. UNKNOWN for what leads nowhere. */
  readonly getOperationName: (method: string, url: string) => string;
  /** Gives the answer, or the library that will answer. What it throws goes to `refuse`. */
  readonly handle: (request: RawRequest) => Promise<Reply | Delegation>;
  /** The reply to a refusal, in the form of the mount. */
  readonly toErrorReply: (error: ApiError) => Reply;
  /**
   * True for a refusal of a request without a valid credential: it is sent at a limited pace, as all of UNKNOWN are.
   */
  readonly isThrottled: (error: ApiError) => boolean;
}

/** In metrics: a request that leads nowhere. */
export const UNKNOWN = 'unknown';

/**
 * How most mounts refuse: with the body of the API's errors; the refusal of a missing or wrong credential waits for its
 * turn.
 */
export const DEFAULT_ERROR_HANDLING: Pick<Mount, 'toErrorReply' | 'isThrottled'> = {
  toErrorReply: errorReply,
  isThrottled: ({ status }) => status === 401,
};

/** True for a URL with this path, with or without a slash at its end and a query. */
export function isAt(url: string, path: string): boolean {
  return url.startsWith(path) && /^\/?(?:\?|$)/.test(url.slice(path.length));
}

/** The same mount while the server is not ready; `reason` says why. */
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

/** CORS preflight (WHATWG Fetch) and plain OPTIONS, without a credential: browsers send none. */
export const PREFLIGHT: Mount = {
  ...CATCH_ALL,
  getOperationName: () => 'options',
  handle: async () => ({
    status: 204,
    headers: {
      Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'Access-Control-Allow-Headers':
        'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Traceparent, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
      'Access-Control-Max-Age': '600',
    },
    body: { kind: 'empty' },
  }),
};

/** Requests without a Host, which RFC 9112 section 3.2 wants refused. */
export const MISSING_HOST: Mount = {
  ...CATCH_ALL,
  getOperationName: () => UNKNOWN,
  handle: () => Promise.reject(badRequest('MALFORMED_REQUEST', 'The Host header is missing')),
};

/** Takes the target `*` of all methods but OPTIONS: it is no place (RFC 9112 section 3.2.4). */
export const BAD_TARGET: Mount = {
  ...CATCH_ALL,
  getOperationName: () => UNKNOWN,
  handle: () =>
    Promise.reject(badRequest('MALFORMED_REQUEST', 'The request target must be a path; only OPTIONS takes *')),
};

/** Takes what no mount of the list does. */
export const NOT_FOUND: Mount = {
  ...CATCH_ALL,
  readyFirst: true,
  getOperationName: () => UNKNOWN,
  handle: ({ path }) =>
    Promise.reject(
      isDecodable(path)
        ? notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`)
        : badRequest('MALFORMED_PATH', 'The path is malformed'),
    ),
};

function isDecodable(path: string): boolean {
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}

/** Gives the mount of a request: that of its URL, unless the request gets the same answer at all URLs. */
export function makeRouter(
  mounts: readonly Mount[],
  unready: () => string | undefined,
): (message: IncomingMessage, url: string) => Mount {
  const candidates = [...mounts, NOT_FOUND].map((mount) => ({
    open: mount,
    unreadyMount: makeUnreadyMount(mount, unready),
  }));
  return (message, url) => {
    if (message.headers.host === undefined && message.httpVersion === '1.1') return MISSING_HOST;
    const isOptions = message.method === 'OPTIONS';
    if (url === '*') return isOptions ? PREFLIGHT : BAD_TARGET;
    for (const { open: mount, unreadyMount } of candidates) {
      if (!mount.matches(url)) continue;
      if (isOptions && mount.ownHeaders === undefined) return PREFLIGHT;
      return mount.readyFirst && unready() !== undefined ? unreadyMount : mount;
    }
    return NOT_FOUND;
  };
}

/* ---- routes ---- */

export interface RouteRequest {
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  /** Decoded query parameters, a repeated one with several values; 400 when the route does not know one. */
  readonly query: () => ReadonlyMap<string, readonly string[]>;
  readonly credential: Credential;
  /** The header of a conditional read, as sent. */
  readonly ifNoneMatch: string | undefined;
  /** The header of a conditional change, as sent. */
  readonly ifMatch: string | undefined;
  /**
   * Reads and parses the JSON body (numbers keep their digits, see model/exact-json.ts); undefined when there is none.
   * Nothing of it is read before a handler asks, which it does only for a known sender: 415, 413 or 400.
   */
  readonly body: () => Promise<unknown>;
  /** The body as a stream, in place of body(): 415 unless it is of this media type. Errors when it is silent for too long. */
  readonly upload: (mediaType: string) => Readable;
  readonly signal: RequestSignal;
}

/** What it does not describe it refuses: unknown query parameters are 400. */
export interface Route extends Operation {
  readonly handle: (request: RouteRequest) => Promise<Reply>;
}

export interface RouteMountOptions {
  /** Whether the server must be ready before its routes are used. */
  readonly readyFirst: boolean;
  /** A JSON body beyond it is refused with 413. */
  readonly maxBodyBytes: number;
}

interface RouteMatch {
  /** Null when a part of the path is longer than any name. */
  readonly route: Route | null;
  readonly params: RouteRequest['params'];
}

const MAX_NAME_LENGTH = 200;

/** Takes all URLs at which a route answers any method. HEAD is answered like GET. */
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

/** The look-up of routes by method and URL. */
function makeFind(routes: readonly Route[]): (method: Route['method'], url: string) => RouteMatch | undefined {
  const noop = (): void => undefined;
  const patterns = makeFindMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_NAME_LENGTH,
    // Gives a match without a route.
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
