// A certified OpenID provider in the test process (oidc-provider), whose tokens the server must accept: client
// credentials with resource indicators (RFC 8707), so that a token asked for with a resource is a JWT and one without is
// opaque. Its keys are known to the test, which can so forge what the provider would never sign.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration, type JWK } from 'oidc-provider';

type SigningAlgorithm = 'RS256' | 'PS256' | 'ES256';

export interface Issuer {
  /** As in `iss` and in the discovery document. */
  readonly url: string;
  readonly jwksUri: string;
  /** Requests that came, by path. */
  readonly requests: Map<string, number>;
  /** A token of the client `app`; with a resource a JWT for it, without one an opaque token. */
  token(wish?: TokenWish): Promise<string>;
  /** Other keys from now on; tokens of before are still signed by the old ones. */
  rotate(): void;
  /** The key that signs with the algorithm at the moment. */
  key(algorithm: SigningAlgorithm): SigningKey;
  /** Nobody listens any more; start() listens again at the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

interface TokenWish {
  readonly resource?: string;
  readonly algorithm?: SigningAlgorithm;
  /** Claims beside those of the provider. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly lifetimeSeconds?: number;
}

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

const SECRET = 'secret-of-the-app-0123456789abcdef';

/** `path` is the end of the issuer's URL: '' or '/' or '/tenant' or '/tenant/'. */
export async function startIssuer(path = ''): Promise<Issuer> {
  const requests = new Map<string, number>();
  const mount = path.replace(/\/$/, '');
  let generation = 0;
  let keys = makeKeys(generation);
  let provider: ReturnType<typeof makeProvider>;
  let wish: TokenWish = {};

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const target = (request.url ?? '/').split('?')[0] as string;
    requests.set(target, (requests.get(target) ?? 0) + 1);
    if (!target.startsWith(`${mount}/`)) {
      response.writeHead(404).end();
      return;
    }
    (request as IncomingMessage & { originalUrl?: string }).originalUrl = request.url ?? '/';
    request.url = (request.url ?? '/').slice(mount.length);
    void provider.callback()(request, response);
  };
  let server: Server = createServer(listener);
  const port = await listen(server, 0);
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}${path}`;
  const renew = (): void => {
    provider = makeProvider(url, Object.values(keys), () => wish);
  };
  renew();

  return {
    url,
    jwksUri: `${origin}${mount}/jwks`,
    requests,
    async token(wanted = {}) {
      // The provider asks for the wish while it answers; tests ask for one token at a time.
      wish = wanted;
      const response = await fetch(`${origin}${mount}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`app:${SECRET}`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          ...(wanted.resource === undefined ? {} : { resource: wanted.resource }),
        }),
      });
      const answer = (await response.json()) as { access_token?: string };
      if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
      return answer.access_token;
    },
    rotate() {
      keys = makeKeys(++generation);
      renew();
    },
    key: (algorithm) => {
      const jwk = keys[algorithm];
      return { kid: jwk.kid as string, privateKey: createPrivateKey({ key: jwk as object, format: 'jwk' }) };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    async start() {
      server = createServer(listener);
      await listen(server, port);
    },
  };
}

function makeProvider(issuer: string, keys: readonly JWK[], wish: () => TokenWish): Provider {
  const configuration: Configuration = {
    clients: [
      {
        client_id: 'app',
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    jwks: { keys: [...keys] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: wish().algorithm ?? 'RS256' } },
        }),
      },
    },
    extraTokenClaims: () => ({ ...wish().claims }),
    ttl: { ClientCredentials: () => wish().lifetimeSeconds ?? 600 },
  };
  return new Provider(issuer, configuration);
}

function makeKeys(generation: number): Readonly<Record<SigningAlgorithm, JWK>> {
  const jwk = (algorithm: SigningAlgorithm): JWK => {
    const { privateKey } =
      algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
    return {
      ...privateKey.export({ format: 'jwk' }),
      kid: `${algorithm}-${generation}`,
      alg: algorithm,
      use: 'sig',
    } as JWK;
  };
  return { RS256: jwk('RS256'), PS256: jwk('PS256'), ES256: jwk('ES256') };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** A JWT written by hand. Header and claims are values or JSON text as it shall stand there; without a key it has no signature. */
export function forge(header: object | string, claims: object | string, signature?: (input: Buffer) => Buffer): string {
  const part = (value: object | string): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${signature === undefined ? '' : signature(Buffer.from(input)).toString('base64url')}`;
}

/** RS256, PS256, ES256 and their sisters (RFC 7518 section 3) with a key of node's. */
export function signature(algorithm: string, key: KeyObject): (input: Buffer) => Buffer {
  const digest = `sha${algorithm.slice(2)}`;
  return (input) =>
    signBytes(digest, input, {
      key,
      ...(algorithm.startsWith('PS') ? { padding: 6, saltLength: -1 } : {}),
      ...(algorithm.startsWith('ES') ? { dsaEncoding: 'ieee-p1363' as const } : {}),
    });
}
