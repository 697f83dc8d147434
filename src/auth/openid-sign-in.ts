// Signs people in with the OpenID provider of the installation: authorization code with PKCE, state and nonce (OpenID Connect
// Core 1.0 section 3.1, RFC 7636). Nothing is stored while a person is at the provider: state, nonce and verifier are derived
// from a cookie of the browser, so memory does not grow, every process can complete what another has started, and the answer to
// one browser's sign-in is of no use to another. The protocol is that of openid-client, whose requests go through the HTTP client.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthorizationCodeGrantChecks, ClientAuth, Configuration, ServerMetadata } from 'openid-client';
import { HttpClientError } from '../http-client/errors.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import { type Claims, findClaim, findRoles } from '../model/claim.ts';
import { isStorable } from '../model/exact-json.ts';
import { parseMailAddress } from '../model/mail-address.ts';
import type { SignedIn } from '../store/people.ts';
import { ALGORITHMS } from './jwk.ts';
import { fetchMetadata } from './key-set.ts';
import { isOperatorRole, type PeopleSettings } from './people.ts';

/** The console as a client of the provider. */
export interface SignInSettings extends PeopleSettings {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
}

/** Reason of a sign-in that failed: the cookie does not belong to the answer or is old, or the provider says no. */
export class SignInError extends Error {
  readonly kind: 'outdated' | 'refused' | 'unavailable' | 'stranger';
  /** Mail address or name of a person who is a member nowhere, as the provider has it. */
  readonly who: string | undefined;
  constructor(kind: SignInError['kind'], message: string, options: ErrorOptions & { readonly who?: string } = {}) {
    super(message, options);
    this.name = 'SignInError';
    this.kind = kind;
    this.who = options.who;
  }
}

export interface OpenIdSignIn {
  /** Returns the URL of the provider to go to, and the value of the cookie. Throws SignInError. */
  begin(returnTo: string): Promise<{ readonly location: string; readonly ticket: string }>;
  /** Returns the path that a cookie was made for if it belongs to the answer of the provider. Throws SignInError. */
  check(tickets: readonly string[], answer: URLSearchParams): Promise<Checked>;
  /** Exchanges the code and returns the id of the person. Throws SignInError. */
  complete(checked: Checked): Promise<string>;
}

/** An answer of the provider that belongs to the browser that it came from. */
export interface Checked {
  readonly ticket: string;
  readonly answer: URLSearchParams;
  readonly returnTo: string;
}

export interface OpenIdSignInOptions {
  readonly settings: SignInSettings;
  readonly redirectUri: string;
  readonly outbound: HttpClient;
  /** Tolerated clock difference between provider and server, in seconds. */
  readonly clockSkewSeconds: number;
  /** Secret of the installation that tickets are authenticated with. */
  readonly secret: () => Promise<string>;
  /** Stores the sign-in and returns the id of the person, or undefined for a person who is a member nowhere. */
  readonly store: (person: SignedIn, isOperator: boolean) => Promise<string | undefined>;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

/** The provider, and the library (450 kB of heap), which is imported by the first sign-in. */
interface Provider {
  readonly library: typeof import('openid-client');
  readonly configuration: Configuration;
}

export const MAX_TICKET_SECONDS = 600;
// The process that began a sign-in may have a clock ahead of this one's, and a provider may send the browser back at once.
const MAX_AHEAD_SECONDS = 60;
const TIMEOUT_SECONDS = 5;
const METADATA_MS = 10 * 60_000;
// Time after a failure in which the provider is not asked again, however many people want to sign in.
const RETRY_MS = 2000;
const MAX_NAME = 200;
// OpenID Connect Core 1.0 section 2 has this limit for `sub`.
const MAX_SUBJECT = 255;
const MAX_ROLES = 200;
// Longer ones are no member's. Each request of the person reads all of them.
const MAX_ROLE = 200;
const SCOPE = 'openid email profile';

export function makeOpenIdSignIn(options: OpenIdSignInOptions): OpenIdSignIn {
  const { settings, redirectUri, secret, store, now } = options;
  const loadProvider = makeLoadProvider(options);

  const derive = async (purpose: 'state' | 'nonce' | 'verifier', ticket: string): Promise<string> =>
    createHmac('sha256', await secret())
      .update(`${purpose} ${ticket}`)
      .digest('base64url');

  /** Returns the claims of the ID token, with those of the userinfo endpoint where the ID token lacks some. */
  async function loadClaims(
    { library, configuration }: Provider,
    { answer }: Checked,
    checks: AuthorizationCodeGrantChecks,
  ): Promise<Claims> {
    const url = new URL(`${redirectUri}?${answer}`);
    const tokens = await library.authorizationCodeGrant(configuration, url, { ...checks, idTokenExpected: true });
    const claims = tokens.claims() as Claims & { readonly sub: string };
    if ((claims.azp ?? settings.clientId) !== settings.clientId) throw refused('its ID token is for another client');
    const needed = ['email', 'name', ...(settings.roleClaim === null ? [] : [settings.roleClaim])];
    const isComplete = needed.every((name) => findClaim(claims, name) !== undefined);
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const more: Claims = await library.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    // Takes both from one document: `email_verified` is about the address next to it.
    const isOwn = claims.email !== undefined && (claims.email !== more.email || claims.email_verified !== undefined);
    const { email, email_verified } = isOwn ? claims : more;
    return { ...more, ...claims, email, email_verified };
  }

  return {
    async begin(returnTo) {
      const { library, configuration } = await loadProvider();
      const random = randomBytes(32).toString('base64url');
      const ticket = `${Math.floor(now() / 1000)}.${random}.${Buffer.from(returnTo).toString('base64url')}`;
      const location = library.buildAuthorizationUrl(configuration, {
        ...{ scope: SCOPE, redirect_uri: redirectUri, code_challenge_method: 'S256' },
        ...{ state: await derive('state', ticket), nonce: await derive('nonce', ticket) },
        code_challenge: await library.calculatePKCECodeChallenge(await derive('verifier', ticket)),
      });
      return { location: location.href, ticket };
    },
    async check(tickets, answer) {
      const state = answer.get('state') ?? '';
      for (const ticket of tickets) {
        const [seconds = '', , path = ''] = ticket.split('.');
        if (!isSame(await derive('state', ticket), state)) continue;
        const age = now() / 1000 - Number(seconds);
        if (!(age >= -MAX_AHEAD_SECONDS && age <= MAX_TICKET_SECONDS)) break;
        return { ticket, answer, returnTo: Buffer.from(path, 'base64url').toString() };
      }
      throw new SignInError('outdated', 'the sign-in was started in another browser, or too long ago');
    },
    async complete(checked) {
      const { ticket } = checked;
      const checks = {
        expectedState: await derive('state', ticket),
        expectedNonce: await derive('nonce', ticket),
        pkceCodeVerifier: await derive('verifier', ticket),
      };
      const provider = await loadProvider();
      const claims = await loadClaims(provider, checked, checks).catch((error) => {
        throw toSignInError(error);
      });
      const person = toSignedIn(claims, settings);
      const id = await store(person, isOperatorRole(settings, person.claims));
      if (id === undefined) {
        const who = person.email ?? `${person.name} (${person.subject})`;
        throw new SignInError('stranger', 'the person is a member nowhere', { who });
      }
      return id;
    },
  };
}

/** Makes the function that loads the provider, from memory for ten minutes. Throws SignInError. */
function makeLoadProvider(options: OpenIdSignInOptions): () => Promise<Provider> {
  const { settings, outbound, clockSkewSeconds, now } = options;
  const { issuer, clientId } = settings;
  let last: { readonly provider: Promise<Provider>; readonly until: number } | undefined;

  async function load(): Promise<Provider> {
    const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
    const metadata = await fetchMetadata(outbound, issuer, signal, { isPrivate: false }).catch((error) => {
      throw toSignInError(error);
    });
    // A list of algorithms of our own: the library would accept RS256 alone where the provider names none.
    const server = { ...(metadata as ServerMetadata), id_token_signing_alg_values_supported: [...ALGORITHMS] };
    if ([server.authorization_endpoint, server.token_endpoint].some((url) => outbound.findMistake(String(url))))
      throw new SignInError('unavailable', 'its metadata lack authorization_endpoint or token_endpoint');
    const library = await import('openid-client');
    const authentication = chooseAuthentication(library, settings, server);
    const client = { [library.clockTolerance]: clockSkewSeconds };
    const configuration = new library.Configuration(server, clientId, client, authentication);
    configuration.timeout = TIMEOUT_SECONDS;
    configuration[library.customFetch] = (url, { method, headers, body, signal }) =>
      outbound.fetch(url, {
        method: method as 'GET' | 'POST',
        headers,
        body: body?.toString() ?? null,
        signal: signal ?? null,
      });
    // The HTTP client knows which addresses may be reached by plain http; there only the signature protects an ID token.
    library.allowInsecureRequests(configuration);
    library.enableNonRepudiationChecks(configuration);
    return { library, configuration };
  }

  return () => {
    if (last === undefined || now() >= last.until) {
      const provider = load();
      const own = { provider, until: now() + METADATA_MS };
      last = own;
      provider.catch(() => {
        if (last === own) last = { provider, until: now() + RETRY_MS };
      });
    }
    return last.provider;
  };
}

/** Chooses client_secret_basic, unless the provider knows client_secret_post alone. */
function chooseAuthentication(
  library: Provider['library'],
  { clientSecret }: SignInSettings,
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
): ClientAuth {
  if (clientSecret === undefined) return library.None();
  if (Array.isArray(methods) && !methods.includes('client_secret_basic')) return library.ClientSecretPost(clientSecret);
  // RFC 6749 section 2.3.1. The library's own escapes - and _ as well, which not every provider decodes.
  const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, { client_id: id }, _body, headers) => {
    headers.set('authorization', `Basic ${Buffer.from(`${encode(id)}:${encode(clientSecret)}`).toString('base64')}`);
  };
}

/** Translates an error of a request to the provider. Causes hold tokens, so they end here. */
function toSignInError(error: unknown): SignInError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SignInError) return cause;
    if (cause instanceof HttpClientError) return new SignInError('unavailable', cause.message);
  }
  const { code, error: word = 'nothing', message, cause } = error as LibraryError;
  if (code === 'OAUTH_RESPONSE_BODY_ERROR' || code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return refused(`it says ${sanitize(word)}`);
  // 400 and 401: a code that was used before, or a secret that is wrong (RFC 6749 section 5.2).
  if (cause instanceof Response) {
    const kind = [400, 401].includes(cause.status) ? 'refused' : 'unavailable';
    return new SignInError(kind, `its answer (${cause.status}) is none of OpenID Connect`);
  }
  const reason = cause instanceof Error ? cause.message : message;
  return refused(`its answer is not accepted${code?.startsWith('OAUTH_') ? `: ${reason}` : ''}`);
}

/** Members of the errors of the library. */
interface LibraryError extends Error {
  readonly code?: string;
  /** Error code of the provider (RFC 6749 sections 4.1.2.1 and 5.2). */
  readonly error?: string;
}

/** Returns what is stored of a person. A mail address counts only if the provider has verified it. */
function toSignedIn(claims: Claims, { issuer, roleClaim }: PeopleSettings): SignedIn {
  const readText = (name: string): string | undefined => {
    const value = claims[name];
    return typeof value === 'string' && value.trim() !== '' && isStorable(value) ? value.trim() : undefined;
  };
  const subject = claims.sub as string;
  if (subject === '' || !isStorable(subject) || subject.length > MAX_SUBJECT)
    throw refused(`its subject is empty, longer than ${MAX_SUBJECT} characters or cannot be stored`);
  const email =
    typeof claims.email === 'string' && isStorable(claims.email) ? parseMailAddress(claims.email) : undefined;
  const name = readText('name') ?? readText('preferred_username') ?? email ?? subject;
  return {
    issuer,
    subject,
    name: name.slice(0, MAX_NAME),
    email: claims.email_verified === true && email !== undefined ? email : null,
    claims: findRoles(claims, roleClaim).filter(isRole).slice(0, MAX_ROLES),
  };
}

const isRole = (text: string): boolean => text.length <= MAX_ROLE && isStorable(text);

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Returns a word of the provider as it may stand in a page and in a log. */
const sanitize = (text: string): string => text.replace(/[^\w .-]/g, '').slice(0, 100);

const refused = (message: string): SignInError => new SignInError('refused', message);
