// Routes of our own OAuth 2.0: token endpoint, key set, metadata (RFC 8414). All responses of these paths have the form
// of RFC 6749, errors included. A library implements the token endpoint; the two documents are ours, because the
// library would list endpoints that do not exist and build URLs from the Host header.
import { type NodeHandler, TEMPORARY_ERROR } from '../auth/token-endpoint.ts';
import { type ApiError, methodNotAllowed } from '../errors.ts';
import { isAt, type Mount } from '../http/router.ts';
import { type ErrorDescription, type Operation, objectShape, TEXT, TEXTS } from '../openapi/operation.ts';
import { json, type Reply } from '../response/reply.ts';
import type { StoredJwk } from '../store/signing-keys.ts';

export interface OAuthServices {
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
const KEY_SET_TYPE = 'application/jwk-set+json';

/** Describes an error that may be gone when the request is repeated. */
const makeTransientError = (status: 429 | 503, when: string): ErrorDescription => ({
  status,
  code: TEMPORARY_ERROR,
  when,
});
const UNREADY_ERROR = makeTransientError(503, 'the server or its database cannot answer at the moment');
const OTHER_METHOD: ErrorDescription = { status: 405, code: 'invalid_request', when: 'the method is another one' };

const TOKEN: Operation = {
  method: 'POST',
  pattern: TOKEN_PATH,
  describe: {
    id: 'oauth.token',
    summary: 'A token for an OAuth client',
    description:
      'RFC 6749 section 4.4: the client shows id and secret, by HTTP Basic or in the body, and gets a token of its permissions. There are no refresh tokens.',
    credential: 'client',
    params: {},
    query: {},
    body: {
      type: 'application/x-www-form-urlencoded',
      shape: {
        title: 'TokenRequest',
        type: 'object',
        required: ['grant_type'],
        properties: {
          grant_type: { type: 'string', enum: ['client_credentials'] },
          resource: {
            type: 'string',
            description: 'What the token is for (RFC 8707): this server, or the address of the workspace for agents.',
          },
          scope: { type: 'string', description: 'There are none: it changes nothing.' },
          client_id: { type: 'string', description: 'Without HTTP Basic.' },
          client_secret: { type: 'string', description: 'Without HTTP Basic.' },
        },
      },
      example: { grant_type: 'client_credentials' },
    },
    responses: {
      200: {
        shape: {
          title: 'Token',
          ...objectShape({
            access_token: { type: 'string', description: 'A JWT (RFC 9068), sent as `Authorization: Bearer`.' },
            expires_in: { type: 'integer', description: 'Seconds.' },
            token_type: { type: 'string', enum: ['Bearer'] },
          }),
        },
      },
    },
    errors: [
      { status: 400, code: 'invalid_request', when: 'the request or its authentication is malformed' },
      { status: 400, code: 'unsupported_grant_type', when: '`grant_type` is another one' },
      { status: 400, code: 'invalid_target', when: '`resource` is neither this server nor the workspace for agents' },
      { status: 401, code: 'invalid_client', when: 'there is no such client, or its secret is another' },
      OTHER_METHOD,
      makeTransientError(429, 'this client has sent too many requests'),
      UNREADY_ERROR,
    ],
    errorFormat: 'oauth',
  },
};

const KEYS: Operation = {
  method: 'GET',
  pattern: KEYS_PATH,
  describe: {
    id: 'oauth.keys',
    summary: 'The public keys of our tokens',
    description: 'RFC 7517. Empty until the first token is asked for.',
    credential: 'none',
    params: {},
    query: {},
    responses: {
      200: {
        type: KEY_SET_TYPE,
        shape: objectShape({
          keys: {
            type: 'array',
            items: objectShape({ kty: TEXT, crv: TEXT, x: TEXT, y: TEXT, kid: TEXT, use: TEXT, alg: TEXT }),
          },
        }),
      },
    },
    errors: [OTHER_METHOD, UNREADY_ERROR],
    errorFormat: 'oauth',
  },
};

const METADATA: Operation = {
  method: 'GET',
  pattern: METADATA_PATH,
  describe: {
    id: 'oauth.metadata',
    summary: 'Where the token endpoint and the keys are',
    description: 'RFC 8414. Libraries for OAuth 2.0 need nothing else.',
    credential: 'none',
    params: {},
    query: {},
    responses: {
      200: {
        shape: objectShape({
          issuer: TEXT,
          authorization_endpoint: TEXT,
          token_endpoint: TEXT,
          jwks_uri: TEXT,
          grant_types_supported: TEXTS,
          response_types_supported: TEXTS,
          token_endpoint_auth_methods_supported: TEXTS,
        }),
      },
    },
    errors: [OTHER_METHOD],
    errorFormat: 'oauth',
  },
};

export function oauthMounts({ publicUrl, tokenEndpoint, publicKeys, algorithm }: OAuthServices): Mount[] {
  return [
    makeMount(TOKEN, { readyFirst: true, handle: async () => ({ serve: await tokenEndpoint() }) }),
    makeMount(KEYS, {
      readyFirst: true,
      async handle() {
        const keys = (await publicKeys()).map(({ kid, publicJwk }) => ({
          ...publicJwk,
          kid,
          use: 'sig',
          alg: algorithm,
        }));
        const text = JSON.stringify({ keys });
        return { status: 200, headers: {}, body: { kind: 'text', contentType: KEY_SET_TYPE, text } };
      },
    }),
    makeMount(METADATA, { readyFirst: false, handle: async () => json(200, buildMetadata(publicUrl)) }),
  ];
}

/** Creates a mount of one path with every method, whose errors have the form of RFC 6749. */
function makeMount(operation: Operation, { readyFirst, handle }: Pick<Mount, 'readyFirst' | 'handle'>): Mount {
  const { method, pattern: path } = operation;
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
  return {
    matches: (url) => isAt(url, path),
    readyFirst,
    operations: [operation],
    getOperationName: () => path,
    async handle(request) {
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method, methods);
      return handle(request);
    },
    toErrorReply: toErrorReply,
    isThrottled: ({ status }) => status < 500,
  };
}

/**
 * Builds the metadata (RFC 8414 section 2); `response_types_supported` is required there, and is empty without an
 * authorization endpoint. The URL of one is present all the same: the official client of agents rejects metadata
 * without it, and never uses an endpoint that supports no response type.
 */
function buildMetadata(publicUrl: string): Readonly<Record<string, unknown>> {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: publicUrl + TOKEN_PATH,
    jwks_uri: publicUrl + KEYS_PATH,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  };
}

/** Converts one of our errors to the form of RFC 6749 section 5.2. */
function toErrorReply({ status, message, headers }: ApiError): Reply {
  const error = status === 503 || status === 429 ? TEMPORARY_ERROR : status >= 500 ? 'server_error' : 'invalid_request';
  return json(status, { error, error_description: message }, headers);
}
