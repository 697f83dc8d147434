// The project's own PostgreSQL on DATA_DIR, for servers without DATABASE_URL: started by the first server process on
// that DATA_DIR, joined by the others, started again when it dies, taken over when the process that ran it is gone.
// It listens on a Unix socket only, asks for a generated password, and never outlives the last of these processes.
import { setTimeout as sleep } from 'node:timers/promises';
import { appRole, databaseName, readPassword, superuser } from './cluster.ts';
import { isDiskFull, maintainReserve, releaseReserve } from './disk-reserve.ts';
import { asFailure, getMessage } from './failure.ts';
import { openLock } from './lock.ts';
import type { Log } from './log.ts';
import { type Paths, preparePaths } from './paths.ts';
import { type Server, startServer } from './server.ts';
import { choosePort, isAccepting, readPort } from './status.ts';

export type { Log };

export interface EmbeddedConnection {
  /** Directory of the Unix socket, which the driver accepts as a host; on Windows 127.0.0.1. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** The same before PostgreSQL has ever started: the password is read when a connection is opened. */
export type EmbeddedAddress = Omit<EmbeddedConnection, 'password'> & { readonly password: () => string };

export interface EmbeddedDatabase {
  /** Stays the same when PostgreSQL is started again or another process takes over. */
  readonly connection: EmbeddedConnection;
  /** For what the role of the server may not do: other databases and roles, settings of PostgreSQL. */
  readonly superuser: EmbeddedConnection;
  /** True while another process runs the PostgreSQL that this one uses too. Turns false when this one takes over. */
  readonly joined: boolean;
  /** Where data, log and socket are; outside DATA_DIR when PostgreSQL's user cannot reach that. */
  readonly stateDirectory: string;
  /** Lines that a human should read at the start. */
  readonly notices: readonly string[];
  /** Called with the reason each time PostgreSQL ended by itself. It is started again in any case. */
  onExit(listener: (reason: string) => void): void;
  /** Ends PostgreSQL if this process runs it; others that joined take over. Safe to call twice. */
  stop(): Promise<void>;
}

/** An embedded database that is on its way. */
export interface EmbeddedStart {
  readonly address: EmbeddedAddress;
  /** Resolves when it accepts connections; rejects with one message that says what to do when it cannot be started. */
  readonly started: Promise<EmbeddedDatabase>;
  /** Ends it, or the attempt to start it. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** Where root puts data and binaries that PostgreSQL's user could not reach otherwise. */
  readonly stateRoot?: string;
  /** How often the reserve for a full disk is checked; by default each minute. */
  readonly reserveEveryMs?: number;
}

const lockPollMs = 250;
const messageIntervalMs = 5_000;
const stableMs = 10_000;
const longestPauseMs = 10_000;
const reserveEveryMs = 60_000;

const defaultStateRoot = '/var/lib/workspace-data-api';

/** The address of the PostgreSQL of `dataDir`, which another process starts. */
export function embeddedAddress(dataDir: string): EmbeddedAddress {
  return buildAddress(preparePaths(dataDir, defaultStateRoot));
}

/**
 * Starts or joins the PostgreSQL of `dataDir` and resolves when it accepts connections. Rejects with one message that
 * says what to do when it cannot be started; from then on it is kept running until `stop`.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  return (await openEmbedded(options)).started;
}

/** The same in two steps: its address is known at once, so that a server can listen while its database starts. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStart> {
  const { dataDir, log, stateRoot = defaultStateRoot } = options;
  const paths = preparePaths(dataDir, stateRoot);
  // Only Windows has one to choose, and keeps it.
  if (readPort(paths) === undefined) await choosePort(paths);
  const lock = openLock(paths.lockFile);
  const listeners: ((reason: string) => void)[] = [];
  let server: Server | undefined;
  let work: Promise<unknown> = Promise.resolve();
  let watch: NodeJS.Timeout | undefined;
  const stopping = new AbortController();

  const start = async (): Promise<void> => {
    const started = await startServer(paths, log, stopping.signal).catch((error) => {
      if (stopping.signal.aborted || !isDiskFull(paths, error) || !releaseReserve(paths)) throw error;
      log.error('The disk is full: PostgreSQL starts on the reserve kept for that; free some space', {
        stateDirectory: paths.stateDirectory,
      });
      return startServer(paths, log, stopping.signal);
    });
    const endReserve = maintainReserve(paths, options.reserveEveryMs ?? reserveEveryMs, log);
    const since = performance.now();
    server = started;
    started.exited.then((reason) => {
      server = undefined;
      endReserve();
      if (stopping.signal.aborted) return;
      log.error('PostgreSQL ended unexpectedly and is started again', { reason });
      for (const listener of listeners) listener(reason);
      work = restart(performance.now() - since < stableMs ? 1 : 0);
    });
  };

  // Without an end: the cause, a full disk for example, may go away without a restart of the server.
  const restart = async (failures: number): Promise<void> => {
    for (let failed = failures; !stopping.signal.aborted; failed += 1) {
      const pauseMs = failed === 0 ? 0 : Math.min(longestPauseMs, 125 * 2 ** failed);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        await start();
        log.info('PostgreSQL runs again');
        return;
      } catch (error) {
        log.error('PostgreSQL could not be started again', { error: getMessage(error) });
      }
    }
  };

  const watchForTakeover = (): void => {
    let isLogged = false;
    watch = setInterval(() => {
      try {
        if (!lock.acquire()) return;
      } catch (error) {
        if (!isLogged) log.error('The lock of the embedded database cannot be read', { error: getMessage(error) });
        isLogged = true;
        return;
      }
      clearInterval(watch);
      watch = undefined;
      log.warn('The process that ran PostgreSQL is gone: this one takes over');
      work = restart(0);
    }, lockPollMs).unref();
  };

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    clearInterval(watch);
    await started.catch(() => {});
    // A process that joined just now watches from here on.
    clearInterval(watch);
    await work;
    await server?.stop();
    lock.release();
  };
  const stopShared = (): Promise<void> => (stopped ??= stop());

  const startOrJoin = async (): Promise<EmbeddedDatabase> => {
    try {
      if (await acquireOrJoin(paths, () => lock.acquire(), stopping.signal, log)) await start();
      else watchForTakeover();
    } catch (error) {
      lock.release();
      throw asFailure(error, `The embedded database could not be started in ${paths.stateDirectory}.`);
    }
    log.debug('PostgreSQL accepts connections', { stateDirectory: paths.stateDirectory, joined: watch !== undefined });
    return {
      connection: { ...buildAddress(paths), password: requirePassword(paths.appPasswordFile) },
      superuser: { ...buildAddress(paths), user: superuser, password: requirePassword(paths.passwordFile) },
      get joined() {
        return watch !== undefined;
      },
      stateDirectory: paths.stateDirectory,
      notices: paths.notices,
      onExit: (listener) => listeners.push(listener),
      stop: stopShared,
    };
  };
  const started = startOrJoin();
  started.catch(() => {});
  return { address: buildAddress(paths), started, stop: stopShared };
}

// True when the lock is ours, false when the server of the process that holds it can be joined. Until one of the two is
// so, the server is being made or started, or its owner died and the lock is free at the next look.
async function acquireOrJoin(paths: Paths, acquire: () => boolean, signal: AbortSignal, log: Log): Promise<boolean> {
  let nextMessage = performance.now() + messageIntervalMs;
  while (!acquire()) {
    if (readPassword(paths.appPasswordFile) !== undefined && (await isAccepting(paths))) return false;
    if (performance.now() > nextMessage) {
      log.info('Another process on this DATA_DIR is still starting PostgreSQL', {
        stateDirectory: paths.stateDirectory,
      });
      nextMessage = performance.now() + messageIntervalMs;
    }
    await sleep(50, undefined, { signal });
  }
  return true;
}

function buildAddress(paths: Paths): EmbeddedAddress {
  return {
    host: process.platform === 'win32' ? '127.0.0.1' : paths.socketDirectory,
    port: readPort(paths) as number,
    user: appRole,
    password: () => requirePassword(paths.appPasswordFile),
    database: databaseName,
  };
}

function requirePassword(file: string): string {
  const password = readPassword(file);
  if (password !== undefined) return password;
  throw Object.assign(new Error(`${file} is not there yet`), { code: 'ENOENT' });
}
