// Starts and closes a server: makes the services, refuses requests until the database is prepared, starts the background
// jobs, and closes everything in order.
import { join } from 'node:path';
import { adminRoutes } from './admin-api/routes.ts';
import { hashCredential, makeKey } from './auth/api-key.ts';
import { isClientId, makeOAuthClient } from './auth/oauth-client.ts';
import { SIGNING_ALGORITHM } from './auth/signing-keys.ts';
import { bootstrap, type Secrets, type Welcome } from './bootstrap/bootstrap.ts';
import type { Coordinator } from './citus/citus.ts';
import type { Config } from './config.ts';
import { isStaleBuild } from './console-api/build-id.ts';
import { makeFrontMount, makePageMount, readBuild } from './console-api/page.ts';
import { createSessionEndpoint } from './console-api/session.ts';
import { CONSOLE_LOGIN, createSessionProxy } from './console-api/session-proxy.ts';
import type { Route, Routes } from './database/connection-url.ts';
import { formatAddress } from './database/connection-url.ts';
import { retryUntilAvailable } from './database/errors.ts';
import { install } from './database/install.ts';
import type { Database } from './database/pool.ts';
import { checkPooler } from './database/pooler-check.ts';
import type { Mount } from './http/router.ts';
import { makeRouteMount } from './http/router.ts';
import { makeHttpServer } from './http/server.ts';
import { getJobMetrics, type Job, type Jobs, makeJobs } from './jobs/jobs.ts';
import type { Observer } from './observer.ts';
import { adminDocument } from './openapi/admin.ts';
import { makeReadiness, type Readiness, type ReadinessState } from './readiness.ts';
import { INDEX_ROUTE, metaRoutes } from './routes/health.ts';
import { oauthMounts } from './routes/oauth.ts';
import { resourceMetadataMount } from './routes/resource-metadata.ts';
import { makeServices, type Services } from './services.ts';
import { listSettings } from './settings.ts';
import { removeActivity } from './store/activity.ts';
import { loadOperatorHash } from './store/credentials.ts';
import { removeRolloutPlans } from './store/rollouts.ts';
import { makeTextOrder } from './store/text-order.ts';
import { makeTimelineWatch } from './store/timeline.ts';
import { measureDays } from './store/usage.ts';
import { makeWorkspaceUpgrades } from './store/workspace-files.ts';
import { ONE_DATABASE } from './topology/topology.ts';

export interface App {
  /** Listens; requests get 503 until prepare() is done. Returns the port. */
  listen(): Promise<number>;
  /**
   * Installs the control tables, the operator's key and the demo; tries again while the database is unavailable. Rejects with
   * InstallError when the database can never be used.
   */
  prepare(): Promise<Welcome & { readonly consoleCode: string | undefined }>;
  readiness(): Readiness;
  /** Replaces prepare() when another process prepares the database: requests are answered once that is done. */
  follow(readiness: Readiness): Promise<void>;
  close(graceMs: number): Promise<void>;
}

const SWEEP_MS = 5000;
const FLUSH_MS = 5000;
const USAGE_FLUSH_MS = 2000;
const USAGE_MEASURE_MS = 60_000;
const OPERATOR_MS = 1000;
const TIMELINE_MS = 2000;
const ACTIVITY_SWEEP_MS = 600_000;
const SESSION_SWEEP_MS = 600_000;

export function makeApp(config: Config, connection: Route, observer: Observer): App {
  const { log } = observer;
  const readiness = makeReadiness(
    config.adminKey === undefined ? undefined : hashCredential(config.adminKey).toString('hex'),
  );
  const { databaseDirectUrl } = config;
  const direct: Route = databaseDirectUrl === undefined ? connection : { connectionString: databaseDirectUrl };
  const routes: Routes = { connection, direct };
  const services = makeServices(config, routes, observer, readiness);
  const { databases, registry, authenticator, runner, totals, refusals: errorThrottle, outbound } = services;
  const { sessions } = services.consoleServices;
  const upgrades = makeWorkspaceUpgrades(databases);
  const server = makeHttpServer({
    host: config.host,
    port: config.port,
    bodyTimeoutMs: config.bodyTimeoutMs,
    minAnswerRate: { bytesPerSecond: config.minAnswerBytesPerSecond, seconds: config.bodyTimeoutMs / 1000 },
    answerBudget: services.answerBudget,
    corsOrigins: config.corsOrigins,
    mounts: buildMounts(config, services, observer, readiness),
    waitForThrottle: errorThrottle.wait,
    unready: readiness.unready,
    observer,
  });
  const operatorKey = makeOperatorKeyWatch(config, services, readiness);
  const jobs = makeJobs({
    jobs: [
      { name: 'watch-operator-key', scope: 'process', everyMs: OPERATOR_MS, run: operatorKey.check },
      { name: 'note-key-use', scope: 'process', everyMs: FLUSH_MS, run: authenticator.flush },
      // Another process may have died in the middle of a migration.
      { name: 'recover-migrations', scope: 'process', everyMs: SWEEP_MS, run: runner.sweep },
      { name: 'upgrade-workspaces', scope: 'process', everyMs: upgrades.pauseMs, run: upgrades.run },
      { name: 'fold-totals', scope: 'process', everyMs: totals.pauseMs, run: totals.fold },
      { name: 'note-session-use', scope: 'process', everyMs: FLUSH_MS, run: sessions.flush },
      { name: 'remove-sessions', scope: 'process', everyMs: SESSION_SWEEP_MS, run: sessions.sweep },
      ...buildSweepJobs(config, services),
      ...buildWatchJobs(services, observer),
      { name: 'make-backups', scope: 'process', everyMs: services.schedule.pauseMs, run: services.schedule.runIfDue },
    ],
    log,
  });
  const findTopology = makeFindTopology(services, observer, jobs);
  observer.registerMetrics([...services.figures, ...services.schedule.metrics(), ...getJobMetrics(jobs)]);

  function startServing(operatorHash: string | undefined): void {
    if (!readiness.open(operatorHash, databases.topology !== ONE_DATABASE)) return;
    jobs.start();
    // A primary passes a worker that replaces another the operator's key of its own start, which may be outdated.
    operatorKey.check().catch(() => undefined);
    // Entries of killed processes are removed now, so that the first change need not wait for them.
    void registry.invalidateAll();
  }

  /** Creates a sign-in link to the console on the first start of a server; later `wda console` creates one. */
  async function makeFirstLink({ operatorKey }: Welcome): Promise<string | undefined> {
    if (!config.console || operatorKey === undefined) return undefined;
    return (await sessions.makeLink())?.code;
  }

  return {
    listen: server.listen,
    readiness: readiness.current,
    async follow(primary) {
      if (primary.kind === 'waiting') return readiness.wait(primary.message, primary.reason);
      if (primary.hasNodes) await findTopology();
      startServing(primary.operatorHash);
    },
    prepare() {
      const secrets: Secrets = {};
      const hasOperator = config.adminKey !== undefined;
      const work = async () => {
        if (config.console && isConsoleStale())
          log.warn('the console was built from other sources; npm run build builds it');
        await checkPooler(routes);
        await install(direct, (message) => log.info(message));
        await (await findTopology())?.prepare();
        const welcome = await bootstrap({ databases, config, hasOperator, secrets });
        await runner.recover();
        await totals.check();
        startServing(welcome.operatorHash);
        return { ...welcome, consoleCode: await makeFirstLink(welcome) };
      };
      return retryUntilAvailable(work, {
        isCancelled: readiness.isClosing,
        onOutage({ reason: message, detail }) {
          readiness.wait(
            'The database is not reachable at the moment; retry',
            `The database cannot be used: ${message}; retry`,
          );
          log.warn('the database cannot be used; trying again', { database: formatAddress(connection), error: detail });
        },
      });
    },
    async close(graceMs) {
      readiness.close();
      services.records.endStreams();
      const stopped = jobs.stop();
      // Migrations and requests are ended together, so that requests that wait for a migration are answered.
      await Promise.all([
        server.close(graceMs),
        runner.close(graceMs / 2),
        ...[services.webhooks.sending, services.records.writeJobs, services.rollouts].map((work) =>
          work.close(graceMs / 2),
        ),
      ]);
      await Promise.all([outbound.close(), services.webhooks.client.close()]);
      for (const { flush } of [authenticator, sessions, services.quotas]) await flush().catch(() => undefined);
      await registry.leave();
      await registry.close();
      await Promise.all([stopped, services.stopTotals()]);
      await services.closeDatabases();
    },
  };
}

/** Registers the metrics and jobs of a coordinator of nodes when the database turns out to be one. */
function makeFindTopology({ databases, findTopology }: Services, observer: Observer, jobs: Jobs) {
  return async (): Promise<Coordinator | undefined> => {
    const isNew = databases.topology === ONE_DATABASE;
    const coordinator = await findTopology();
    if (coordinator === undefined || !isNew) return coordinator;
    observer.registerMetrics(coordinator.metrics);
    jobs.add(coordinator.jobs);
    return coordinator;
  };
}

/** Reloads a generated key, which another server may remove or replace; a configured key is this server's own. */
const makeOperatorKeyWatch = ({ adminKey }: Config, { databases }: Services, { renew }: ReadinessState) => ({
  async check(): Promise<void> {
    if (adminKey === undefined) renew(await loadOperatorHash(databases.directory));
  },
});

/** Jobs that remove what workspaces keep for a time. */
const buildSweepJobs = (
  config: Config,
  { databases, keys, retention, webhooks, records, rollouts, quotas }: Services,
): readonly Job[] => [
  { name: 'remove-idempotency-keys', scope: 'process', everyMs: keys.pauseMs, run: keys.sweep },
  { name: 'remove-changes', scope: 'process', everyMs: retention.pauseMs, run: retention.sweep },
  ...buildWebhookJobs(config, webhooks),
  ...buildWriteJobs(records),
  {
    name: 'remove-activity',
    scope: 'installation',
    everyMs: ACTIVITY_SWEEP_MS,
    db: databases.directory,
    run: (session) => removeActivity(session, config.activityDays),
  },
  ...buildRolloutJobs(databases.directory, rollouts),
  { name: 'note-requests', scope: 'process', everyMs: USAGE_FLUSH_MS, run: quotas.flush },
  {
    name: 'measure-usage',
    scope: 'installation',
    everyMs: USAGE_MEASURE_MS,
    db: databases.directory,
    run: (session) => measureDays(session, databases),
  },
];

// A process looks at once for a job of its own requests; the pause is that for jobs whose process has ended.
const WRITE_JOB_POLL_MS = 2000;
const WRITE_JOB_SWEEP_MS = 600_000;

/** Jobs that carry out writes by filter of many records. */
const buildWriteJobs = ({ writeJobs }: Services['records']): readonly Job[] => [
  { name: 'run-write-jobs', scope: 'process', everyMs: WRITE_JOB_POLL_MS, run: writeJobs.poll },
  { name: 'renew-write-job-leases', scope: 'process', everyMs: RENEWAL_MS, run: writeJobs.renew },
  { name: 'remove-write-jobs', scope: 'process', everyMs: WRITE_JOB_SWEEP_MS, run: writeJobs.sweep },
];

const ROLLOUT_POLL_MS = 1000;
// Leases last 4 s.
const ROLLOUT_RENEWAL_MS = 1000;
const PLAN_SWEEP_MS = 600_000;

/** Jobs that work on rollouts of shared schemas, and remove plans of them. */
const buildRolloutJobs = (db: Database, { poll, renew }: Services['rollouts']): readonly Job[] => [
  { name: 'run-rollouts', scope: 'process', everyMs: ROLLOUT_POLL_MS, run: poll },
  { name: 'renew-rollout-leases', scope: 'process', everyMs: ROLLOUT_RENEWAL_MS, run: renew },
  { name: 'remove-rollout-plans', scope: 'installation', everyMs: PLAN_SWEEP_MS, db, run: removeRolloutPlans },
];

const WEBHOOK_POLL_MS = 1000;
// Leases last 15 s.
const RENEWAL_MS = 4000;
const WEBHOOK_LAG_MS = 15_000;

/** Jobs that send messages of webhooks, and tidy up after that. */
const buildWebhookJobs = ({ webhooks }: Config, { sending }: Services['webhooks']): readonly Job[] => [
  ...(webhooks
    ? ([
        { name: 'send-webhooks', scope: 'process', everyMs: WEBHOOK_POLL_MS, run: sending.poll },
        { name: 'renew-webhook-leases', scope: 'process', everyMs: RENEWAL_MS, run: sending.renew },
      ] as const)
    : []),
  { name: 'measure-webhooks', scope: 'process', everyMs: WEBHOOK_LAG_MS, run: sending.measure },
  { name: 'remove-deliveries', scope: 'process', everyMs: sending.sweepPauseMs, run: sending.sweep },
];

/** Jobs that detect silent changes of the database: another order of texts, another timeline. */
function buildWatchJobs({ databases: { directory }, registry }: Services, { log }: Observer): readonly Job[] {
  const textOrder = makeTextOrder({ db: directory, log });
  const timeline = makeTimelineWatch(directory, registry.invalidateAll);
  return [
    { name: 'watch-timeline', scope: 'process', everyMs: TIMELINE_MS, run: timeline.check },
    { name: 'rebuild-text-indexes', scope: 'process', everyMs: textOrder.pauseMs, run: textOrder.check },
  ];
}

/* ---- mounts ---- */

/** Builds the mounts of the server; a request goes to the first that matches its URL. */
function buildMounts(
  config: Config,
  services: Services,
  { log, metrics }: Observer,
  readiness: ReadinessState,
): Mount[] {
  const {
    databases,
    cache,
    refusals: errorThrottle,
    registry,
    changed,
    rateLimit,
    runner,
    outbound,
    externalTokens,
    oauth,
    authenticator,
    records,
  } = services;
  const { publicUrl, maxBodyBytes, maxResponseBytes } = config;
  const health = metaRoutes({
    db: databases.directory,
    metrics,
    unready: readiness.reason,
    nodesDown: () => databases.topology.listUnavailableNodes(),
  });
  const admin = adminRoutes(
    {
      databases,
      async authenticate(credential) {
        const principal = await authenticator.identify(credential);
        await rateLimit(principal.credentialId);
        return principal;
      },
      async announceChange(...workspaceIds) {
        workspaceIds.forEach(changed);
        await registry.invalidateAll();
      },
      makeKey,
      identityProviders: {
        outbound,
        externalTokens,
        publicUrl,
        onWarning: (issuer, reason) => log.warn('an identity provider does not work as configured', { issuer, reason }),
      },
      makeOAuthClient,
      isClientId,
      signingKeys: oauth.keys,
      webhooks: services.webhooks,
      rollouts: services.rollouts,
      changes: { historyDays: config.historyDays, countStreams: services.records.countStreams },
      consoleSessions: {
        ...services.consoleServices,
        makeLink: services.consoleServices.sessions.makeLink,
        address: config.console ? publicUrl + CONSOLE_LOGIN : undefined,
      },
      server: {
        startedAt: new Date(),
        isEmbedded: config.databaseUrl === undefined,
        address: services.databaseAddress,
        settings: listSettings(config),
      },
      backups: services.backups,
      usage: { measure: services.quotas.measure, findWorkspace: services.cache.get },
      cluster: services.cluster,
      executeAs: records.executeAs,
      maxResponseBytes,
      // Runs when a request needs it: `mounts` is defined by then.
      adminDocument: () =>
        adminDocument(
          mounts.flatMap(({ operations }) => operations),
          publicUrl,
        ),
    },
    runner,
  );
  const adminMount = makeRouteMount([INDEX_ROUTE, ...admin], { readyFirst: true, maxBodyBytes });
  const mounts: Mount[] = [
    records.mount,
    ...(config.console ? buildConsoleMounts(services.consoleServices, publicUrl, [records.mount, adminMount]) : []),
    ...oauthMounts({
      publicUrl,
      tokenEndpoint: oauth.tokenEndpoint,
      publicKeys: oauth.keys.list,
      algorithm: SIGNING_ALGORITHM,
    }),
    resourceMetadataMount({
      publicUrl,
      mcp: config.mcp,
      findWorkspace: cache.get,
      corsOrigins: records.mount.corsOrigins,
      waitForThrottle: errorThrottle.wait,
    }),
    makeRouteMount(health, { readyFirst: false, maxBodyBytes }),
    adminMount,
  ];
  return mounts;
}

// Next to src/ in a clone, and next to dist/ in a package.
const CONSOLE = join(import.meta.dirname, '../console');

/** True when the sources of the console have changed since it was built. */
const isConsoleStale = (): boolean => isStaleBuild(CONSOLE);

/** Builds the mounts of the console: its page, and its way to the mounts of the API. */
function buildConsoleMounts(
  { sessions, signIns, instanceName }: Services['consoleServices'],
  publicUrl: string,
  api: readonly Mount[],
): Mount[] {
  const sessionEndpoint = createSessionEndpoint({
    sessions,
    attempts: signIns,
    instanceName,
    isHttps: publicUrl.startsWith('https:'),
  });
  const front = api.find(({ matches }) => matches('/'));
  return [
    createSessionProxy({ ...sessionEndpoint, mounts: api, verify: sessions.verify, publicUrl }),
    makePageMount(readBuild(join(CONSOLE, 'dist'))),
    ...(front === undefined ? [] : [makeFrontMount(front)]),
  ];
}
