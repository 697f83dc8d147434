// Handles /console/api/session: exchanges a key or a link for a session, in a cookie that no script reads; DELETE ends
// it.
import { parseSession as toSession } from '../auth/sessions.ts';
import { badRequest, methodNotAllowed, sessionEnded } from '../errors.ts';
import { readJsonValue } from '../http/body.ts';
import type { RawRequest } from '../http/request.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { SessionCredential } from '../model/credential.ts';
import { json, noContent, type Reply } from '../response/reply.ts';
import { getRateLimitKey } from './client-ip.ts';
import { makeSessionCookie, type SessionCookie } from './cookie.ts';

export interface SessionEndpointOptions {
  readonly sessions: {
    readonly signIn: (key: string, userAgent: string) => Promise<CreatedSession>;
    readonly signInByLink: (code: string, userAgent: string) => Promise<CreatedSession>;
    /** Ends the session; false when it does not exist. */
    readonly end: (session: SessionCredential) => Promise<boolean>;
  };
  /** Part of the cookie's name. */
  readonly instanceName: () => Promise<string>;
  readonly isHttps: boolean;
  /** Counts an attempt of an IP address; 429 when there were too many. */
  readonly attempts: RateLimit;
}

/** Sessions as the proxy needs them. */
export interface SessionEndpoint {
  /** Handles /console/api/session. */
  readonly handleSession: (raw: RawRequest) => Promise<Reply>;
  /** Formats Set-Cookie for a session. */
  readonly formatCookie: (session: CreatedSession) => Promise<string>;
  /** Finds the session in the cookies of a request, ended or not, or undefined if there is none. */
  readonly findSession: (cookies: string | undefined) => Promise<SessionCredential | undefined>;
}

interface CreatedSession {
  readonly id: string;
  readonly expiresAt: Date;
}

const MAX_BODY = 8192;
// A browser has one cookie; others were planted.
const MAX_SIGN_OUTS = 3;

export function createSessionEndpoint({
  sessions,
  instanceName,
  isHttps,
  attempts,
}: SessionEndpointOptions): SessionEndpoint {
  const cookie = async (): Promise<SessionCookie> => makeSessionCookie(await instanceName(), isHttps);

  /** Reads the sessions in the cookies, of which the last one counts. */
  async function readSessions(cookies: string | undefined): Promise<SessionCredential[]> {
    if (cookies === undefined) return [];
    return (await cookie()).read(cookies).flatMap((id) => toSession(id) ?? []);
  }

  const findSession = async (cookies: string | undefined): Promise<SessionCredential | undefined> =>
    (await readSessions(cookies)).at(-1);

  const formatCookie = async ({ id, expiresAt }: CreatedSession): Promise<string> =>
    (await cookie()).write(id, Math.ceil((expiresAt.getTime() - Date.now()) / 1000));

  async function signIn(raw: RawRequest): Promise<Reply> {
    const input = parseSignIn(await readJsonValue(await raw.body(MAX_BODY), raw));
    await attempts(getRateLimitKey(raw.address));
    const agent = raw.headers['user-agent'] ?? '';
    const session =
      input.key === undefined
        ? await sessions.signInByLink(input.code, agent)
        : await sessions.signIn(input.key, agent);
    await signOut(raw);
    const headers = { 'Set-Cookie': await formatCookie(session) };
    return json(201, { data: { expiresAt: session.expiresAt.toISOString() } }, headers);
  }

  /** Ends the sessions of a browser, also before another sign-in; false when it had none. */
  async function signOut({ headers }: RawRequest): Promise<boolean> {
    let isEnded = false;
    for (const one of (await readSessions(headers.cookie)).slice(-MAX_SIGN_OUTS))
      isEnded = (await sessions.end(one)) || isEnded;
    return isEnded;
  }

  async function handleSession(raw: RawRequest): Promise<Reply> {
    if (raw.method === 'POST') return signIn(raw);
    if (raw.method !== 'DELETE') throw methodNotAllowed(raw.method, ['POST', 'DELETE']);
    // Rejected and throttled like any request without a session.
    if (!(await signOut(raw))) throw sessionEnded();
    const { write } = await cookie();
    return noContent({ 'Set-Cookie': write('', 0) });
  }

  return { handleSession, formatCookie, findSession };
}

type SignInInput =
  | { readonly key: string; readonly code?: undefined }
  | { readonly key?: undefined; readonly code: string };

function parseSignIn(body: unknown): SignInInput {
  const members = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const [name, value] = members[0] ?? [];
  if (members.length === 1 && typeof value === 'string') {
    // Keys are often pasted with surrounding white space.
    if (name === 'key') return { key: value.trim() };
    if (name === 'code') return { code: value };
  }
  throw badRequest(
    'INVALID_BODY',
    'The body must be {"key": "…"} with a key, or {"code": "…"} with the code of a link',
  );
}
