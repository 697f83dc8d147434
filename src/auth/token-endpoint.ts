// The token endpoint (RFC 6749 section 4.4: client credentials), by the certified library oidc-provider: it reads the
// request, authenticates the client, creates the token and replies, errors included. Not used here: sessions, cookies,
// storage (JWT access tokens are not stored), the key set and the metadata, which are in routes/oauth.ts.
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Adapter, Configuration, errors as oidcErrors, Provider } from 'oidc-provider';
import { ApiError } from '../errors.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { RegisteredClient } from '../store/oauth-clients.ts';
import { WORKSPACE_CLAIM } from './internal-token.ts';
import { isClientId, isSecret } from './oauth-client.ts';
import { SIGNING_ALGORITHM, type SigningKey } from './signing-keys.ts';

export interface TokenEndpointOptions {
  /** Our `iss`; also the default resource of tokens (RFC 8707). */
  readonly issuer: string;
  /** Returns the other resource that tokens of a client may be issued for, or undefined if there is none. */
  readonly getResource: (client: Pick<RegisteredClient, 'organization' | 'workspace'>) => string | undefined;
  readonly path: string;
  readonly tokenLifetimeSeconds: number;
  readonly signingKey: () => Promise<SigningKey>;
  readonly findClient: (clientId: string) => Promise<RegisteredClient | undefined>;
  /** Rate limit of clients that have presented their secret. */
  readonly rateLimit: RateLimit;
  /** Resolves when an error may be sent. */
  readonly waitForThrottle: () => Promise<void>;
  readonly onError: (message: string, error: unknown) => void;
  /** Called when a client disconnects before its reply. */
  readonly onDisconnect: (message: string, error: unknown) => void;
}

/** Client metadata (in the library's sense) with the other resource that its tokens may be issued for. */
const RESOURCE = 'workspace_resource';

/** Handles a request, including its response. */
export type NodeHandler = (message: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Creates the function that returns the handler of one POST request with the current signing key. */
export function makeTokenEndpoint(options: TokenEndpointOptions): () => Promise<NodeHandler> {
  let cached: { readonly kid: string; readonly handler: Promise<NodeHandler> } | undefined;
  return async () => {
    const key = await options.signingKey();
    // The library takes its keys once, at construction, which takes half a millisecond.
    if (cached?.kid !== key.kid) cached = { kid: key.kid, handler: makeHandler(options, key) };
    return cached.handler;
  };
}

async function makeHandler(options: TokenEndpointOptions, key: SigningKey): Promise<NodeHandler> {
  // Loaded for the first token request: it takes 140 ms and 30 MB that a server without clients need not spend.
  const { default: OidcProvider, errors } = await import('oidc-provider');
  const provider = new OidcProvider(options.issuer, buildConfiguration(options, key, errors));
  // Secrets are stored as hashes: the library allows to replace this method for that.
  provider.Client.prototype.compareClientSecret = async function compareHash(secret) {
    if (!isSecret(secret, this.clientSecret ?? '')) return false;
    // Counted only after the secret was verified: client ids are public, and a stranger must not use up the client's
    // limit.
    await applyRateLimit(this.clientId);
    return true;
  };
  async function applyRateLimit(clientId: string): Promise<void> {
    try {
      await options.rateLimit(`token:${clientId}`);
    } catch (error) {
      throw error instanceof ApiError && error.status !== 500 ? toTemporaryError(error, errors) : error;
    }
  }
  throttleErrors(provider, options.waitForThrottle);
  keepServerHeaders(provider);
  provider.on('server_error', (_context, error) => options.onError('the token endpoint failed', error));
  // Koa logs unhandled errors to stderr, so a listener is added. The library's types hide that it is a Koa app.
  (provider as EventEmitter).on('error', (error, context?: { readonly req: IncomingMessage }) => {
    if (context?.req.socket.destroyed) options.onDisconnect('a client of the token endpoint has disconnected', error);
    else options.onError('the token endpoint failed', error);
  });
  return provider.callback() as NodeHandler;
}

function buildConfiguration(options: TokenEndpointOptions, key: SigningKey, errors: typeof oidcErrors): Configuration {
  const { issuer, tokenLifetimeSeconds } = options;
  const disabled = { enabled: false } as const;
  return {
    adapter: (model) => makeAdapter(model, options, errors),
    jwks: { keys: [{ ...key.privateJwk, kid: key.kid, alg: SIGNING_ALGORITHM, use: 'sig' }] },
    routes: { token: options.path },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: SIGNING_ALGORITHM,
    },
    enabledJWA: { idTokenSigningAlgValues: [SIGNING_ALGORITHM] },
    scopes: [],
    ttl: { ClientCredentials: tokenLifetimeSeconds },
    extraClientMetadata: { properties: [WORKSPACE_CLAIM, RESOURCE] },
    extraTokenClaims: ({ oidc }) => ({ [WORKSPACE_CLAIM]: oidc.client?.[WORKSPACE_CLAIM] }),
    // CORS is decided by the server for all paths alike.
    clientBasedCORS: () => true,
    // Clients that accept HTML get the same JSON.
    renderError(context, out) {
      context.type = 'json';
      context.body = out;
    },
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        getResourceServerInfo(_context, resource, client) {
          if (resource !== issuer && resource !== client[RESOURCE]) throw new errors.InvalidTarget();
          return {
            scope: '',
            audience: resource,
            accessTokenFormat: 'jwt',
            accessTokenTTL: tokenLifetimeSeconds,
            jwt: { sign: { alg: SIGNING_ALGORITHM, kid: key.kid } },
          };
        },
      },
      // Disabled, as it would fetch URLs for callers without a credential.
      clientIdMetadataDocument: disabled,
      devInteractions: disabled,
      dPoP: disabled,
      pushedAuthorizationRequests: disabled,
      rpInitiatedLogout: disabled,
      userinfo: disabled,
    },
  };
}

/** Adapter of the library: clients come from the control tables; it neither finds nor stores anything else. */
function makeAdapter(model: string, options: TokenEndpointOptions, errors: typeof oidcErrors): Adapter {
  const never = (): Promise<never> => Promise.reject(new TypeError(`the token endpoint stores no ${model}`));
  return {
    async find(id) {
      if (model !== 'Client' || !isClientId(id)) return undefined;
      try {
        const client = await options.findClient(id);
        if (client === undefined) return undefined;
        const resource = options.getResource(client);
        return {
          client_id: id,
          client_secret: client.secretHash,
          [WORKSPACE_CLAIM]: client.workspaceId,
          ...(resource === undefined ? {} : { [RESOURCE]: resource }),
        };
      } catch (error) {
        throw error instanceof ApiError && error.status !== 500 ? toTemporaryError(error, errors) : error;
      }
    },
    upsert: never,
    findByUserCode: never,
    findByUid: never,
    consume: never,
    destroy: never,
    revokeByGrantId: never,
  };
}

/** Converts one of our errors (429, 503) to the library's form. */
function toTemporaryError(error: ApiError, errors: typeof oidcErrors): Error {
  const { status, message, headers } = error;
  return Object.assign(new errors.CustomOIDCProviderError(TEMPORARY_ERROR, message), {
    status,
    statusCode: status,
    expose: true,
    retryAfter: headers['Retry-After'],
  });
}

/** Error code of transient errors (RFC 6749 has it for its other endpoint). */
export const TEMPORARY_ERROR = 'temporarily_unavailable';

// CORS headers that the library would set itself; ours are kept.
const CORS_HEADERS = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] as const;

function throttleErrors(provider: Provider, throttle: () => Promise<void>): void {
  provider.use(async ({ res }, next) => {
    await next();
    if (res.statusCode >= 400) await throttle();
  });
}

function keepServerHeaders(provider: Provider): void {
  provider.on('grant.error', (context, error) => {
    const { retryAfter } = error as { retryAfter?: string };
    if (retryAfter !== undefined) context.set('Retry-After', retryAfter);
  });
  provider.use(async ({ req, res }, next) => {
    const serverHeaders = CORS_HEADERS.map((name) => [name, res.getHeader(name)] as const);
    await next();
    for (const [name, value] of serverHeaders) {
      if (value === undefined) res.removeHeader(name);
      else res.setHeader(name, value);
    }
    // A connection that stays open would have to read a rejected body to its end.
    if (!req.complete) res.setHeader('Connection', 'close');
  });
}
