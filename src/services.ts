// The services of the server, built from a Config and a database connection and wired together.
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialFigures, makeAuthenticator } from './auth/authenticate.ts';
import { makeExternalTokens } from './auth/external-token.ts';
import { makeIdentifyExternal } from './auth/identify-external.ts';
import { makeInternalOAuth } from './auth/internal-oauth.ts';
import { keySetFigures, makeKeySets } from './auth/key-set.ts';
import { makeSessions } from './auth/sessions.ts';
import { makeStrangerShare, type StrangerShare } from './auth/stranger-share.ts';
import { type BackupLimits, makeBackups } from './backup/backup.ts';
import { makeSchedule } from './backup/schedule.ts';
import { makeKeys } from './beside/keys.ts';
import { makeTotals, type Totals } from './beside/totals.ts';
import { loadWorkspace } from './catalog/load-workspace.ts';
import { makeWorkspaceCache, workspaceFigures } from './catalog/workspace-cache.ts';
import type { Coordinator, CoordinatorOptions } from './citus/citus.ts';
import type { Config } from './config.ts';
import { type Routes, routeTo, shownAddress } from './db/connection-url.ts';
import { type Database, databaseFigures, makeDatabase } from './db/pool.ts';
import { findApiKey, touchApiKeys } from './directory/credentials.ts';
import { type Databases, makeDatabases } from './directory/databases.ts';
import { findProvidersByIssuer } from './directory/identity-provider.ts';
import { makeSecret } from './directory/instance.ts';
import { makeClock, openProcessRegistry } from './directory/process-registry.ts';
import {
  createSession,
  endSession,
  endSessionById,
  findSession,
  loadSessions,
  removeEndedSessions,
  type SessionHolder,
  storeLink,
  takeLink,
  touchSessions,
} from './directory/sessions.ts';
import { makeErrorThrottle, throttleFigures } from './limits/error-throttle.ts';
import { makeConfirmations } from './mcp/confirmation.ts';
import { makeAgents } from './mcp/endpoint.ts';
import { makeRunner, migrationFigures } from './migrate/runner.ts';
import { type Observer, rootOf } from './observe.ts';
import { makeOutbound } from './outbound/outbound.ts';
import { makeServerRateLimit } from './processes/tokens.ts';
import type { ReadinessState } from './readiness.ts';
import { makeDataApi } from './records/router.ts';
import { agentsPath } from './request/record-path.ts';
import { TOKEN_PATH } from './routes/oauth.ts';
import { coordinatesNodes, ONE_DATABASE, type Topology } from './topology/topology.ts';

// Snapshots in memory; one of 10 entities takes 23 kB.
const MAX_SNAPSHOTS = 3000;
const MAX_LONG_MIGRATIONS = 2;
// A snapshot is used for at most a second after it was replaced; the rest allows for clocks and commits.
const SNAPSHOT_MS = 3000;

export type Services = ReturnType<typeof makeServices>;

/** All services, wired together, with nothing running yet. */
export function makeServices(config: Config, routes: Routes, { log }: Observer, readiness: ReadinessState) {
  const onFault = (message: string, error: unknown): void => log.error(message, { err: rootOf(error) });
  const topology = makeTopology();
  const { db, nodes } = openDatabase(config, routes, log, () => topology.current().suspect());
  const databases = makeDatabases(db, topology.current);
  const refusals = makeErrorThrottle(() => performance.now(), sleep);
  const strangers = makeStrangerShare(config.statementTimeoutMs);
  const now = makeClock();
  const registry = openProcessRegistry({ db, connection: routes.direct, now, active: () => records.busy() });
  const cache = makeWorkspaceCache({
    load: (organization, slug) => strangers(() => loadWorkspace(databases, organization, slug)),
    compare: registry.compare,
    validFrom: registry.validFrom,
    now,
    maximum: MAX_SNAPSHOTS,
  });
  const changed = (workspaceId: string): void => cache.changed(workspaceId);
  const rateLimit = makeServerRateLimit('requests', config.rateLimit);
  const totals = totalsOf(db, topology.current, onFault);
  const change = {
    changed,
    everywhere: registry.invalidateAll,
    onError: onFault,
    isSettled: registry.isDrained,
    forgottenAfterMs: config.statementTimeoutMs + config.bodyTimeoutMs + SNAPSHOT_MS,
  };
  const runner = makeRunner({
    ...change,
    databases,
    maxDocumentBytes: documentLimit(config),
    maxLong: MAX_LONG_MIGRATIONS,
  });

  const findTopology = () => topology.find({ ...change, ...runner.sessions, ...nodes, db });
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
  const oauth = makeInternalOAuth({
    db,
    issuer: config.publicUrl,
    resourceOf: ({ organization, workspace }) =>
      config.mcp ? config.publicUrl + agentsPath(organization, workspace) : undefined,
    tokenPath: TOKEN_PATH,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    signingKeyDays: config.signingKeyDays,
    rateLimit,
    refusalTurn: refusals.wait,
    strangers,
    registry,
    now,
    onError: onFault,
    onGone: (message, error) => log.debug(message, { error: String(error) }),
  });
  const visits = consoleOf(db, config, strangers, readiness);
  const findProviders = (issuer: string) => strangers(() => findProvidersByIssuer(db, issuer));
  const authenticator = makeAuthenticator({
    findApiKey: (hash) => strangers(() => findApiKey(db, hash)),
    touchApiKeys: (ids) => touchApiKeys(db, ids),
    operatorHash: readiness.operatorHash,
    verifySession: visits.sessions.verify,
    verifyInternal: oauth.verify,
    verifyExternal: externalTokens.verify,
    identifyExternal: makeIdentifyExternal(findProviders, externalTokens),
    issuer: config.publicUrl,
    now: () => Date.now(),
  });
  const keys = makeKeys(db, config.idempotencyHours);
  const agents = agentsOf(config, db, log, onFault);
  const served = { keys, totals, config, databases, cache, authenticator, rateLimit, agents };
  const records = makeDataApi({ ...served, tokenUrl: config.publicUrl + TOKEN_PATH });
  const figures = [
    ...databaseFigures(db, () => topology.coordinator()?.databases() ?? []),
    ...workspaceFigures(cache),
    ...credentialFigures(authenticator),
    ...throttleFigures(refusals),
    ...keySetFigures(keySets),
    ...migrationFigures(runner),
    ...keys.figures(),
  ];
  return {
    databaseAddress: shownAddress(routes.connection),
    databases,
    closeDatabases: () => Promise.all([db.close(), topology.coordinator()?.close()]),
    findTopology,
    stopTotals: () => Promise.all([totals.stop(), topology.coordinator()?.stop()]),
    cluster: () => topology.coordinator()?.cluster,
    cache,
    refusals,
    registry,
    changed,
    rateLimit,
    totals,
    keys,
    ...backupsOf(config, databases, log),
    runner,
    outbound,
    externalTokens,
    oauth,
    authenticator,
    consoleRooms: visits,
    records,
    figures,
  };
}

/** Whether the database coordinates nodes, and what there is for that: loaded when it is found to do so. */
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

/** Totals in the database; nodes keep their own. */
function totalsOf(db: Database, topology: () => Topology, onError: (message: string, error: unknown) => void): Totals {
  const totals = makeTotals({ db, onError });
  return { ...totals, keep: (entity) => topology().keepTotal(entity) || totals.keep(entity) };
}

/** The database, and how nodes are reached that it may coordinate. */
function openDatabase(config: Config, routes: Routes, log: Observer['log'], onFault: () => void) {
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
    onError: (message: string, error: unknown) =>
      log.warn(message, { error: error instanceof Error ? error.message : String(error) }),
  };
  const nodes: Pick<CoordinatorOptions, 'open' | 'nodeReads' | 'now' | 'log'> = {
    open: (address) => makeDatabase({ ...options, connection: routeTo(routes.direct, address) }),
    // A pooler is not gone around.
    nodeReads: config.nodeReads && config.pooler === 'none',
    now: () => performance.now(),
    log,
  };
  return { db: makeDatabase({ ...routes, ...options, onTimeout: onFault }), nodes };
}

function agentsOf(
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

/** Those that are asked for, and those of every day. */
function backupsOf(config: Config, databases: Databases, log: Observer['log']) {
  const db = databases.directory;
  const { backupDir: folder, backupAt: at, backupKeep: keep } = config;
  const backups = makeBackups(databases, backupLimits(config));
  return { backups, schedule: makeSchedule({ db, backups, folder, at, keep, now: () => Date.now(), log }) };
}

/** Row rules and settings come by requests of their own, and are in it, too. */
const documentLimit = ({ maxBodyBytes }: Config): number => 2 * maxBodyBytes;

function backupLimits(config: Config): BackupLimits {
  const seconds = config.floorSeconds;
  return {
    timeoutMs: config.transferTimeoutMs,
    waitMs: config.statementTimeoutMs,
    stallMs: config.bodyTimeoutMs,
    readFloor: { bytesPerSecond: config.exportFloor, seconds },
    sendFloor: { bytesPerSecond: config.importFloor, seconds },
    maxBytes: config.maxImportBytes,
    maxDocumentBytes: documentLimit(config),
  };
}

/** What the console needs besides the API: sessions in the control tables, and how often one may try to sign in. */
function consoleOf(
  db: Database,
  config: Config,
  strangers: StrangerShare,
  { operatorHash }: Pick<ReadinessState, 'operatorHash'>,
) {
  const idleSeconds = config.sessionHours * 3600;
  const cookies = makeStrangerShare(config.statementTimeoutMs);
  const sessions = makeSessions({
    findApiKey: (hash) => strangers(() => findApiKey(db, hash)),
    // Not among those who come with keys: a crowd of either keeps nobody of the other out.
    find: (idHash) => cookies(() => findSession(db, idHash, idleSeconds)),
    store: (session) => createSession(db, session),
    remove: (idHash) => endSession(db, idHash),
    touch: (ids) => touchSessions(db, ids),
    sweep: () => removeEndedSessions(db, idleSeconds),
    storeLink: (link, note) => storeLink(db, link, note),
    takeLink: (codeHash) => strangers(() => takeLink(db, codeHash)),
    operatorHash,
    now: () => Date.now(),
  });
  return {
    sessions,
    list: (holder: SessionHolder, page: { readonly page: number; readonly size: number }) =>
      loadSessions(db, holder, { idleSeconds, operatorHash: operatorHash() }, page),
    endById: endSessionById,
    signIns: makeServerRateLimit('sign-ins', config.signInRateLimit),
    /** Part of the name of cookies. */
    instanceName: makeSecret(db, 'instance_name', 6),
  };
}
