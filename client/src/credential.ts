// Fetches and caches tokens of OAuth 2.0 clients.
import { WdaError } from './error.ts';
import { type CredentialContext, reached } from './transport.ts';

/**
 * Creates a credential from the id and secret of an OAuth client (RFC 6749 section 4.4): fetches a token when one is needed,
 * caches it until a minute before its expiry, and fetches another one when it was rejected.
 */
export function clientCredentials(client: {
  readonly clientId: string;
  readonly clientSecret: string;
}): (context: CredentialContext) => Promise<string> {
  let token: Promise<TokenAnswer> | undefined;
  let current: string | undefined;
  let until = 0;
  return async ({ url, refused, fetch }) => {
    // Concurrent requests whose token is missing or rejected share one fetch.
    if (token === undefined || (current !== undefined && (Date.now() > until || refused === current))) {
      current = undefined;
      token = askToken(url, client, fetch);
    }
    try {
      const { access_token, expires_in } = await token;
      if (current === undefined) until = Date.now() + (expires_in - 60) * 1000;
      current = access_token;
      return access_token;
    } catch (error) {
      token = undefined;
      throw error;
    }
  };
}

interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
}

async function askToken(
  url: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  ask: typeof fetch,
): Promise<TokenAnswer> {
  const response = await reached(
    ask(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
    }),
  );
  const answer = (await response.json().catch(() => ({}))) as TokenAnswer & { readonly error_description?: string };
  if (response.ok) return answer;
  const { status } = response;
  throw new WdaError(answer.error_description ?? `The token endpoint answered ${status}`, {
    status,
    code: status === 429 ? 'RATE_LIMITED' : status < 500 ? 'UNAUTHORIZED' : 'SERVICE_UNAVAILABLE',
    retryAfterSeconds: Number(response.headers.get('Retry-After')) || undefined,
  });
}
