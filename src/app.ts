// The composition root: builds the rooms from a Config and a database connection, and wires them together.
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hashCredential, makeKey } from './auth/api-key.ts';
import { makeAuthenticator } from './auth/authenticate.ts';
import { makeExternalTokens } from './auth/external-token.ts';
import { makeIdentifyExternal } from './auth/identify-external.ts';
import { makeInternalOAuth } from './auth/internal-oauth.ts';
import { makeKeySets } from './auth/key-set.ts';
import { isClientId, makeOAuthClient } from './auth/oauth-client.ts';
import { makeOutbound } from './auth/outbound.ts';
import { type Grant, makeBuckets, makeRateLimit, makeSharedRateLimit, type RateLimit } from './auth/rate-limit.ts';
import { SIGNING_ALGORITHM } from './auth/signing-keys.ts';
import { findApiKey, touchApiKeys } from './catalog/credentials.ts';
import { findProvidersByIssuer } from './catalog/identity-provider.ts';
import { install } from './catalog/install.ts';
import { loadVersions, loadWorkspace } from './catalog/load-workspace.ts';
import { makeWorkspaceCache } from './catalog/workspace-cache.ts';
import type { Config } from './config.ts';
import { InstallError } from './db/install.ts';
import { makeDatabase } from './db/pool.ts';
import { serviceUnavailable } from './errors.ts';
import { makeHttpServer } from './http/server.ts';
import { makeRunner } from './migrate/runner.ts';
import { makeTotals } from './migrate/totals.ts';
import { answerForWorkers, type Observer } from './observe.ts';
import { answerWorkers, askPrimary, isWorker } from './primary.ts';
import { adminRoutes } from './routes/admin/routes.ts';
import { metaRoutes } from './routes/meta.ts';
import { oauthPaths, TOKEN_PATH } from './routes/oauth.ts';
import { makeRecordHandler } from './routes/records.ts';
import { makeTransferHandlers } from './routes/transfer.ts';
import { bootstrap, type Welcome } from './setup/bootstrap.ts';

export interface App {
  /** Listens; requests get 503 until prepare() is done. Gives the port. */
  listen(): Promise<number>;
  /**
   * Installs the control tables, the operator's key and the demo; tries again while the database is away. Rejects
   * with InstallError when the database can never do.
   */
  prepare(): Promise<Welcome>;
  close(graceMs: number): Promise<void>;
}

// Snapshots in memory; one of 10 entities takes 21 kB.
const MAX_SNAPSHOTS = 3000;
const MAX_LONG_MIGRATIONS = 2;
const RETRY_MS = 1000;
const SWEEP_MS = 5000;
const FLUSH_MS = 5000;

export function makeApp(config: Config, connection: pg.ClientConfig, observer: Observer): App {
  const { log } = observer;
  const db = makeDatabase({
    connection,
    processes: config.workers,
    readConnections: config.readConnections,
    writeConnections: config.writeConnections,
    slowConnections: config.slowConnections,
    maxQueue: config.maxQueue,
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (message, error) => log.warn(message, { error: error instanceof Error ? error.message : String(error) }),
  });
  const cache = makeWorkspaceCache({
    load: (organization, slug) => loadWorkspace(db, organization, slug),
    loadVersions: (ids) => loadVersions(db, ids),
    now: () => performance.now(),
    maximum: MAX_SNAPSHOTS,
  });
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
  const onFault = (message: string, error: unknown): void =>
    log.error(message, { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  const runner = makeRunner({
    db,
    changed: (workspaceId) => cache.changed(workspaceId),
    onError: onFault,
    maxLong: Math.min(MAX_LONG_MIGRATIONS, config.slowConnections - 1),
  });
  const oauth = makeInternalOAuth({
    db,
    issuer: config.publicUrl,
    tokenPath: TOKEN_PATH,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    signingKeyDays: config.signingKeyDays,
    rateLimit,
    onError: onFault,
  });
  const authenticator = makeAuthenticator({
    findApiKey: (hash) => findApiKey(db, hash),
    touchApiKeys: (ids) => touchApiKeys(db, ids),
    operatorHash: () => operatorHash,
    verifyInternal: oauth.verify,
    verifyExternal: externalTokens.verify,
    identifyExternal: makeIdentifyExternal((issuer) => findProvidersByIssuer(db, issuer), externalTokens),
    issuer: config.publicUrl,
    now: () => Date.now(),
  });
  let unready: string | undefined = 'The server is starting; retry';
  let closing = false;

  const totals = makeTotals({ db, onError: onFault });
  const records = makeRecordHandler({
    totals,
    config,
    db,
    cache,
    authenticator,
    rateLimit,
    transfer: makeTransferHandlers({ config, db, changed: (workspaceId) => cache.changed(workspaceId) }),
  });
  const server = makeHttpServer({
    host: config.host,
    port: config.port,
    maxBodyBytes: config.maxBodyBytes,
    bodyTimeoutMs: config.bodyTimeoutMs,
    corsOrigins: config.corsOrigins,
    records,
    routes: [
      ...metaRoutes({ db, metrics: () => observer.metrics(), unready: () => unready }),
      ...adminRoutes(
        {
          db,
          authenticate: async (authorization) => {
            const principal = await authenticator.identify(authorization);
            await rateLimit(principal.credentialId);
            return principal;
          },
          changed: (workspaceId) => cache.changed(workspaceId),
          makeKey,
          identityProviders: { outbound, externalTokens, publicUrl: config.publicUrl },
          makeOAuthClient,
          isClientId,
          signingKeys: oauth.keys,
          answerAs: records.answerAs,
          maxResponseBytes: config.maxResponseBytes,
        },
        runner,
      ),
    ],
    ownPaths: oauthPaths({
      publicUrl: config.publicUrl,
      tokenEndpoint: oauth.tokenEndpoint,
      publicKeys: () => oauth.keys.list(),
      algorithm: SIGNING_ALGORITHM,
      unready: () => unready,
      onError: onFault,
    }),
    authenticate: (authorization) => authenticator.identify(authorization),
    unready: () => unready,
    observer,
  });

  observer.gauge('wda_database_pending', 'Statements waiting for or running in the database', () => ({
    ...db.stats().pending,
  }));
  observer.gauge('wda_database_connections', 'Open database connections', () => ({ ...db.stats().connections }));
  observer.gauge('wda_cached_workspaces', 'Snapshots of workspaces in memory', () => cache.size());
  observer.gauge('wda_cached_credentials', 'Verified credentials in memory', () => authenticator.size());
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
    runner.recover().catch((error) => log.debug('migrations not looked after', { error: String(error) }));
  }

  return {
    listen: () => server.listen(),
    async prepare() {
      for (;;) {
        try {
          await install(connection, (message) => log.info(message));
          const welcome = await bootstrap({ db, config, knownOperator: operatorHash !== undefined });
          operatorHash ??= welcome.operatorHash;
          await runner.recover();
          await totals.check();
          unready = undefined;
          sweeping = setInterval(sweep, SWEEP_MS).unref();
          return welcome;
        } catch (error) {
          if (closing || error instanceof InstallError || !isPassing(error)) throw error;
          unready = 'The database is not reachable at the moment; retry';
          log.warn('the database is not reachable; trying again', { error: messageOf(error) });
          await sleep(RETRY_MS);
        }
      }
    },
    async close(graceMs) {
      closing = true;
      unready = 'The server is shutting down';
      clearInterval(flushing);
      clearInterval(sweeping);
      await server.close(graceMs);
      await outbound.close();
      await authenticator.flush().catch(() => undefined);
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

/** Errors of a database that is not there (yet), as against one that will never do. */
function isPassing(error: unknown): boolean {
  const code = String((error as { code?: unknown })?.code ?? '');
  return (
    /^(08|53|57P|55P03|40)/.test(code) ||
    /^(E[A-Z]+|SERVICE_UNAVAILABLE)$/.test(code) ||
    /terminated|timeout|ended/i.test(messageOf(error))
  );
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
