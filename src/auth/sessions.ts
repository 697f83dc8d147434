// Sessions of the console: a key, a link or the sign-in of a person is exchanged for 256 random bits, of which only the SHA-256 is stored. Every
// request of a session looks it up, in one statement: the end of a session, of its key or of a membership, applies at once and in every
// process.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { invalidCredential, sessionEnded } from '../errors.ts';
import type { SessionCredential } from '../model/credential.ts';
import { KEY_ID, type Sender } from '../model/principal.ts';
import type { WriteActivity } from '../store/activity.ts';
import type { StoredKey } from '../store/credentials.ts';
import type { SessionToStore, StoredSession, Subject } from '../store/sessions.ts';
import { hashCredential, isKey } from './api-key.ts';
import { type PeopleSettings, toSender } from './people.ts';

export interface NewSession {
  /** The secret, for the cookie. */
  readonly id: string;
  readonly expiresAt: Date;
}

export interface NewLink {
  /** The secret. */
  readonly code: string;
  readonly expiresAt: Date;
}

export interface Sessions {
  /** Exchanges an API key or the operator's key for a session; 401 for anything else. */
  signIn(key: string, userAgent: string): Promise<NewSession>;
  /** Exchanges the one-time code of a link for a session; 401 when it was used, has expired, or never existed. */
  signInByLink(code: string, userAgent: string): Promise<NewSession>;
  /** Creates a session of a person whom the OpenID provider has signed in. */
  signInPerson(personId: string, userAgent: string): Promise<NewSession>;
  /** Creates a one-time code that signs the operator in within `seconds`, ten minutes by default, or undefined if the operator's key is not loaded. */
  makeLink(writeActivity?: WriteActivity, seconds?: number): Promise<NewLink | undefined>;
  /** Returns the sender of the session with its current permissions; 401 when it has ended. */
  verify(credential: SessionCredential): Promise<Sender>;
  /** Ends the session; false when it does not exist. */
  end(credential: SessionCredential): Promise<boolean>;
  /** Writes the last use of the sessions that were used since the last flush. */
  flush(): Promise<void>;
  /** Removes expired sessions. */
  sweep(): Promise<void>;
}

export interface SessionOptions {
  readonly findApiKey: (hash: Buffer) => Promise<StoredKey | undefined>;
  readonly find: (idHash: Buffer) => Promise<StoredSession | undefined>;
  /** Stores the session; false when its key does not exist any more. */
  readonly store: (session: SessionToStore) => Promise<boolean>;
  readonly remove: (idHash: Buffer) => Promise<boolean>;
  readonly touch: (ids: readonly string[]) => Promise<void>;
  readonly sweep: () => Promise<void>;
  readonly storeLink: (
    link: { readonly codeHash: Buffer; readonly operatorHash: string; readonly seconds: number },
    writeActivity?: WriteActivity,
  ) => Promise<void>;
  readonly takeLink: (codeHash: Buffer) => Promise<string | undefined>;
  /** SHA-256 (hex) of the current operator's key, or undefined if it is not loaded yet. */
  readonly operatorHash: () => string | undefined;
  /** Settings of the provider that people sign in with, or undefined without one. */
  readonly people: PeopleSettings | undefined;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
}

const MAX_AGE_MS = 7 * 24 * 3600 * 1000;
// The provider is asked again after a day: roles and mail addresses are as of the sign-in.
const MAX_PERSON_AGE_MS = 24 * 3600 * 1000;
const LINK_SECONDS = 600;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const MAX_USER_AGENT = 300;
// Further sessions are not recorded until the next flush: their last use is then that of the request after it.
const MAX_USED = 10_000;

const makeSecret = (): string => randomBytes(32).toString('base64url');

/** Parses a session id, or returns undefined if the text is not one. */
export const parseSession = (id: string): SessionCredential | undefined =>
  SECRET.test(id) ? { sessionHash: hashCredential(id) } : undefined;

export function makeSessions(options: SessionOptions): Sessions {
  const usedIds = new Set<string>();

  /** Creates a session. `until`: expiry of its key, milliseconds since 1970. */
  async function createSession(
    subject: Subject,
    userAgent: string,
    until = Number.POSITIVE_INFINITY,
  ): Promise<NewSession> {
    const id = makeSecret();
    const expiresAt = new Date(Math.min(until, options.now() + MAX_AGE_MS));
    const session = { idHash: hashCredential(id), subject, expiresAt, userAgent: userAgent.slice(0, MAX_USER_AGENT) };
    if (!(await options.store(session))) throw invalidCredential();
    return { id, expiresAt };
  }

  async function findSubject(key: string): Promise<{ readonly subject: Subject; readonly until?: number }> {
    const operatorHash = options.operatorHash();
    const hash = hashCredential(key);
    if (operatorHash !== undefined && timingSafeEqual(hash, Buffer.from(operatorHash, 'hex'))) {
      return { subject: { operatorHash } };
    }
    const storedKey = isKey(key) ? await options.findApiKey(hash) : undefined;
    const expiresAt = storedKey?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (storedKey === undefined || expiresAt <= options.now()) throw invalidCredential();
    // The console is for owners; a key that is held to grants may stand in a public page.
    if (storedKey.permissions === 'GRANTS') throw invalidCredential();
    return { subject: { apiKeyId: storedKey.id }, until: expiresAt };
  }

  /**
   * Returns the sender of a session, or undefined if it has ended. It shares rate limits and idempotency keys with its key
   * (same credential id).
   */
  function findSender({ id: sessionId, key, person, operatorHash, expiresAt }: StoredSession): Sender | undefined {
    if (key !== null) {
      const { id, workspaceId, permissions, scope } = key;
      return { kind: 'owner', permissions, workspaceId, scope, credentialId: KEY_ID + id, sessionId, expiresAt };
    }
    if (person !== null) return toSender(options.people, person, { sessionId, expiresAt });
    if (operatorHash === null || operatorHash !== options.operatorHash()) return undefined;
    return { kind: 'operator', scope: null, credentialId: 'operator', sessionId, expiresAt };
  }

  return {
    async signIn(key, userAgent) {
      const { subject, until } = await findSubject(key);
      return createSession(subject, userAgent, until);
    },
    async signInByLink(code, userAgent) {
      const operatorHash = SECRET.test(code) ? await options.takeLink(hashCredential(code)) : undefined;
      if (operatorHash === undefined || operatorHash !== options.operatorHash()) throw invalidCredential();
      return createSession({ operatorHash }, userAgent);
    },
    signInPerson: (personId, userAgent) => createSession({ personId }, userAgent, options.now() + MAX_PERSON_AGE_MS),
    async makeLink(writeActivity, seconds = LINK_SECONDS) {
      const operatorHash = options.operatorHash();
      if (operatorHash === undefined) return undefined;
      const code = makeSecret();
      await options.storeLink({ codeHash: hashCredential(code), operatorHash, seconds }, writeActivity);
      return { code, expiresAt: new Date(options.now() + seconds * 1000) };
    },
    async verify({ sessionHash }) {
      const session = await options.find(sessionHash);
      const sender = session && findSender(session);
      if (session === undefined || sender === undefined) throw sessionEnded();
      if (usedIds.size < MAX_USED) usedIds.add(session.id);
      return sender;
    },
    end: ({ sessionHash }) => options.remove(sessionHash),
    sweep: options.sweep,
    async flush() {
      if (usedIds.size === 0) return;
      const ids = [...usedIds];
      usedIds.clear();
      await options.touch(ids);
    },
  };
}
