// Starts and closes a server: makes the services, refuses requests until the database is prepared, starts the background
// jobs, and closes everything in order.
import { hashCredential } from './auth/api-key.ts';
import { bootstrap, type Secrets, type Welcome } from './bootstrap/bootstrap.ts';
import type { Coordinator } from './citus/citus.ts';
import type { Config } from './config.ts';
import { formatAddress, type Route, type Routes } from './database/connection-url.ts';
import { retryUntilAvailable } from './database/errors.ts';
import { install } from './database/install.ts';
import type { Database } from './database/pool.ts';
import { checkPooler } from './database/pooler-check.ts';
import { makeHttpServer } from './http/server.ts';
import { getJobMetrics, type Job, type Jobs, makeJobs } from './jobs/jobs.ts';
import { buildMounts, isConsoleStale } from './mounts.ts';
import type { Observer } from './observer.ts';
import { makeReadiness, type Readiness, type ReadinessState } from './readiness.ts';
import { makeServices, type Services } from './services.ts';
import { removeActivity } from './store/activity.ts';
import { loadOperatorHash } from './store/credentials.ts';
import { makeSizeMeter } from './store/instance.ts';
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
// Longer than for a link on request: the output of a first start is often read later.
const FIRST_LINK_SECONDS = 3600;
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
  const size = makeSizeMeter(databases.directory);
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
      ...buildWatchJobs(services, observer, size.run),
      { name: 'make-backups', scope: 'process', everyMs: services.schedule.pauseMs, run: services.schedule.runIfDue },
    ],
    log,
  });
  const findTopology = makeFindTopology(services, observer, jobs);
  observer.registerMetrics([
    ...services.figures,
    ...size.metrics,
    ...services.schedule.metrics(),
    ...getJobMetrics(jobs),
  ]);

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
    return (await sessions.makeLink(undefined, FIRST_LINK_SECONDS))?.code;
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
function buildWatchJobs(
  { databases: { directory }, registry }: Services,
  { log }: Observer,
  measureSize: () => Promise<void>,
): readonly Job[] {
  const textOrder = makeTextOrder({ db: directory, log });
  const timeline = makeTimelineWatch(directory, registry.invalidateAll);
  return [
    { name: 'measure-database', scope: 'process', everyMs: USAGE_MEASURE_MS, run: measureSize },
    { name: 'watch-timeline', scope: 'process', everyMs: TIMELINE_MS, run: timeline.check },
    { name: 'rebuild-text-indexes', scope: 'process', everyMs: textOrder.pauseMs, run: textOrder.check },
  ];
}
