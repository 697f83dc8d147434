// An identity provider for trying the helpdesk, and for nothing else: whoever opens it signs in as any of its users,
// without a password. A program signs in by authorization code with PKCE (RFC 7636) and gets a JWT with the claims.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration, type JWK } from 'oidc-provider';

export const AUDIENCE = 'https://helpdesk.example';
export const CLIENT_ID = 'helpdesk';

/** The claims of each user; ids are those of data/*.csv. */
export const USERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ava: { roles: ['agent'], user_id: 1, team_ids: [1] },
  ben: { roles: ['agent'], user_id: 2, team_ids: [2] },
  carla: { roles: ['customer'], user_id: 3, company_id: 1 },
  dan: { roles: ['customer'], user_id: 4, company_id: 2 },
};

/** Starts the provider at 127.0.0.1 (`port` 0: any free one) for pages at the URLs that `getPages` returns. */
export async function startProvider(port: number, getPages: () => readonly string[]) {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let provider: Provider | undefined;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    provider ??= new Provider(issuer, configure(getPages()));
    if (request.url?.startsWith('/sign-in/')) void showUsers(provider, request, response);
    else void provider.callback()(request, response);
  });
  return { issuer, server };
}

function configure(pages: readonly string[]): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        token_endpoint_auth_method: 'none',
        redirect_uris: [...pages],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    clientBasedCORS: (_context, origin) => pages.some((page) => page.startsWith(`${origin}/`)),
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'helpdesk', alg: 'RS256', use: 'sig' } as JWK] },
    findAccount: (_context, id) =>
      Object.hasOwn(USERS, id) ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
    interactions: { url: (_context, { uid }) => `/sign-in/${uid}` },
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }) {
      const { client, session } = oidc;
      const grant = new oidc.provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope('openid');
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: '',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    extraTokenClaims: (_context, token) => ('accountId' in token ? USERS[token.accountId] : undefined),
    ttl: { AccessToken: 3600, IdToken: 3600, Session: 3600, Interaction: 600, Grant: 3600 },
  };
}

/** Shows a button for each user; the one that is pressed is signed in. */
async function showUsers(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await provider.interactionDetails(request, response);
    if (request.method === 'POST') {
      const user = new URL(request.url ?? '', 'http://provider').searchParams.get('user') ?? '';
      if (!Object.hasOwn(USERS, user)) throw new Error('no such user');
      await provider.interactionFinished(request, response, { login: { accountId: user } });
      return;
    }
    const buttons = Object.entries(USERS).map(
      ([name, { roles }]) => `<form method="post" action="?user=${name}"><button>${name} (${roles})</button></form>`,
    );
    response.setHeader('content-type', 'text/html; charset=utf-8').end(`<!doctype html>
<html lang="en"><title>Sign in</title><main><h1>Sign in as</h1>${buttons.join('')}</main></html>`);
  } catch {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('Go back to the page and sign in again');
  }
}
