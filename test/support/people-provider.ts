// A certified OpenID provider for people (oidc-provider): whoever comes is the account that the test has chosen last. What it
// would never send, a test puts into the answer of its token endpoint.
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type Configuration } from 'oidc-provider';
import { forge, signature } from './issuer.ts';

const CLIENT = { id: 'console', secret: 'secret-of-the-console-0123456789abcdef' };

export type PersonClaims = Readonly<Record<string, unknown>> & { readonly sub: string };

export interface PeopleProvider {
  readonly url: string;
  /** Settings of a server that people sign in to with this provider. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whoever comes from now on is this account. */
  choose(account: PersonClaims): void;
  /** Replaces the ID token of the next answer of the token endpoint; undefined to leave it. */
  forgeNext(replace: ((claims: Readonly<Record<string, unknown>>, key: KeyObject) => string) | undefined): void;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** `publicUrl`: URL of the server that people sign in to. */
export async function startPeopleProvider(publicUrl: string): Promise<PeopleProvider> {
  let server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let account: PersonClaims = { sub: 'nobody' };
  let replace: Parameters<PeopleProvider['forgeNext']>[0];
  const answer = makeProvider(url, privateKey, `${publicUrl}/console/sign-in/callback`, () => account);

  async function answerTokens(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const forging = replace;
    replace = undefined;
    if (forging !== undefined) {
      const end = response.end.bind(response);
      response.end = ((body: string | Buffer) => {
        const tokens = JSON.parse(String(body));
        const claims = JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url').toString());
        const text = JSON.stringify({ ...tokens, id_token: forging(claims, privateKey) });
        response.setHeader('content-length', Buffer.byteLength(text));
        return end(text);
      }) as typeof response.end;
    }
    await answer.callback()(request, response);
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { url: target = '' } = request;
    if (target.startsWith('/interaction/'))
      void answer.interactionFinished(request, response, { login: { accountId: account.sub } });
    else if (target.startsWith('/token')) void answerTokens(request, response);
    else void answer.callback()(request, response);
  };
  server.on('request', listener);

  return {
    url,
    settings: {
      PUBLIC_URL: publicUrl,
      WDA_IDP_PRIVATE_NETWORK: 'allow',
      WDA_CONSOLE_OIDC_ISSUER: url,
      WDA_CONSOLE_OIDC_CLIENT_ID: CLIENT.id,
      WDA_CONSOLE_OIDC_CLIENT_SECRET: CLIENT.secret,
      WDA_CONSOLE_OIDC_NAME: 'Acme',
      WDA_CONSOLE_OIDC_ROLE_CLAIM: 'groups',
      WDA_CONSOLE_OIDC_OPERATOR_ROLE: 'data-operators',
      WDA_SIGN_IN_RATE_LIMIT: '0',
    },
    choose(chosen) {
      account = chosen;
    },
    forgeNext(forging) {
      replace = forging;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    async start() {
      server = createServer(listener);
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    },
  };
}

function makeProvider(
  url: string,
  privateKey: KeyObject,
  redirectUri: string,
  getAccount: () => PersonClaims,
): Provider {
  const configuration: Configuration = {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' } as never] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { openid: ['sub', 'groups'], profile: ['name'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...getAccount() }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const accountId = oidc.session?.accountId as string;
      const grant = new oidc.provider.Grant({ clientId: CLIENT.id, accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    features: { devInteractions: { enabled: false } },
  };
  return new Provider(url, configuration);
}

/** A port where nobody listens, for a server whose public URL must be known before it starts. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** An ID token with these claims, signed by the key of the provider. */
export const signAs = (claims: object, key: KeyObject): string =>
  forge({ alg: 'ES256', kid: 'one', typ: 'JWT' }, claims, signature('ES256', key));

/** A browser that follows redirects, with its cookies by origin. */
export interface Browser {
  /** Follows redirects from here until a page; `stopAt`: or until this URL, with any query, which is not loaded. */
  visit(start: string, stopAt?: string): Promise<Visit>;
  /** Cookies for the origin, as in a request. */
  cookies(origin: string): string;
  setCookies: string[];
}

interface Visit {
  readonly url: string;
  /** Zero where the URL was not loaded. */
  readonly status: number;
  readonly text: string;
}

const MAX_STEPS = 12;

/** `publicUrl`: of the server at `serverUrl`. */
export function makeBrowser(publicUrl: string, serverUrl: string): Browser {
  const jars = new Map<string, Map<string, string>>();
  const setCookies: string[] = [];
  const jarFor = (origin: string): Map<string, string> => {
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };
  const cookies = (origin: string): string => [...jarFor(origin)].map(([name, value]) => `${name}=${value}`).join('; ');
  return {
    cookies,
    setCookies,
    async visit(start, stopAt) {
      let next = new URL(start);
      for (let steps = 0; steps < MAX_STEPS; steps++) {
        if (next.href.split('?')[0] === stopAt) return { url: next.href, status: 0, text: '' };
        const response = await fetch(next.href.replace(publicUrl, serverUrl), {
          redirect: 'manual',
          headers: { cookie: cookies(next.origin) },
        });
        for (const line of response.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          jarFor(next.origin).set(name, value);
          setCookies.push(line);
        }
        const location = response.headers.get('location');
        if (location === null) return { url: next.href, status: response.status, text: await response.text() };
        await response.body?.cancel();
        next = new URL(location, next);
      }
      throw new Error(`it leads nowhere: ${next}`);
    },
  };
}
