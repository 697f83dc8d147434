// OAuth 2.0 of our own: token endpoint, key set, metadata (RFC 8414). Everything at these paths answers in RFC 6749's
// words, refusals included. A library speaks the protocol of the token endpoint; the two documents are ours, because
// the library would list endpoints that are not there and build URLs from the Host header.
import { type NodeHandler, PASSING } from '../auth/token-endpoint.ts';
import type { StoredJwk } from '../directory/signing-keys.ts';
import { type ApiError, methodNotAllowed, serviceUnavailable } from '../errors.ts';
import type { PathHandler } from '../http/server.ts';
import { toApiError } from '../response/error-body.ts';
import { json, type Reply } from '../response/reply.ts';

export interface OAuthRooms {
  /** Base of all URLs, and `iss`. */
  readonly publicUrl: string;
  readonly tokenEndpoint: () => Promise<NodeHandler>;
  /** Public halves of the keys that verify. */
  readonly publicKeys: () => Promise<readonly { readonly kid: string; readonly publicJwk: StoredJwk }[]>;
  readonly algorithm: string;
  /** Why requests cannot be served, or undefined. */
  readonly unready: () => string | undefined;
  /** Resolves when a request that no credential carries may be refused. */
  readonly refusalTurn: () => Promise<void>;
  readonly onError: (message: string, error: unknown) => void;
}

export const TOKEN_PATH = '/oauth/token';
const KEYS_PATH = '/oauth/jwks';
const METADATA_PATH = '/.well-known/oauth-authorization-server';

/** The handlers by path. */
export function oauthPaths(rooms: OAuthRooms): ReadonlyMap<string, PathHandler> {
  const { publicUrl, unready, onError } = rooms;
  const at = (path: string, methods: readonly string[], handle: PathHandler): [string, PathHandler] => [
    path,
    async (raw) => {
      try {
        if (!methods.includes(raw.method)) throw methodNotAllowed(raw.method, methods);
        return await handle(raw);
      } catch (error) {
        const refusal = toApiError(error);
        if (refusal.status >= 500 && refusal.status !== 503) onError(`${path} failed`, error);
        if (refusal.status < 500) await rooms.refusalTurn();
        return refusalReply(refusal);
      }
    },
  ];
  const requireReady = (): void => {
    const reason = unready();
    if (reason !== undefined) throw serviceUnavailable(reason);
  };
  return new Map([
    at(TOKEN_PATH, ['POST'], async () => {
      requireReady();
      return { serve: await rooms.tokenEndpoint() };
    }),
    at(KEYS_PATH, ['GET', 'HEAD'], async () => {
      requireReady();
      const keys = (await rooms.publicKeys()).map(({ kid, publicJwk }) => ({
        ...publicJwk,
        kid,
        use: 'sig',
        alg: rooms.algorithm,
      }));
      const text = JSON.stringify({ keys });
      return { status: 200, headers: {}, body: { kind: 'text', contentType: 'application/jwk-set+json', text } };
    }),
    at(METADATA_PATH, ['GET', 'HEAD'], async () => json(200, metadata(publicUrl))),
  ]);
}

/** RFC 8414 section 2; `response_types_supported` is required there, and there are none without an authorization endpoint. */
function metadata(publicUrl: string): Readonly<Record<string, unknown>> {
  return {
    issuer: publicUrl,
    token_endpoint: publicUrl + TOKEN_PATH,
    jwks_uri: publicUrl + KEYS_PATH,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  };
}

/** One of our refusals in the form of RFC 6749 section 5.2. */
function refusalReply({ status, message, headers }: ApiError): Reply {
  const error = status === 503 || status === 429 ? PASSING : status >= 500 ? 'server_error' : 'invalid_request';
  return json(status, { error, error_description: message }, headers);
}
