// OAuth 2.0 of our own: token endpoint, key set, metadata (RFC 8414). Everything at these paths answers in the form of
// RFC 6749, refusals included. A library speaks the protocol of the token endpoint; the two documents are ours, because
// the library would list endpoints that are not there and build URLs from the Host header.
import { type NodeHandler, PASSING } from '../auth/token-endpoint.ts';
import type { StoredJwk } from '../directory/signing-keys.ts';
import { type ApiError, methodNotAllowed } from '../errors.ts';
import { isAt, type Mount } from '../http/mount.ts';
import { json, type Reply } from '../response/reply.ts';

export interface OAuthRooms {
  /** Base of all URLs, and `iss`. */
  readonly publicUrl: string;
  readonly tokenEndpoint: () => Promise<NodeHandler>;
  /** Public halves of the keys that verify. */
  readonly publicKeys: () => Promise<readonly { readonly kid: string; readonly publicJwk: StoredJwk }[]>;
  readonly algorithm: string;
}

export const TOKEN_PATH = '/oauth/token';
const KEYS_PATH = '/oauth/jwks';
const METADATA_PATH = '/.well-known/oauth-authorization-server';
const READ = ['GET', 'HEAD'];

export function oauthMounts({ publicUrl, tokenEndpoint, publicKeys, algorithm }: OAuthRooms): Mount[] {
  return [
    mountAt(TOKEN_PATH, ['POST'], { readyFirst: true, handle: async () => ({ serve: await tokenEndpoint() }) }),
    mountAt(KEYS_PATH, READ, {
      readyFirst: true,
      async handle() {
        const keys = (await publicKeys()).map(({ kid, publicJwk }) => ({
          ...publicJwk,
          kid,
          use: 'sig',
          alg: algorithm,
        }));
        const text = JSON.stringify({ keys });
        return { status: 200, headers: {}, body: { kind: 'text', contentType: 'application/jwk-set+json', text } };
      },
    }),
    mountAt(METADATA_PATH, READ, { readyFirst: false, handle: async () => json(200, metadata(publicUrl)) }),
  ];
}

/** A mount of one path with every method, whose refusals have the form of RFC 6749. */
function mountAt(
  path: string,
  methods: readonly string[],
  { readyFirst, handle }: Pick<Mount, 'readyFirst' | 'handle'>,
): Mount {
  return {
    matches: (url) => isAt(url, path),
    readyFirst,
    operationOf: () => path,
    async handle(request) {
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method, methods);
      return handle(request);
    },
    refuse: refusalReply,
    isPaced: ({ status }) => status < 500,
  };
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
