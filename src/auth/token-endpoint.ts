// The token endpoint (RFC 6749 section 4.4: client credentials), by the certified library oidc-provider: it reads the
// request, authenticates the client, makes the token and answers, refusals included. What it does not do here:
// sessions, cookies, storage (JWT access tokens are not stored), the key set and the metadata, which routes/oauth.ts
// has.
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
  /** Our `iss`; also the resource that tokens are for unless another is asked for (RFC 8707). */
  readonly issuer: string;
  /** The other resource that tokens of a client may be for; undefined: none. */
  readonly getResource: (client: Pick<RegisteredClient, 'organization' | 'workspace'>) => string | undefined;
  readonly path: string;
  readonly tokenLifetimeSeconds: number;
  readonly signingKey: () => Promise<SigningKey>;
  readonly findClient: (clientId: string) => Promise<RegisteredClient | undefined>;
  /** Counts requests of clients that have shown their secret. */
  readonly rateLimit: RateLimit;
  /** Resolves when a refusal may be sent. */
  readonly waitForThrottle: () => Promise<void>;
  readonly onError: (message: string, error: unknown) => void;
  /** Called when a client does not wait for its answer. */
  readonly onDisconnect: (message: string, error: unknown) => void;
}

/** Of a client, in the words of the library: the other resource that its tokens may be for. */
const RESOURCE = 'workspace_resource';

/** Answers a request by itself. */
export type NodeHandler = (message: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Gives the handler for one POST request, with the key that signs now. */
export function makeTokenEndpoint(options: TokenEndpointOptions): () => Promise<NodeHandler> {
  let cached: { readonly kid: string; readonly handler: Promise<NodeHandler> } | undefined;
  return async () => {
    const key = await options.signingKey();
    // The library takes its keys once, when it is made; making it takes half a millisecond.
    if (cached?.kid !== key.kid) cached = { kid: key.kid, handler: makeHandler(options, key) };
    return cached.handler;
  };
}

async function makeHandler(options: TokenEndpointOptions, key: SigningKey): Promise<NodeHandler> {
  // Loaded when the first token is asked for: it takes 140 ms and 30 MB that a server without clients need not spend.
  const { default: OidcProvider, errors } = await import('oidc-provider');
  const provider = new OidcProvider(options.issuer, buildConfiguration(options, key, errors));
  // Secrets are stored as hashes: the library lets this method be replaced for that.
  provider.Client.prototype.compareClientSecret = async function compareHash(secret) {
    if (!isSecret(secret, this.clientSecret ?? '')) return false;
    // Counted only now: a client's id is not secret, and others who know it must not use up the client's limit.
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
  // Koa prints errors that nobody listens to; the library's types do not know that it is one.
  (provider as EventEmitter).on('error', (error, context?: { readonly req: IncomingMessage }) => {
    if (context?.req.socket.destroyed) options.onDisconnect('a client of the token endpoint went away', error);
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
    // The server decides for all paths alike which origins may call.
    clientBasedCORS: () => true,
    // Clients that ask for HTML get the same JSON.
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
      // It would fetch URLs for callers without a credential.
      clientIdMetadataDocument: disabled,
      devInteractions: disabled,
      dPoP: disabled,
      pushedAuthorizationRequests: disabled,
      rpInitiatedLogout: disabled,
      userinfo: disabled,
    },
  };
}

/** Clients come from the control tables; nothing else is looked up, and nothing is ever stored. */
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

/** Gives one of our refusals (429, 503) in the library's form. */
function toTemporaryError(error: ApiError, errors: typeof oidcErrors): Error {
  const { status, message, headers } = error;
  return Object.assign(new errors.CustomOIDCProviderError(TEMPORARY_ERROR, message), {
    status,
    statusCode: status,
    expose: true,
    retryAfter: headers['Retry-After'],
  });
}

/**
 * The error code of refusals that may be gone when the request is repeated (RFC 6749 has it for its other endpoint).
 */
export const TEMPORARY_ERROR = 'temporarily_unavailable';

// Headers that the library would set by itself for CORS; ours stay.
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
    // A connection that stays open would have to read a refused body to its end.
    if (!req.complete) res.setHeader('Connection', 'close');
  });
}
