// Signs people in with the OpenID provider of the installation: authorization code with PKCE, state and nonce (OpenID Connect
// Core 1.0 section 3.1, RFC 7636). Nothing is stored while a person is at the provider: state, nonce and verifier are derived
// from a cookie of the browser, so memory does not grow, every process can complete what another has started, and the answer to
// one browser's sign-in is of no use to another. ID tokens are verified as those of users are (external-token.ts).
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../errors.ts';
import { type HttpClient, HttpClientError } from '../http-client/http-client.ts';
import { type Claims, findClaim, findRoles } from '../model/claim.ts';
import { isStorable } from '../model/exact-json.ts';
import { parseMailAddress } from '../model/mail-address.ts';
import type { SignedIn } from '../store/people.ts';
import type { ExternalTokens } from './external-token.ts';
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
  readonly code: string;
  readonly returnTo: string;
}

export interface OpenIdSignInOptions {
  readonly settings: SignInSettings;
  readonly redirectUri: string;
  readonly outbound: HttpClient;
  readonly externalTokens: ExternalTokens;
  /** Secret of the installation that tickets are authenticated with. */
  readonly secret: () => Promise<string>;
  /** Stores the sign-in and returns the id of the person, or undefined for a person who is a member nowhere. */
  readonly store: (person: SignedIn, isOperator: boolean) => Promise<string | undefined>;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

/** Members of the provider's metadata (OpenID Connect Discovery 1.0 section 3). */
interface Endpoints {
  readonly authorization: URL;
  readonly token: string;
  readonly userinfo: string | undefined;
  /** Whether the client's secret goes into the body, as the provider knows no other way. */
  readonly postsSecret: boolean;
  /** Whether each answer names its issuer (RFC 9207). */
  readonly namesIssuer: boolean;
}

export const MAX_TICKET_SECONDS = 600;
const TIMEOUT_MS = 5000;
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
  const { settings, redirectUri, outbound, externalTokens, secret, store, now } = options;
  const loadEndpoints = makeLoadEndpoints(options);

  const derive = async (purpose: 'state' | 'nonce' | 'verifier', ticket: string): Promise<string> =>
    createHmac('sha256', await secret())
      .update(`${purpose} ${ticket}`)
      .digest('base64url');

  async function requestTokens(endpoints: Endpoints, code: string, verifier: string): Promise<Claims> {
    const { clientId, clientSecret } = settings;
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      ...{ code, redirect_uri: redirectUri, client_id: clientId, code_verifier: verifier },
    });
    // RFC 6749 section 2.3.1: both are form-encoded before they are joined.
    const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
    const basic = Buffer.from(`${encode(clientId)}:${encode(clientSecret ?? '')}`).toString('base64');
    const isBasic = clientSecret !== undefined && !endpoints.postsSecret;
    if (clientSecret !== undefined && endpoints.postsSecret) form.set('client_secret', clientSecret);
    const headers = isBasic ? { authorization: `Basic ${basic}` } : {};
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await ask(() => outbound.postForm(endpoints.token, { form, headers, signal }), true);
    return asObject(answer);
  }

  /** Verifies the ID token and returns its claims. */
  async function verify(token: unknown, nonce: string): Promise<Claims> {
    if (typeof token !== 'string') throw refused('it has sent no ID token');
    const { issuer, clientId } = settings;
    const provider = { issuerUrl: issuer, jwksUri: null, audience: clientId, enabled: true };
    const identityProvider = {
      ...provider,
      defaultPermissions: 'READ_ONLY',
      roleClaim: null,
      requiredClaims: { nonce },
    };
    const { principal } = await externalTokens
      .verify(token, { id: '', version: '0', identityProvider: identityProvider as never })
      .catch((error) => {
        throw error instanceof ApiError ? refused(`its ID token is not accepted: ${error.message}`, error) : error;
      });
    const { claims } = principal as { readonly claims: Claims };
    // OpenID Connect Core 1.0 section 3.1.3.7: a token for several is for the one that it names.
    const party = claims.azp ?? (Array.isArray(claims.aud) && claims.aud.length > 1 ? undefined : clientId);
    if (claims.nonce !== nonce || party !== clientId) throw refused('its ID token is for another sign-in');
    return claims;
  }

  /** Adds the claims of the userinfo endpoint, where providers have those that an ID token lacks. */
  async function completeClaims(endpoints: Endpoints, claims: Claims, accessToken: unknown): Promise<Claims> {
    const needed = ['email', 'name', ...(settings.roleClaim === null ? [] : [settings.roleClaim])];
    const isComplete = needed.every((name) => findClaim(claims, name) !== undefined);
    if (isComplete || endpoints.userinfo === undefined || typeof accessToken !== 'string') return claims;
    const { userinfo } = endpoints;
    const headers = { authorization: `Bearer ${accessToken}` };
    const more = asObject(
      await ask(() => outbound.fetchJson(userinfo, AbortSignal.timeout(TIMEOUT_MS), undefined, headers)),
    );
    if (more.sub !== claims.sub) throw refused('its userinfo is about another person');
    // Takes both from one document: `email_verified` is about the address next to it.
    const isOwn = claims.email !== undefined && (claims.email !== more.email || claims.email_verified !== undefined);
    const { email, email_verified } = isOwn ? claims : more;
    return { ...more, ...claims, email, email_verified };
  }

  return {
    async begin(returnTo) {
      const { authorization } = await loadEndpoints();
      const random = randomBytes(32).toString('base64url');
      const ticket = `${Math.floor(now() / 1000)}.${random}.${Buffer.from(returnTo).toString('base64url')}`;
      const location = new URL(authorization);
      const parameters = {
        ...{ response_type: 'code', scope: SCOPE, client_id: settings.clientId, redirect_uri: redirectUri },
        ...{ state: await derive('state', ticket), nonce: await derive('nonce', ticket) },
        code_challenge: createHash('sha256')
          .update(await derive('verifier', ticket))
          .digest('base64url'),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
      return { location: location.href, ticket };
    },
    async check(tickets, answer) {
      const state = answer.get('state') ?? '';
      for (const ticket of tickets) {
        const [seconds = '', , path = ''] = ticket.split('.');
        if (!isSame(await derive('state', ticket), state)) continue;
        const age = now() / 1000 - Number(seconds);
        if (!(age >= 0 && age <= MAX_TICKET_SECONDS)) break;
        // RFC 9207: an answer of another provider must not reach this one (mix-up).
        const issuer = answer.get('iss');
        const mustNameIssuer = (await loadEndpoints()).namesIssuer;
        if (issuer === null ? mustNameIssuer : issuer !== settings.issuer)
          throw refused('another provider has answered');
        const code = answer.get('code');
        if (code === null) throw refused(`it says ${sanitize(answer.get('error') ?? 'nothing')}`);
        return { ticket, code, returnTo: Buffer.from(path, 'base64url').toString() };
      }
      throw new SignInError('outdated', 'the sign-in was started in another browser, or too long ago');
    },
    async complete({ ticket, code }) {
      const endpoints = await loadEndpoints();
      const tokens = await requestTokens(endpoints, code, await derive('verifier', ticket));
      const idClaims = await verify(tokens.id_token, await derive('nonce', ticket));
      const claims = await completeClaims(endpoints, idClaims, tokens.access_token);
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

/** Makes the function that loads the provider's endpoints, from memory for ten minutes. Throws SignInError. */
function makeLoadEndpoints({ settings, outbound, now }: OpenIdSignInOptions): () => Promise<Endpoints> {
  let last: { readonly endpoints: Promise<Endpoints>; readonly until: number } | undefined;

  async function load(): Promise<Endpoints> {
    const metadata = asObject(
      await ask(() => fetchMetadata(outbound, settings.issuer, AbortSignal.timeout(TIMEOUT_MS), { isPrivate: false })),
    );
    const { authorization_endpoint: authorization, token_endpoint: token, userinfo_endpoint: userinfo } = metadata;
    const methods = metadata.token_endpoint_auth_methods_supported;
    if (
      typeof authorization !== 'string' ||
      typeof token !== 'string' ||
      outbound.findMistake(authorization) !== undefined
    )
      throw new SignInError('unavailable', 'its metadata lack authorization_endpoint or token_endpoint');
    return {
      authorization: new URL(authorization),
      token,
      userinfo: typeof userinfo === 'string' ? userinfo : undefined,
      // Without the list it is client_secret_basic.
      postsSecret: Array.isArray(methods) && !methods.includes('client_secret_basic'),
      namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
    };
  }

  return () => {
    if (last === undefined || now() >= last.until) {
      const endpoints = load();
      const own = { endpoints, until: now() + METADATA_MS };
      last = own;
      endpoints.catch(() => {
        if (last === own) last = { endpoints, until: now() + RETRY_MS };
      });
    }
    return last.endpoints;
  };
}

/** Runs a request to the provider; what prevents it becomes a SignInError. `isExchange`: of a code, which it may refuse. */
async function ask<T>(request: () => Promise<T>, isExchange = false): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    // 400 and 401: a code that was used before, or a secret that is wrong (RFC 6749 section 5.2).
    const kind = isExchange && /answered 40[01]/.test(error.message) ? 'refused' : 'unavailable';
    throw new SignInError(kind, isExchange ? `its token endpoint ${error.message}` : error.message, { cause: error });
  }
}

/** Returns what is stored of a person. A mail address counts only if the provider has verified it. */
function toSignedIn(claims: Claims, { issuer, roleClaim }: PeopleSettings): SignedIn {
  const readText = (name: string): string | undefined => {
    const value = claims[name];
    return typeof value === 'string' && value.trim() !== '' && isStorable(value) ? value.trim() : undefined;
  };
  const subject = claims.sub as string;
  if (!isStorable(subject) || subject.length > MAX_SUBJECT)
    throw refused(`its subject is longer than ${MAX_SUBJECT} characters or cannot be stored`);
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

const asObject = (value: unknown): Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : {};

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Returns a word of the provider as it may stand in a page and in a log. */
const sanitize = (text: string): string => text.replace(/[^\w .-]/g, '').slice(0, 100);

const refused = (message: string, cause?: unknown): SignInError => new SignInError('refused', message, { cause });
