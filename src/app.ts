// The composition root: builds the rooms from a Config and a database connection, and wires them together.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hashCredential, makeKey } from './auth/api-key.ts';
import { makeAuthenticator } from './auth/authenticate.ts';
import { makeExternalTokens } from './auth/external-token.ts';
import { makeIdentifyExternal } from './auth/identify-external.ts';
import { makeInternalOAuth } from './auth/internal-oauth.ts';
import { makeKeySets } from './auth/key-set.ts';
import { isClientId, makeOAuthClient } from './auth/oauth-client.ts';
import { SIGNING_ALGORITHM } from './auth/signing-keys.ts';
import { makeStrangerShare } from './auth/stranger-share.ts';
import { makeTotals } from './beside/totals.ts';
import { install } from './catalog/install.ts';
import { loadWorkspace } from './catalog/load-workspace.ts';
import { makeWorkspaceCache } from './catalog/workspace-cache.ts';
import type { Config } from './config.ts';
import { addressOf } from './db/connection-url.ts';
import { InstallError } from './db/install.ts';
import { type Listener, listen } from './db/listen.ts';
import { outageOf } from './db/outage.ts';
import { makeDatabase } from './db/pool.ts';
import { makeClock } from './directory/clock.ts';
import { findApiKey, touchApiKeys } from './directory/credentials.ts';
import { makeDatabases } from './directory/databases.ts';
import { findProvidersByIssuer } from './directory/identity-provider.ts';
import { makePresence } from './directory/presence.ts';
import {
  ask,
  confirm,
  findUnheard,
  forget,
  isBusyElsewhere,
  join,
  leave,
  look,
  PROCESS_CHANNEL,
} from './directory/processes.ts';
import { serviceUnavailable } from './errors.ts';
import { routeMount } from './http/route-mount.ts';
import { makeHttpServer } from './http/server.ts';
import { makeRunner } from './migrate/runner.ts';
import { answerForWorkers, type Observer, rootOf } from './observe.ts';
import { makeOutbound } from './outbound/outbound.ts';
import { type Grant, makeBuckets, makeRateLimit, makeSharedRateLimit, type RateLimit } from './pace/rate-limit.ts';
import { makeRefusalPace } from './pace/refusal-pace.ts';
import { answerWorkers, askPrimary, isWorker } from './processes/primary.ts';
import { makeRecords } from './records/pipeline.ts';
import { makeTransferHandlers } from './records/transfer/transfer.ts';
import { adminRoutes } from './routes/admin/routes.ts';
import { INDEX_ROUTE, metaRoutes } from './routes/meta.ts';
import { oauthMounts, TOKEN_PATH } from './routes/oauth.ts';
import { bootstrap, type Secrets, type Welcome } from './setup/bootstrap.ts';

/** How far a server is: what its processes have to know of each other before they answer. */
export type Readiness =
  | { readonly kind: 'waiting'; readonly message: string; readonly reason: string }
  | { readonly kind: 'prepared'; readonly operatorHash: string | undefined };

export interface App {
  /** Listens; requests get 503 until prepare() is done. Gives the port. */
  listen(): Promise<number>;
  /**
   * Installs the control tables, the operator's key and the demo; tries again while the database is away. Rejects
   * with InstallError when the database can never do.
   */
  prepare(): Promise<Welcome>;
  readiness(): Readiness;
  /** Instead of prepare(), when another process does it: requests are answered once that is done. */
  follow(readiness: Readiness): void;
  close(graceMs: number): Promise<void>;
}

// Snapshots in memory; one of 10 entities takes 21 kB.
const MAX_SNAPSHOTS = 3000;
const MAX_LONG_MIGRATIONS = 2;
// A snapshot is used for a second at most after it was replaced; the rest is for clocks and commits.
const SNAPSHOT_MS = 3000;
const RETRY_MS = 1000;
const SWEEP_MS = 5000;
const FLUSH_MS = 5000;
// The database may be away; the others forget this process then.
const LEAVE_MS = 1000;

export function makeApp(config: Config, connection: pg.ClientConfig, observer: Observer): App {
  const { log } = observer;
  const db = makeDatabase({
    connection,
    processes: config.workers,
    readConnections: config.readConnections,
    writeConnections: config.writeConnections,
    slowConnections: config.slowConnections,
    transferConnections: config.transferConnections,
    maxQueue: config.maxQueue,
    statementTimeoutMs: config.statementTimeoutMs,
    maxResponseBytes: config.maxResponseBytes,
    onError: (message, error) => log.warn(message, { error: error instanceof Error ? error.message : String(error) }),
  });
  const databases = makeDatabases(db);
  const refusals = makeRefusalPace(() => performance.now(), sleep);
  const strangers = makeStrangerShare(config.statementTimeoutMs);
  const now = makeClock();
  const id = randomUUID();
  let listener: Listener | undefined;
  const presence = makePresence({
    store: {
      look: (ids) => look(db, id, ids),
      join: (busy) => join(db, id, `${hostname()} ${process.pid}`, busy),
      confirm: (asked, busy) => confirm(db, id, asked, busy),
      ask: () => ask(db, id),
      findUnheard: (asked) => findUnheard(db, asked),
      isBusyElsewhere: (workspaceId, version) => isBusyElsewhere(db, id, workspaceId, version),
      forget: (silent) => forget(db, silent),
      leave: () => leave(db, id),
    },
    now,
    busy: () => records.busy(),
    joined: () => {
      const heard = (asker: string | undefined): void => {
        if (asker !== id) presence.wake();
      };
      listener ??= listen({ connection, channel: PROCESS_CHANNEL, heard });
    },
  });
  const cache = makeWorkspaceCache({
    load: (organization, slug) => strangers(() => loadWorkspace(databases, organization, slug)),
    look: presence.look,
    since: presence.since,
    now,
    maximum: MAX_SNAPSHOTS,
  });
  const changed = (workspaceId: string): void => cache.changed(workspaceId);
  const announced = async (...workspaceIds: readonly string[]): Promise<void> => {
    workspaceIds.forEach(changed);
    await presence.everywhere();
  };
  let operatorHash = config.adminKey === undefined ? undefined : hashCredential(config.adminKey).toString('hex');
  const outbound = makeOutbound({ allowPrivate: config.idpPrivateNetwork });
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
  const rateLimit = rateLimitOf(config);
  const onFault = (message: string, error: unknown): void => log.error(message, { err: rootOf(error) });
  const runner = makeRunner({
    db,
    changed,
    everywhere: presence.everywhere,
    onError: onFault,
    maxLong: MAX_LONG_MIGRATIONS,
    isSettled: presence.isSettled,
    forgottenAfterMs: config.statementTimeoutMs + config.bodyTimeoutMs + SNAPSHOT_MS,
  });
  const oauth = makeInternalOAuth({
    db,
    issuer: config.publicUrl,
    tokenPath: TOKEN_PATH,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    signingKeyDays: config.signingKeyDays,
    rateLimit,
    refusalTurn: refusals.turn,
    strangers,
    presence,
    now,
    onError: onFault,
    onGone: (message, error) => log.debug(message, { error: String(error) }),
  });
  const authenticator = makeAuthenticator({
    findApiKey: (hash) => strangers(() => findApiKey(db, hash)),
    touchApiKeys: (ids) => touchApiKeys(db, ids),
    operatorHash: () => operatorHash,
    verifyInternal: oauth.verify,
    verifyExternal: externalTokens.verify,
    identifyExternal: makeIdentifyExternal(
      (issuer) => strangers(() => findProvidersByIssuer(db, issuer)),
      externalTokens,
    ),
    issuer: config.publicUrl,
    now: () => Date.now(),
  });
  let unready: string | undefined = 'The server is starting; retry';
  let reason = unready;
  let closing = false;

  async function authenticate(authorization: string | undefined) {
    const principal = await authenticator.identify(authorization);
    await rateLimit(principal.credentialId);
    return principal;
  }

  const totals = makeTotals({ db, onError: onFault });
  const records = makeRecords({
    totals,
    config,
    db,
    cache,
    authenticator,
    rateLimit,
    transfer: makeTransferHandlers({ config, db, changed }),
  });
  const server = makeHttpServer({
    host: config.host,
    port: config.port,
    bodyTimeoutMs: config.bodyTimeoutMs,
    corsOrigins: config.corsOrigins,
    mounts: [
      records.mount,
      ...oauthMounts({
        publicUrl: config.publicUrl,
        tokenEndpoint: oauth.tokenEndpoint,
        publicKeys: () => oauth.keys.list(),
        algorithm: SIGNING_ALGORITHM,
      }),
      routeMount(metaRoutes({ db, metrics: () => observer.metrics(), unready: () => unready && reason }), {
        readyFirst: false,
        maxBodyBytes: config.maxBodyBytes,
      }),
      routeMount(
        [
          INDEX_ROUTE,
          ...adminRoutes(
            {
              databases,
              authenticate,
              announced,
              makeKey,
              identityProviders: {
                outbound,
                externalTokens,
                publicUrl: config.publicUrl,
                onWarning: (issuer, reason) =>
                  log.warn('an identity provider was configured that does not work', { issuer, reason }),
              },
              makeOAuthClient,
              isClientId,
              signingKeys: oauth.keys,
              answerAs: records.answerAs,
              maxResponseBytes: config.maxResponseBytes,
            },
            runner,
          ),
        ],
        { readyFirst: true, maxBodyBytes: config.maxBodyBytes },
      ),
    ],
    refusalTurn: refusals.turn,
    unready: () => unready,
    observer,
  });

  observer.gauge('wda_database_pending', 'Statements waiting for or running in the database', () => ({
    ...db.stats().pending,
  }));
  observer.gauge('wda_database_connections', 'Open database connections', () => ({ ...db.stats().connections }));
  observer.gauge('wda_cached_workspaces', 'Snapshots of workspaces in memory', () => cache.size());
  observer.gauge('wda_cached_credentials', 'Verified credentials in memory', () => authenticator.size());
  observer.gauge(
    'wda_refusals_in_turn_total',
    'Refusals of requests that no valid credential carries, sent at a bounded pace',
    () => refusals.count(),
  );
  observer.gauge('wda_cached_key_sets', 'Key sets of identity providers in memory', () => keySets.size());

  observer.gauge('wda_migrations_running', 'Migrations that this process runs', () => runner.stats().running);
  observer.gauge('wda_migrations_total', 'Migrations that this process has ended, by how', () => runner.stats().ended);
  observer.gauge(
    'wda_migration_records_filled_total',
    'Records whose new column this process has filled',
    () => runner.stats().filled,
  );

  const flushing = setInterval(() => {
    authenticator.flush().catch((error) => log.debug('last use of keys not noted', { error: String(error) }));
  }, FLUSH_MS).unref();

  let sweeping: NodeJS.Timeout | undefined;
  /** Another process may have died in the middle of a migration. */
  function sweep(): void {
    const forget = (error: unknown): void => log.debug('migrations not looked after', { error: String(error) });
    runner.recover().then(runner.settle).catch(forget);
  }

  function begin(): void {
    unready = undefined;
    if (sweeping !== undefined) return;
    sweeping = setInterval(sweep, SWEEP_MS).unref();
    // Those that were killed are forgotten, so that the first change waits for nobody.
    void presence.everywhere();
    totals.start();
  }

  return {
    listen: () => server.listen(),
    readiness: () =>
      unready === undefined ? { kind: 'prepared', operatorHash } : { kind: 'waiting', message: unready, reason },
    follow(readiness) {
      if (closing) return;
      if (readiness.kind === 'waiting') ({ message: unready, reason } = readiness);
      else {
        operatorHash ??= readiness.operatorHash;
        begin();
      }
    },
    async prepare() {
      const secrets: Secrets = {};
      for (;;) {
        try {
          await install(connection, (message) => log.info(message));
          const welcome = await bootstrap({ databases, config, knownOperator: config.adminKey !== undefined, secrets });
          operatorHash ??= welcome.operatorHash;
          await runner.recover();
          await totals.check();
          begin();
          return welcome;
        } catch (error) {
          const outage = outageOf(error);
          if (closing || error instanceof InstallError || !outage.isPassing) throw error;
          unready = 'The database is not reachable at the moment; retry';
          reason = `The database cannot be used: ${outage.words}; retry`;
          log.warn('the database cannot be used; trying again', {
            database: placeOf(connection),
            error: outage.detail,
          });
          await sleep(RETRY_MS);
        }
      }
    },
    async close(graceMs) {
      closing = true;
      unready = 'The server is shutting down';
      clearInterval(flushing);
      clearInterval(sweeping);
      // Migrations end while requests do: those who wait for one are answered.
      await Promise.all([server.close(graceMs), runner.close(graceMs / 2)]);
      await outbound.close();
      await authenticator.flush().catch(() => undefined);
      await Promise.race([presence.leave().catch(() => undefined), sleep(LEAVE_MS)]);
      await listener?.close();
      await totals.stop();
      await db.close();
    },
  };
}

const TOKENS = 'tokens';
const TOKENS_TIMEOUT_MS = 2000;

interface TokenQuestion {
  readonly credentialId: string;
  readonly count: number;
}

/** In the primary: what workers can only know together. */
export function shareWithWorkers({ rateLimit }: Config): void {
  answerForWorkers();
  const take = makeBuckets(rateLimit, () => performance.now());
  answerWorkers(TOKENS, ({ credentialId, count }: TokenQuestion) => take(credentialId, count));
}

function rateLimitOf({ rateLimit }: Config): RateLimit {
  const now = () => performance.now();
  if (!isWorker()) return makeRateLimit(rateLimit, now);
  const ask = (credentialId: string, count: number): Promise<Grant> =>
    askPrimary<Grant>(TOKENS, { credentialId, count } satisfies TokenQuestion, TOKENS_TIMEOUT_MS).catch((error) => {
      throw serviceUnavailable('The rate limit could not be looked up; retry', 1, error);
    });
  return makeSharedRateLimit(rateLimit, ask, now);
}

/** Where the database is, without user and password. */
function placeOf(connection: pg.ClientConfig): string {
  return addressOf(connection)
    .hosts.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
    .join(',');
}
