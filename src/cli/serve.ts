// `wda serve`: settings, database, server, start screen, signals. Takes the environment, ends with an exit code.
import type pg from 'pg';
import { type App, makeApp, shareWithWorkers } from '../app.ts';
import { type Config, ConfigError, processConfig } from '../config.ts';
import { type EmbeddedDatabase, startEmbedded } from '../db/embedded.ts';
import { InstallError } from '../db/install.ts';
import { makeObserver, type Observer } from '../observe.ts';
import { isWorker } from '../primary.ts';
import type { Welcome } from '../setup/bootstrap.ts';
import { endWithPrimary, makeWorkers, sayReady, type Workers } from './workers.ts';

const GRACE_MS = 10_000;

/** Runs until a signal stops it; sets process.exitCode. */
export async function serve(): Promise<void> {
  const config = configOrExit();
  if (config === undefined) return;
  const observer = makeObserver(config, process.stdout.isTTY === true);
  const { log } = observer;

  let embedded: EmbeddedDatabase | undefined;
  let app: App | undefined;
  let workers: Workers | undefined;
  let stopping: Promise<void> | undefined;
  const stop = (exitCode: number): Promise<void> => {
    stopping ??= (async () => {
      process.exitCode = exitCode;
      await app
        ?.close(GRACE_MS)
        .catch((error) => log.error('the server did not stop cleanly', { error: String(error) }));
      await workers?.stop();
      await embedded?.stop().catch((error) => log.error('PostgreSQL did not stop cleanly', { error: String(error) }));
      if (!isWorker()) log.info('stopped');
      observer.flush();
      process.exit();
    })();
    return stopping;
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isWorker()) log.info('stopping', { signal });
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
    if (config.databaseUrl === undefined) {
      // Nothing to say yet, but a newcomer's first start takes a second or two.
      log.info('starting the embedded PostgreSQL', { dataDir: config.dataDir });
      embedded = await startEmbedded({ dataDir: config.dataDir, log });
      if (stopping !== undefined) return;
    }
    app = makeApp(config, embedded?.connection ?? connectionTo(config.databaseUrl as string), observer);
    if (isWorker()) {
      endWithPrimary();
      // Others answer meanwhile: no request is to meet a worker that is starting.
      await app.prepare();
      await app.listen();
      sayReady();
      return;
    }
    if (config.workers > 1) shareWithWorkers(config);
    // With workers this process only prepares the database for them, and answers nobody.
    const ownPort = config.workers > 1 ? undefined : await app.listen();
    const welcome = await app.prepare();
    if (stopping !== undefined) return;
    if (ownPort === undefined) {
      await app.close(0);
      app = undefined;
      workers = makeWorkers(log, () => void stop(1));
    }
    const port = ownPort ?? (await (workers as Workers).start(config.workers, workerEnvironment(embedded)));
    if (stopping !== undefined) return;
    process.stdout.write(startScreen(config, port, embedded, welcome));
    log.info('ready', {
      port,
      database: embedded === undefined ? 'external' : 'embedded',
      ...(config.workers > 1 ? { workers: config.workers } : {}),
    });
  } catch (error) {
    if (stopping !== undefined) return;
    process.stderr.write(`${explain(error, config, observer)}\n`);
    await stop(1);
  }
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

/** Workers find an embedded database as any other. */
function workerEnvironment(embedded: EmbeddedDatabase | undefined): Record<string, string> {
  if (embedded === undefined) return {};
  const { host, port, user, password, database } = embedded.connection;
  const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  return { DATABASE_URL: `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${database}` };
}

function connectionTo(databaseUrl: string): pg.ClientConfig {
  return { connectionString: databaseUrl };
}

function explain(error: unknown, config: Config, observer: Observer): string {
  const { code, message } = error as { code?: string; message?: string };
  if (code === 'EADDRINUSE')
    return `Port ${config.port} on ${config.host} is in use: stop the other server or set PORT`;
  if (code === 'EACCES' && /listen/.test(message ?? ''))
    return `Port ${config.port} needs privileges: set PORT to one above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `HOST ${config.host} is no address of this machine`;
  if (error instanceof InstallError) return `The database cannot be used: ${error.message}`;
  if ((error as Error).name === 'EmbeddedDatabaseFailure') return message ?? String(error);
  observer.log.error('start failed', {
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return `The server could not start: ${message ?? String(error)}`;
}

/** The lines a newcomer reads after the start. */
export function startScreen(
  config: Config,
  port: number,
  embedded: EmbeddedDatabase | undefined,
  welcome: Welcome,
): string {
  const base = config.publicUrl.endsWith(':0') ? `http://localhost:${port}` : config.publicUrl;
  const lines = [
    '',
    '  Workspace Data API is ready',
    '',
    `  API       ${base}/api/v1/{organization}/{workspace}/{entity}`,
  ];
  lines.push(`  Admin     ${base}/api/admin/v1`, `  Health    ${base}/healthz   ${base}/readyz   ${base}/metrics`);
  lines.push(
    embedded === undefined
      ? '  Database  DATABASE_URL'
      : `  Database  embedded PostgreSQL ${embedded.joined ? '(joined another server process) ' : ''}in ${embedded.stateDirectory}`,
  );
  for (const notice of embedded?.notices ?? []) lines.push(`            ${notice}`);
  if (welcome.operatorKey !== undefined) {
    lines.push('', '  Admin key (shown this once; keep it):', `    ${welcome.operatorKey}`);
  }
  if (welcome.demoKey !== undefined) {
    lines.push(
      '',
      '  Demo workspace demo/shop, its API key (shown this once):',
      `    ${welcome.demoKey}`,
      '  Try it:',
      `    curl -H 'Authorization: Bearer ${welcome.demoKey}' '${base}/api/v1/demo/shop/orders?expand=customer,items.product&size=2'`,
    );
  } else if (welcome.hasDemo) {
    // The command line looks at port 3000 unless it is told.
    const client = base === 'http://localhost:3000' ? '' : `WDA_URL=${base} `;
    lines.push(
      '',
      '  Demo workspace demo/shop is there; for a new API key:',
      `    ${client}WDA_KEY=<admin key> npm run wda -- key create mine -w demo/shop`,
    );
  } else {
    lines.push('', '  Next: npm run wda -- --help');
  }
  return `${lines.join('\n')}\n\n`;
}
