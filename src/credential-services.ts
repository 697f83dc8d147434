// Builds the services that find out who sends a request or started a job: tokens of identity providers, sessions of the console,
// principals that are looked up again.
import { type Bulkhead, makeBulkhead } from './auth/bulkhead.ts';
import { makeFindCurrentPrincipal } from './auth/current-principal.ts';
import { makeExternalTokens } from './auth/external-token.ts';
import { makeKeySets } from './auth/key-set.ts';
import { makeOpenIdSignIn } from './auth/openid-sign-in.ts';
import { toSender } from './auth/people.ts';
import { makeSessions } from './auth/sessions.ts';
import type { Config } from './config.ts';
import { SIGN_IN_CALLBACK } from './console-api/sign-in.ts';
import type { Database } from './database/pool.ts';
import type { HttpClient } from './http-client/http-client.ts';
import type { Observer } from './observer.ts';
import type { ReadinessState } from './readiness.ts';
import { findApiKey, findApiKeyById } from './store/credentials.ts';
import { makeSecret } from './store/instance.ts';
import { findClientById } from './store/oauth-clients.ts';
import { findPerson, storeSignIn } from './store/people.ts';
import {
  consumeLink,
  createSession,
  deleteExpiredSessions,
  endSession,
  endSessionById,
  findSession,
  loadSessions,
  type SessionOwner,
  storeLink,
  touchSessions,
} from './store/sessions.ts';
import { makeServerRateLimit } from './workers/rate-limit.ts';

/** Verifies tokens of identity providers, with their keys. */
export function makeServerTokens(config: Config, outbound: HttpClient, log: Observer['log']) {
  const keySets = makeKeySets({
    outbound,
    now: () => performance.now(),
    onError: ({ issuerUrl }, { message }) =>
      log.warn('keys of an identity provider could not be fetched', { issuer: issuerUrl, reason: message }),
  });
  const externalTokens = makeExternalTokens({
    keySets,
    clockSkewSeconds: config.clockSkewSeconds,
    now: () => Date.now(),
  });
  return { keySets, externalTokens };
}

/** Finds the rights that principals have now, for jobs that go on after their requests. */
export const makeServerPrincipals = (db: Database, { people }: Config, { operatorHash }: ReadinessState) =>
  makeFindCurrentPrincipal({
    findKey: (id) => findApiKeyById(db, id),
    findClient: (id) => findClientById(db, id),
    findPerson: async (id) => {
      const person = await findPerson(db, id);
      return person && toSender(people, person);
    },
    hasOperator: () => operatorHash() !== undefined,
    now: () => Date.now(),
  });

/** Services of the console alone: sessions in the control tables, and the rate limit for signing in. */
export function makeConsoleServices(
  db: Database,
  config: Config,
  { bulkhead, outbound }: { readonly bulkhead: Bulkhead; readonly outbound: HttpClient },
  { operatorHash }: Pick<ReadinessState, 'operatorHash'>,
) {
  const idleSeconds = config.sessionHours * 3600;
  const sessionBulkhead = makeBulkhead(config.statementTimeoutMs);
  const sessions = makeSessions({
    findApiKey: (hash) => bulkhead(() => findApiKey(db, hash)),
    // A bulkhead separate from that of API keys, so that many requests of one kind do not block the other.
    find: (idHash) => sessionBulkhead(() => findSession(db, idHash, idleSeconds)),
    store: (session) => createSession(db, session),
    remove: (idHash) => endSession(db, idHash),
    touch: (ids) => touchSessions(db, ids),
    sweep: () => deleteExpiredSessions(db, idleSeconds),
    storeLink: (link, writeActivity) => storeLink(db, link, writeActivity),
    takeLink: (codeHash) => bulkhead(() => consumeLink(db, codeHash)),
    operatorHash,
    people: config.people,
    now: () => Date.now(),
  });
  return {
    sessions,
    list: (owner: SessionOwner, page: { readonly page: number; readonly size: number }) =>
      loadSessions(db, owner, { idleSeconds, operatorHash: operatorHash(), issuer: config.people?.issuer }, page),
    endById: endSessionById,
    /** Sign-in of people, or undefined without a provider. */
    people: makePeopleSignIn(db, config, outbound),
    signIns: makeServerRateLimit('sign-ins', config.signInRateLimit),
    /** Suffix of the cookie names. */
    instanceName: makeSecret(db, 'instance_name', 6),
  };
}

/** The sign-in of people with the OpenID provider of the settings, or undefined without one. */
const makePeopleSignIn = (db: Database, { people, publicUrl, clockSkewSeconds }: Config, outbound: HttpClient) =>
  people &&
  makeOpenIdSignIn({
    settings: people,
    redirectUri: new URL(publicUrl + SIGN_IN_CALLBACK).href,
    outbound,
    clockSkewSeconds,
    secret: makeSecret(db, 'sign_in_secret'),
    store: (person, isOperator) => storeSignIn(db, person, isOperator),
    now: () => Date.now(),
  });
