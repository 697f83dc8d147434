// Builds the services of the server from a Config and a database connection, and wires them together.
import { setTimeout as sleep } from 'node:timers/promises';
import { buildCredentialMetrics, makeAuthenticator } from './auth/authenticate.ts';
import { makeBulkhead } from './auth/bulkhead.ts';
import { makeIdentifyExternal } from './auth/identify-external.ts';
import { makeInternalOAuth } from './auth/internal-oauth.ts';
import { buildKeySetMetrics } from './auth/key-set.ts';
import { type BackupLimits, makeBackups } from './backup/backup.ts';
import { makeSchedule } from './backup/schedule.ts';
import type { Coordinator, CoordinatorOptions } from './citus/citus.ts';
import type { Config } from './config.ts';
import { makeConsoleServices, makeServerPrincipals, makeServerTokens } from './credential-services.ts';
import { makeQuotas } from './data-api/quotas.ts';
import { type DataApi, makeDataApi } from './data-api/router.ts';
import { buildRoute, formatAddress, type Routes } from './database/connection-url.ts';
import { type Database, getDatabaseMetrics, makeDatabase } from './database/pool.ts';
import { makeHttpClient } from './http-client/http-client.ts';
import { buildThrottleMetrics, makeErrorThrottle } from './limits/error-throttle.ts';
import { buildAnswerMetrics, type MemoryBudget, makeAnswerBudget, UNMEASURED } from './limits/memory-budget.ts';
import { makeConfirmations } from './mcp/confirmation.ts';
import { makeAgents } from './mcp/endpoint.ts';
import { makeRunner, migrationMetrics } from './migrations/runner.ts';
import { getRootCause, type Observer } from './observer.ts';
import type { ReadinessState } from './readiness.ts';
import { agentsPath } from './request/record-path.ts';
import { makeRolloutWorker } from './rollouts/worker.ts';
import { TOKEN_PATH } from './routes/oauth.ts';
import { type FindCorsOrigins, loadCorsOrigins } from './store/cors-origins.ts';
import { findApiKey, touchApiKeys } from './store/credentials.ts';
import { type Databases, makeDatabases } from './store/databases.ts';
import { findProvidersByIssuer } from './store/identity-provider.ts';
import { makeSecret } from './store/instance.ts';
import { loadWorkspace } from './store/load-workspace.ts';
import { makeClock, openProcessRegistry, type ProcessRegistry } from './store/process-registry.ts';
import { type FindRenamed, loadRenamed } from './store/renamed.ts';
import { makeSlugLookup } from './store/slug-lookup.ts';
import { makeLoadWebhookSeals } from './store/webhook-seals.ts';
import { getWorkspaceMetrics, makeWorkspaceCache } from './store/workspace-cache.ts';
import { makeLoadChangedWorkspaces } from './store/workspaces.ts';
import { coordinatesNodes, ONE_DATABASE, type Topology } from './topology/topology.ts';
import { makeWebhookSending } from './webhooks/sending.ts';
import { makeServerRateLimit, makeServerWorkspaceRateLimit } from './workers/rate-limit.ts';
import { numberingMetrics } from './workspace-schema/change-numbering.ts';
import { makeChangeRetention } from './workspace-schema/change-retention.ts';
import { makeCommonWords } from './workspace-schema/common-words.ts';
import { makeIdempotencyKeys } from './workspace-schema/idempotency-keys.ts';
import { makeTotals, type Totals } from './workspace-schema/totals.ts';

// Bytes of snapshots in memory. One of a workspace with 10 entities of 8 fields takes 27 kB.
const MAX_SNAPSHOT_BYTES = 268_435_456;
const MAX_LONG_MIGRATIONS = 2;
// A snapshot is used for at most a second after it was replaced; the rest is a margin for clocks and commits.
const SNAPSHOT_MS = 3000;

export type Services = ReturnType<typeof makeServices>;

/** Wires all services together, without starting any. */
export function makeServices(config: Config, routes: Routes, { log }: Observer, readiness: ReadinessState) {
  const logError = (message: string, error: unknown): void => log.error(message, { err: getRootCause(error) });
  const topology = makeTopology();
  const answerBudget = makeAnswerBudget(config.maxUnreadBytes);
  const { db, nodes } = openDatabase(config, routes, log, answerBudget, () => topology.current().checkSoon());
  const databases = makeDatabases(db, topology.current);
  const errorThrottle = makeErrorThrottle(() => performance.now(), sleep);
  const bulkhead = makeBulkhead(config.statementTimeoutMs);
  const now = makeClock();
  const registry = openProcessRegistry({ db, connection: routes.direct, now, active: () => records.oldestInFlight() });
  const cache = makeWorkspaceCache({
    load: (organization, slug) => bulkhead(() => loadWorkspace(databases, organization, slug)),
    compare: registry.compare,
    validFrom: registry.validFrom,
    now,
    maxBytes: MAX_SNAPSHOT_BYTES,
  });
  const changed = (workspaceId: string): void => cache.invalidate(workspaceId);
  const rateLimit = makeServerRateLimit('requests', config.rateLimit);
  const totals = makeServerTotals(db, topology.current, logError);
  const change = {
    changed,
    invalidateAll: registry.invalidateAll,
    onError: logError,
    isDrained: registry.isDrained,
    forgottenAfterMs: config.statementTimeoutMs + config.bodyTimeoutMs + SNAPSHOT_MS,
  };
  const runner = makeRunner({
    ...change,
    databases,
    maxDocumentBytes: getDocumentLimit(config),
    maxLong: MAX_LONG_MIGRATIONS,
  });

  const findTopology = () => topology.find({ ...change, ...runner.sessions, ...nodes, db });
  const outbound = makeHttpClient({ allowPrivate: config.idpPrivateNetwork, setting: 'WDA_IDP_PRIVATE_NETWORK' });
  const { keySets, externalTokens } = makeServerTokens(config, outbound, log);
  const oauth = makeInternalOAuth({
    db,
    issuer: config.publicUrl,
    getResource: ({ organization, workspace }) =>
      config.mcp ? config.publicUrl + agentsPath(organization, workspace) : undefined,
    tokenPath: TOKEN_PATH,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    signingKeyDays: config.signingKeyDays,
    rateLimit,
    waitForThrottle: errorThrottle.wait,
    bulkhead,
    registry,
    now,
    onError: logError,
    onDisconnect: (message, error) => log.debug(message, { error: String(error) }),
  });
  const consoleServices = makeConsoleServices(db, config, { bulkhead, outbound }, readiness);
  const findProviders = (issuer: string) => bulkhead(() => findProvidersByIssuer(db, issuer));
  const authenticator = makeAuthenticator({
    findApiKey: (hash) => bulkhead(() => findApiKey(db, hash)),
    touchApiKeys: (ids) => touchApiKeys(db, ids),
    operatorHash: readiness.operatorHash,
    verifySession: consoleServices.sessions.verify,
    verifyInternal: oauth.verify,
    verifyExternal: externalTokens.verify,
    identifyExternal: makeIdentifyExternal(findProviders, externalTokens),
    issuer: config.publicUrl,
    now: () => Date.now(),
  });
  const { keys, retention } = makeSweptTables(config, db, log);
  const agents = makeAgentHandler(config, db, log, logError);
  const feedSecret = makeSecret(db, 'feed_secret');
  const quotas = makeServerQuotas(databases, totals);
  const apiDeps = { keys, totals, quotas, config, databases, cache, authenticator, rateLimit, agents, feedSecret };
  const lookups = { ...makeServerLookups(config, db, registry, now), commonWords: makeCommonWords(db, logError) };
  const findPrincipal = makeServerPrincipals(db, config, readiness);
  const tokenUrl = config.publicUrl + TOKEN_PATH;
  const records = makeDataApi({ ...apiDeps, ...lookups, findPrincipal, onError: logError, tokenUrl });
  const webhooks = makeWebhookServices(config, databases, records, log);
  const rollouts = makeRolloutWorker({ databases, runner, log, onError: logError });
  const metrics = [
    ...webhooks.sending.metrics,
    ...rollouts.metrics,
    ...getDatabaseMetrics(db, () => topology.coordinator()?.databases() ?? []),
    ...getWorkspaceMetrics(cache),
    ...buildAccessMetrics(authenticator, errorThrottle, answerBudget, keySets),
    ...migrationMetrics(runner),
    ...keys.getMetrics(),
    ...records.metrics,
    ...quotas.metrics,
    ...retention.getMetrics(),
    ...numberingMetrics,
  ];
  return {
    databaseAddress: formatAddress(routes.connection),
    databases,
    closeDatabases: () => Promise.all([db.close(), topology.coordinator()?.close()]),
    findTopology,
    stopTotals: () => Promise.all([totals.stop(), topology.coordinator()?.stop()]),
    cluster: () => topology.coordinator()?.cluster,
    cache,
    refusals: errorThrottle,
    answerBudget,
    registry,
    changed,
    rateLimit,
    quotas,
    totals,
    keys,
    retention,
    ...makeBackupServices(config, databases, log),
    runner,
    outbound,
    webhooks,
    rollouts,
    externalTokens,
    oauth,
    authenticator,
    consoleServices: consoleServices,
    records,
    figures: metrics,
  };
}

/** Limits of workspaces, which count what they add and ask for. */
const makeServerQuotas = (databases: Databases, { maintain: keepTotal }: Pick<Totals, 'maintain'>) =>
  makeQuotas({ databases, keepTotal, rateLimit: makeServerWorkspaceRateLimit(), now: () => performance.now() });

const buildAccessMetrics = (
  authenticator: Parameters<typeof buildCredentialMetrics>[0],
  errorThrottle: Parameters<typeof buildThrottleMetrics>[0],
  answerBudget: Parameters<typeof buildAnswerMetrics>[0],
  keySets: Parameters<typeof buildKeySetMetrics>[0],
) => [
  ...buildCredentialMetrics(authenticator),
  ...buildThrottleMetrics(errorThrottle),
  ...buildAnswerMetrics(answerBudget),
  ...buildKeySetMetrics(keySets),
];

/** Tables of workspaces whose rows have their time. */
function makeSweptTables(config: Config, db: Database, { warn: report }: Observer['log']) {
  const { changesHours: hours, changesMaxBytes, historyDays, idempotencyMaxBytes: maxBytes } = config;
  const limits = { hours, maxBytes: changesMaxBytes, historyDays };
  return {
    keys: makeIdempotencyKeys(db, config.idempotencyHours, { maxBytes, maxKeys: config.idempotencyMaxKeys }),
    retention: makeChangeRetention(db, makeLoadChangedWorkspaces(db), limits, { report }),
  };
}

/** Sends messages of webhooks, to networks of their own, and opens their secrets. */
function makeWebhookServices(
  config: Config,
  databases: Databases,
  { events: reader }: Pick<DataApi, 'events'>,
  log: Observer['log'],
) {
  const client = makeHttpClient({
    allowPrivate: config.webhookPrivateNetwork,
    setting: 'WDA_WEBHOOK_PRIVATE_NETWORK',
  });
  const loadSecret = makeSecret(databases.directory, 'webhook_secret');
  const seals = makeLoadWebhookSeals(loadSecret);
  const sending = makeWebhookSending({ config, databases, reader, client, seals, loadSecret, log });
  return { isOn: config.webhooks, client, timeoutMs: config.webhookTimeoutMs, seals, sending };
}

// Origins in memory, with one entry for each workspace besides, which have some 100 bytes each; and former slugs.
const MAX_ORIGINS = 20_000;
const MAX_FORMER_SLUGS = 1000;

/** Looks up origins of pages and former slugs in a bulkhead of their own: a flood of preflights must not block credentials. */
function makeServerLookups(config: Config, db: Database, { validFrom }: ProcessRegistry, now: () => number) {
  const bulkhead = makeBulkhead(config.statementTimeoutMs);
  const common = { validFrom, now };
  const findCorsOrigins: FindCorsOrigins = makeSlugLookup({
    ...common,
    load: (organization, slug) => bulkhead(() => loadCorsOrigins(db, organization, slug)),
    maxSize: MAX_ORIGINS,
    getSize: (origins) => (origins?.length ?? 0) + 1,
  });
  const findRenamed: FindRenamed = makeSlugLookup({
    ...common,
    load: (organization, slug) => bulkhead(() => loadRenamed(db, organization, slug)),
    maxSize: MAX_FORMER_SLUGS,
  });
  return { findCorsOrigins, findRenamed };
}

/** Loads the code for a cluster when the database turns out to coordinate nodes. */
function makeTopology() {
  let coordinator: Coordinator | undefined;
  return {
    current: () => coordinator?.topology ?? ONE_DATABASE,
    coordinator: () => coordinator,
    async find(options: CoordinatorOptions): Promise<Coordinator | undefined> {
      if (coordinator !== undefined || !(await coordinatesNodes(options.db))) return coordinator;
      const { connectCoordinator } = await import('./citus/citus.ts');
      coordinator = await connectCoordinator(options);
      return coordinator;
    },
  };
}

/** Maintains totals in the database; nodes maintain their own. */
function makeServerTotals(
  db: Database,
  topology: () => Topology,
  onError: (message: string, error: unknown) => void,
): Totals {
  const totals = makeTotals({ db, onError });
  return { ...totals, maintain: (entity) => topology().maintainTotal(entity) || totals.maintain(entity) };
}

// Group of answers that arrive from the database, in the memory of answers: no workspace has this name.
const DATABASE_GROUP = 'database';

/** Opens the database, and prepares how the nodes of its cluster are reached, if it has any. */
function openDatabase(
  config: Config,
  routes: Routes,
  log: Observer['log'],
  answerBudget: MemoryBudget,
  onTimeout: () => void,
) {
  const reserveMessage = (bytes: number) =>
    answerBudget.hasRoom(bytes) ? answerBudget.add(DATABASE_GROUP, bytes, UNMEASURED) : undefined;
  const options = {
    processes: config.workers,
    readConnections: config.readConnections,
    writeConnections: config.writeConnections,
    slowConnections: config.slowConnections,
    transferConnections: config.transferConnections,
    batchConnections: config.batchConnections,
    maxQueue: config.maxQueue,
    statementTimeoutMs: config.statementTimeoutMs,
    maxResponseBytes: config.maxResponseBytes,
    reserveMessage,
    onError: (message: string, error: unknown) =>
      log.warn(message, { error: error instanceof Error ? error.message : String(error) }),
  };
  const nodes: Pick<CoordinatorOptions, 'open' | 'nodeReads' | 'now' | 'log'> = {
    open: (address) => makeDatabase({ ...options, connection: buildRoute(routes.direct, address) }),
    // Nodes are never reached around a pooler.
    nodeReads: config.nodeReads && config.pooler === 'none',
    now: () => performance.now(),
    log,
  };
  return { db: makeDatabase({ ...routes, ...options, onTimeout }), nodes };
}

function makeAgentHandler(
  config: Config,
  db: Database,
  log: Observer['log'],
  onError: (message: string, error: unknown) => void,
) {
  return makeAgents({
    config,
    rateLimit: makeServerRateLimit('agents', config.mcpRateLimit),
    confirmations: makeConfirmations(makeSecret(db, 'agent_secret'), () => Date.now()),
    onCall: (facts) => log.info('call of an agent', facts),
    onError,
  });
}

/** Backups on request, and the daily ones. */
function makeBackupServices(config: Config, databases: Databases, log: Observer['log']) {
  const db = databases.directory;
  const { backupDir: folder, backupAt: at, backupKeep: keep } = config;
  const backups = makeBackups(databases, buildBackupLimits(config));
  return { backups, schedule: makeSchedule({ db, backups, folder, at, maxFiles: keep, now: () => Date.now(), log }) };
}

/** Limit of a schema document, which includes row rules and settings although these are sent by requests of their own. */
const getDocumentLimit = ({ maxBodyBytes }: Config): number => 2 * maxBodyBytes;

function buildBackupLimits(config: Config): BackupLimits {
  const seconds = config.transferWindowSeconds;
  return {
    timeoutMs: config.transferTimeoutMs,
    waitMs: config.statementTimeoutMs,
    stallMs: config.bodyTimeoutMs,
    minReadRate: { bytesPerSecond: config.minExportBytesPerSecond, seconds },
    minSendRate: { bytesPerSecond: config.minImportBytesPerSecond, seconds },
    maxBytes: config.maxImportBytes,
    maxDocumentBytes: getDocumentLimit(config),
  };
}
