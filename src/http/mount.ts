// A part of the server as a value: which URLs are its own, who answers there, and how it refuses. The server has a list
// of them and knows nothing else of what it serves.
import { type ApiError, badRequest, notFound, serviceUnavailable } from '../errors.ts';
import type { Operation } from '../openapi/operation.ts';
import { errorReply } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import type { RawRequest } from './raw-request.ts';
import type { Delegation } from './reply.ts';

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
  readonly groupOf?: (url: string) => string;
  /** The request's name in metrics: a word of a small set. UNKNOWN for what leads nowhere. */
  readonly operationOf: (method: string, url: string) => string;
  /** Gives the answer, or the library that will answer. What it throws goes to `refuse`. */
  readonly handle: (request: RawRequest) => Promise<Reply | Delegation>;
  /** The reply to a refusal, in the form of the mount. */
  readonly refuse: (refusal: ApiError) => Reply;
  /**
   * True for a refusal of a request without a valid credential: it is sent at a limited pace, as all of UNKNOWN are.
   */
  readonly isPaced: (refusal: ApiError) => boolean;
}

/** In metrics: a request that leads nowhere. */
export const UNKNOWN = 'unknown';

/**
 * How most mounts refuse: with the body of the API's errors; the refusal of a missing or wrong credential waits for its
 * turn.
 */
export const USUAL_REFUSALS: Pick<Mount, 'refuse' | 'isPaced'> = {
  refuse: errorReply,
  isPaced: ({ status }) => status === 401,
};

/** True for a URL with this path, with or without a slash at its end and a query. */
export function isAt(url: string, path: string): boolean {
  return url.startsWith(path) && /^\/?(?:\?|$)/.test(url.slice(path.length));
}

/** The same mount while the server is not ready; `reason` says why. */
export function closed(mount: Mount, reason: () => string | undefined): Mount {
  const { matches, readyFirst, ownHeaders, operations, refuse, isPaced } = mount;
  return {
    matches,
    readyFirst,
    ...(ownHeaders === undefined ? {} : { ownHeaders }),
    operations,
    operationOf: () => 'unready',
    handle: () => Promise.reject(serviceUnavailable(reason() ?? 'Not ready yet; retry')),
    refuse,
    isPaced,
  };
}

const ANYWHERE = { ...USUAL_REFUSALS, matches: () => true, readyFirst: false, operations: [] } as const;

/** CORS preflight (WHATWG Fetch) and plain OPTIONS, without a credential: browsers send none. */
export const PREFLIGHT: Mount = {
  ...ANYWHERE,
  operationOf: () => 'options',
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
export const HOSTLESS: Mount = {
  ...ANYWHERE,
  operationOf: () => UNKNOWN,
  handle: () => Promise.reject(badRequest('The Host header is missing')),
};

/** Takes the target `*` of all methods but OPTIONS: it is no place (RFC 9112 section 3.2.4). */
export const PLACELESS: Mount = {
  ...ANYWHERE,
  operationOf: () => UNKNOWN,
  handle: () => Promise.reject(badRequest('The request target must be a path; only OPTIONS takes *')),
};

/** Takes what no mount of the list does. */
export const NOWHERE: Mount = {
  ...ANYWHERE,
  readyFirst: true,
  operationOf: () => UNKNOWN,
  handle: ({ path }) =>
    Promise.reject(
      isDecodable(path) ? notFound(`There is nothing at ${path.slice(0, 200)}`) : badRequest('The path is malformed'),
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
