// Handles /console/sign-in: sends a browser to the OpenID provider, and takes the answer that the provider sends it back with.
// Only navigations come here, so answers are redirects and plain pages.
import type { Checked } from '../auth/openid-sign-in.ts';
import { ApiError, methodNotAllowed, notFound } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';
import { DEFAULT_ERROR_HANDLING, type Mount, UNKNOWN } from '../http/router.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Reply } from '../response/reply.ts';
import { getRateLimitKey } from './client-ip.ts';
import { makeCookie } from './cookie.ts';
import { escapeHtml } from './page.ts';

const SIGN_IN = '/console/sign-in';
/** Path of the redirect URI. */
export const SIGN_IN_CALLBACK = `${SIGN_IN}/callback`;
const CONSOLE = '/console/';
const MAX_RETURN_PATH = 1000;

export interface SignInMountOptions {
  readonly signIn: {
    readonly begin: (returnTo: string) => Promise<{ readonly location: string; readonly ticket: string }>;
    readonly check: (tickets: readonly string[], answer: URLSearchParams) => Promise<Checked>;
    /** Returns the id of the person. */
    readonly complete: (checked: Checked) => Promise<string>;
  };
  /** Returns what to tell of an error of these, or undefined for any other error. */
  readonly describeFailure: (error: unknown) => SignInFailure | undefined;
  /** Creates a session and returns its cookie for Set-Cookie. */
  readonly openSession: (personId: string, userAgent: string) => Promise<string>;
  /** Part of the cookie's name. */
  readonly instanceName: () => Promise<string>;
  readonly isHttps: boolean;
  /** Seconds for which a person may be at the provider. */
  readonly seconds: number;
  /** Name of the provider for people. */
  readonly providerName: string;
  /** Counts an attempt of an IP address; 429 when there were too many. */
  readonly attempts: RateLimit;
  /** Logs the reason of a failure. */
  readonly onFailure: (reason: string) => void;
}

/** Reason of a failure. `who`: mail address or name of a person who is a member nowhere, as the provider has it. */
export interface SignInFailure {
  readonly kind: 'outdated' | 'refused' | 'unavailable' | 'stranger';
  readonly reason: string;
  readonly who: string | undefined;
}

export function makeSignInMount(options: SignInMountOptions): Mount {
  const { signIn, describeFailure, openSession, instanceName, isHttps, seconds, providerName } = options;
  // Lax: the provider sends the browser back, which a Strict cookie would not go along with.
  const getCookie = async () => makeCookie(`wda_sign_in_${await instanceName()}`, isHttps, 'Lax');

  async function begin({ query }: RawRequest): Promise<Reply> {
    const { location, ticket } = await signIn.begin(readReturnPath(new URLSearchParams(query).get('to')));
    return redirect(location, (await getCookie()).write(ticket, seconds));
  }

  async function complete({ query, headers, address }: RawRequest): Promise<Reply> {
    const tickets = (await getCookie()).read(headers.cookie).slice(-3);
    const checked = await signIn.check(tickets, new URLSearchParams(query));
    await options.attempts(getRateLimitKey(address));
    const personId = await signIn.complete(checked);
    const cookie = await openSession(personId, headers['user-agent'] ?? '');
    // Checked again, though only this server makes tickets: a new session must not lead elsewhere.
    return redirect(readReturnPath(checked.returnTo), cookie);
  }

  return {
    ...DEFAULT_ERROR_HANDLING,
    ownHeaders: ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    readyFirst: true,
    operations: [],
    matches: (url) => /^\/console\/sign-in(?:[/?]|$)/.test(url),
    getOperationName: (method) => (method === 'OPTIONS' ? UNKNOWN : 'console sign-in'),
    async handle(raw) {
      const { method, path } = raw;
      if (path !== SIGN_IN && path !== SIGN_IN_CALLBACK)
        throw notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`);
      if (method !== 'GET') throw methodNotAllowed(method, ['GET']);
      try {
        return await (path === SIGN_IN ? begin(raw) : complete(raw));
      } catch (error) {
        if (error instanceof ApiError && error.status === 429) return page(429, 'Too many attempts', error.message);
        const failure = describeFailure(error);
        if (failure === undefined) throw error;
        if (failure.kind !== 'outdated') options.onFailure(failure.reason);
        return explain(failure, providerName);
      }
    },
  };
}

/** Returns a path below /console/ to go to after signing in; anything else, also of another origin, becomes the start. */
export function readReturnPath(text: string | null): string {
  const isOwn =
    text !== null &&
    text.length <= MAX_RETURN_PATH &&
    /^\/console\/[\x21-\x7e]*$/.test(text) &&
    !/[\\]|\/\//.test(text);
  if (!isOwn || text.startsWith(SIGN_IN)) return CONSOLE;
  const url = URL.parse(text, 'https://console.invalid');
  return url?.origin === 'https://console.invalid' && url.pathname.startsWith(CONSOLE) ? text : CONSOLE;
}

const redirect = (location: string, cookie: string): Reply => ({
  status: 302,
  headers: { Location: location, 'Set-Cookie': cookie },
  body: { kind: 'empty' },
});

function explain({ kind, reason, who }: SignInFailure, provider: string): Reply {
  switch (kind) {
    case 'stranger':
      return page(
        403,
        'You are no member here',
        `${provider} knows you as ${who}, but you have not been added as a member. Ask an owner of your workspace, or the operator of this server, to add exactly this mail address.`,
      );
    case 'unavailable':
      return page(
        503,
        `${provider} does not answer`,
        `Signing in with it is not possible at the moment: ${reason}. Try again later, or sign in with a key.`,
      );
    case 'refused':
      return page(400, 'You are not signed in', `${provider} did not sign you in: ${reason}.`);
    case 'outdated':
      return page(
        400,
        'This sign-in is over',
        'It was started in another browser or more than ten minutes ago, or is used already. Sign in again.',
      );
    default:
      return kind satisfies never;
  }
}

/** Creates a page without scripts and styles. */
function page(status: number, title: string, text: string): Reply {
  return {
    status,
    headers: { 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'" },
    body: {
      kind: 'text',
      contentType: 'text/html; charset=utf-8',
      text: `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
<p><a href="${CONSOLE}">Back to the console</a></p>
</html>
`,
    },
  };
}
