// `wda serve`: reads settings, opens the database, starts the server, prints the start screen and handles signals. Listens at
// once, alone or with workers, and answers 503 until the database is ready.
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, makeApp } from '../app.ts';
import type { Welcome } from '../bootstrap/bootstrap.ts';
import { type Config, ConfigError, processConfig } from '../config.ts';
import type { Route } from '../database/connection-url.ts';
import { InstallError } from '../database/errors.ts';
import {
  type EmbeddedDatabase,
  type EmbeddedStart,
  embeddedAddress,
  openEmbedded,
} from '../embedded-postgres/embedded.ts';
import { makeObserver, type Observer, serveWorkerMetrics } from '../observer.ts';
import type { Readiness } from '../readiness.ts';
import { notifyStop } from '../tracing.ts';
import { isWorker, requestPrimary, respondToWorkers } from '../workers/primary.ts';
import { serveTokens, serveWorkspaceTokens } from '../workers/rate-limit.ts';
import {
  exitWithPrimary,
  reportFailure,
  reportReady,
  startWorkers,
  WORKERS_FAILURE,
  type Workers,
} from '../workers/workers.ts';
import { ADMIN_PREFIX } from './admin-client.ts';
import { RECORDS_PREFIX } from './command.ts';

const GRACE_MS = 10_000;
// Time for workers to end; each waits for the time above itself.
const WORKER_GRACE_MS = 15_000;

/** Runs until a signal stops it; sets process.exitCode. */
export async function serve(): Promise<void> {
  const config = configOrExit();
  if (config === undefined) return;
  const observer = makeObserver(config, process.stdout.isTTY === true);
  const { log } = observer;

  let embedded: EmbeddedStart | undefined;
  let app: App | undefined;
  let workers: Workers | undefined;
  let stopping: Promise<void> | undefined;
  const stop = (exitCode: number): Promise<void> => {
    stopping ??= (async () => {
      process.exitCode = exitCode;
      const closing = app
        ?.close(GRACE_MS)
        .catch((error) => log.error('the server did not stop cleanly', { error: String(error) }));
      await Promise.all([closing, workers?.stop()]);
      await embedded?.stop().catch((error) => log.error('PostgreSQL did not stop cleanly', { error: String(error) }));
      await notifyStop();
      if (!isWorker()) log.info('stopped');
      await observer.close();
      process.exit();
    })();
    return stopping;
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // npm forwards the terminal's Ctrl-C, so the signal may come twice.
      if (!isWorker() && stopping === undefined) log.info('stopping', { signal });
      void stop(0);
    });
  }
  process.on('unhandledRejection', (error) => {
    log.error('unhandled rejection', {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    void stop(1);
  });

  try {
    if (isWorker()) {
      exitWithPrimary();
      app = makeApp(config, getDatabaseRoute(config, undefined), observer);
      await followPrimary(app);
      return;
    }
    if (config.databaseUrl === undefined) {
      // A first start takes a second or two, so this line shows progress.
      log.info('starting the embedded PostgreSQL', { dataDir: config.dataDir });
      embedded = await openEmbedded({ dataDir: config.dataDir, log });
      if (stopping !== undefined) return;
    }
    app = makeApp(config, getDatabaseRoute(config, embedded), observer);
    let port: number;
    let prepared: Readiness | undefined;
    if (config.workers === 1) port = await app.listen();
    else {
      // The primary only prepares the database for the workers and serves no requests.
      const preparing = app;
      serveWorkerMetrics();
      serveTokens('requests', config.rateLimit);
      serveTokens('agents', config.mcpRateLimit);
      serveTokens('sign-ins', config.signInRateLimit);
      serveWorkspaceTokens();
      respondToWorkers(READINESS, () => prepared ?? preparing.readiness());
      workers = startWorkers(config.workers, WORKER_GRACE_MS, log);
      port = await workers.port;
    }
    log.info('listening', { port });
    const database = await embedded?.started;
    const welcome = await Promise.race([app.prepare(), ...(workers === undefined ? [] : [waitForFailure(workers)])]);
    if (workers !== undefined) {
      prepared = app.readiness();
      await workers.ready;
      await app.close(0);
      app = undefined;
    }
    if (stopping !== undefined) return;
    process.stdout.write(startScreen(config, port, database, welcome));
    log.info('ready', {
      port,
      database: database === undefined ? 'external' : 'embedded',
      ...(config.workers > 1 ? { workers: config.workers } : {}),
    });
  } catch (error) {
    if (stopping !== undefined) return;
    const reason = explain(error, config, observer);
    if (isWorker()) await reportFailure(reason);
    else process.stderr.write(`${reason}\n`);
    await stop(1);
  }
}

const READINESS = 'readiness';
const READINESS_TIMEOUT_MS = 2000;
const POLL_MS = 100;

/** Waits until the workers fail; never resolves. */
const waitForFailure = ({ ready }: Workers): Promise<never> => ready.then(() => new Promise<never>(() => {}));

/**
 * Runs a worker: listens, and serves requests once the primary has prepared the database. A worker that replaces another
 * one listens only when it is ready.
 */
async function followPrimary(app: App): Promise<void> {
  let isListening = false;
  for (;;) {
    // Retries, because the primary may be too busy to answer.
    const readiness = await requestPrimary<Readiness>(READINESS, null, READINESS_TIMEOUT_MS).catch(() => undefined);
    // Retries, because the coordinator of a cluster may be unavailable.
    const isFollowed =
      readiness !== undefined &&
      (await app.follow(readiness).then(
        () => true,
        () => false,
      ));
    if (!isListening) await app.listen();
    isListening = true;
    if (isFollowed && readiness.kind === 'prepared') return reportReady();
    await sleep(POLL_MS);
  }
}

/** Returns the database route: workers find an embedded database like their primary, by DATA_DIR. */
function getDatabaseRoute({ databaseUrl, pooler, dataDir }: Config, embedded: EmbeddedStart | undefined): Route {
  if (databaseUrl !== undefined) return { connectionString: databaseUrl, pooler };
  return (embedded?.address ?? embeddedAddress(dataDir)) as Route;
}

function configOrExit(): Config | undefined {
  try {
    return processConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`The settings are wrong:\n${error.mistakes.map((mistake) => `  - ${mistake}`).join('\n')}\n`);
    process.exitCode = 1;
    return undefined;
  }
}

function explain(error: unknown, config: Config, observer: Observer): string {
  const { code, message } = error as { code?: string; message?: string };
  if (code === 'EADDRINUSE')
    return `Port ${config.port} on ${config.host} is in use: stop the other server or set PORT`;
  if (code === 'EACCES' && /listen/.test(message ?? ''))
    return `Port ${config.port} needs privileges: set PORT to one above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `HOST ${config.host} is no address of this machine`;
  if (error instanceof InstallError) return `The database cannot be used: ${error.message}`;
  if (['EmbeddedDatabaseFailure', WORKERS_FAILURE].includes((error as Error).name)) return message ?? String(error);
  observer.log.error('start failed', {
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return `The server could not start: ${message ?? String(error)}`;
}

// Command in a clone or in an installed package, where `--no-install` keeps npx from fetching another package of that name.
const COMMAND = import.meta.filename.endsWith('.ts') ? 'npm run wda --' : 'npx --no-install wda';

/** Returns the lines that a new user reads after the start. */
function startScreen(
  config: Config,
  port: number,
  embedded: EmbeddedDatabase | undefined,
  welcome: Welcome & { readonly consoleCode?: string | undefined },
): string {
  const base = config.publicUrl.endsWith(':0') ? `http://localhost:${port}` : config.publicUrl;
  const lines = [
    '',
    '  Workspace Data API is ready',
    '',
    ...(config.console ? [`  Console   ${base}/console/`] : []),
    `  API       ${base}${RECORDS_PREFIX}/{organization}/{workspace}/{entity}`,
  ];
  lines.push(
    `  Admin     ${base}${ADMIN_PREFIX}/openapi.json`,
    `  Health    ${base}/healthz   ${base}/readyz   ${base}/metrics`,
  );
  lines.push(
    embedded === undefined
      ? '  Database  DATABASE_URL'
      : `  Database  embedded PostgreSQL ${embedded.joined ? '(joined another server process) ' : ''}in ${embedded.stateDirectory}`,
  );
  for (const notice of embedded?.notices ?? []) lines.push(`            ${notice}`);
  if (welcome.consoleCode !== undefined) {
    lines.push('', '  Sign in to the console by this link (once, within an hour):');
    lines.push(`    ${base}/console/login#${welcome.consoleCode}`, `    Later: ${COMMAND} console`);
  }
  if (welcome.operatorKey !== undefined) {
    lines.push('', '  Operator key (shown this once; keep it):', `    ${welcome.operatorKey}`);
  }
  if (welcome.demoKey !== undefined) {
    lines.push(
      '',
      '  Demo workspace demo/shop, its API key (shown this once):',
      `    ${welcome.demoKey}`,
      '  Try it:',
      `    curl -H 'Authorization: Bearer ${welcome.demoKey}' '${base}${RECORDS_PREFIX}/demo/shop/orders?expand=customer,items.product&size=2'`,
    );
  } else if (welcome.hasDemo) {
    // The default URL of the command line has port 3000.
    const client = base === 'http://localhost:3000' ? '' : `WDA_URL=${base} `;
    lines.push(
      '',
      '  Demo workspace demo/shop is there; for a new API key:',
      `    ${client}WDA_KEY=<operator key> ${COMMAND} key create mine -w demo/shop --permissions READ_WRITE`,
    );
  } else {
    lines.push('', `  Next: ${COMMAND} --help`);
  }
  return `${lines.join('\n')}\n\n`;
}
