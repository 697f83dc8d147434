// The bundled PostgreSQL on DATA_DIR, for servers without DATABASE_URL: started by the first server process on that
// DATA_DIR, joined by the others, restarted when it dies, taken over when the process that ran it is gone. It listens
// on a Unix socket only, requires a generated password, and never outlives the last of these processes.

import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { appRole, databaseName, readPassword, superuser } from './cluster.ts';
import { isDiskFull, maintainReserve, releaseReserve } from './disk-reserve.ts';
import { asFailure, getMessage } from './failure.ts';
import type { Log } from './log.ts';
import { type Paths, preparePaths } from './paths.ts';
import { type Server, startServer } from './server.ts';
import { choosePort, isAccepting, readPort } from './status.ts';

export type { Log };

export interface EmbeddedConnection {
  /** Directory of the Unix socket, which the driver accepts as a host; 127.0.0.1 on Windows. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Address before the first start of PostgreSQL: the password is read when a connection is opened. */
type EmbeddedAddress = Omit<EmbeddedConnection, 'password'> & { readonly password: () => string };

export interface EmbeddedDatabase {
  /** Connection of the server, which stays the same when PostgreSQL is restarted or another process takes over. */
  readonly connection: EmbeddedConnection;
  /** Connection for tasks that the server's role may not do: other databases and roles, settings of PostgreSQL. */
  readonly superuser: EmbeddedConnection;
  /** Whether another process runs the PostgreSQL that this one uses too. Becomes false when this one takes over. */
  readonly joined: boolean;
  /** Directory of data, log and socket; outside DATA_DIR when PostgreSQL's user cannot reach that. */
  readonly stateDirectory: string;
  /** Lines that a person should read at the start. */
  readonly notices: readonly string[];
  /** Adds a listener that gets the reason each time PostgreSQL ended by itself. It is restarted in any case. */
  onExit(listener: (reason: string) => void): void;
  /** Stops PostgreSQL if this process runs it; another process that joined takes over. Safe to call twice. */
  stop(): Promise<void>;
}

/** An embedded database that is starting. */
export interface EmbeddedStart {
  readonly address: EmbeddedAddress;
  /** Resolves when it accepts connections; rejects with one message that says how to fix the failure of the start. */
  readonly started: Promise<EmbeddedDatabase>;
  /** Stops it, or the attempt to start it. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** Directory where root puts data and binaries that PostgreSQL's user could not reach otherwise. */
  readonly stateRoot?: string;
  /** Interval between checks of the reserve for a full disk; a minute by default. */
  readonly reserveEveryMs?: number;
}

const lockPollMs = 250;
const messageIntervalMs = 5_000;
const stableMs = 10_000;
const longestPauseMs = 10_000;
const reserveEveryMs = 60_000;

const defaultStateRoot = '/var/lib/workspace-data-api';

/** Returns the address of the PostgreSQL of `dataDir`, which another process starts. */
export function embeddedAddress(dataDir: string): EmbeddedAddress {
  return buildAddress(preparePaths(dataDir, defaultStateRoot));
}

/**
 * Starts or joins the PostgreSQL of `dataDir` and resolves when it accepts connections. Rejects with one message that
 * says how to fix the failure of the start; after that it is kept running until `stop`.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  return (await openEmbedded(options)).started;
}

/** Starts in two steps: the address is known at once, so that a server can listen while its database starts. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStart> {
  const { dataDir, log, stateRoot = defaultStateRoot } = options;
  const paths = preparePaths(dataDir, stateRoot);
  // Only Windows needs a port, and keeps it.
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

  // Retries without limit: the cause, a full disk for example, may disappear without a restart of the server.
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
    // A process that has just joined watches from here on.
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

// Returns true when this process has the lock, false when it can join the server of the process that holds it. Until
// then the server is being created or started, or its owner died and the lock is free at the next attempt.
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

/**
 * The lock that decides which of several server processes on one DATA_DIR runs its PostgreSQL. Node has no flock(), but
 * SQLite's exclusive transaction is one: atomic, portable, and released by the kernel however the process dies. (A file
 * with a process id is wrong as soon as another process has that id.)
 */
interface Lock {
  /**
   * Takes the lock if it is free, without waiting; returns true if this process has it. Costs about 4 µs when another
   * has it.
   */
  acquire(): boolean;
  /** Releases the lock and closes its file. */
  release(): void;
}

const sqliteBusy = 5;

/** Opens the lock in the file `path`, which stays empty. Throws a readable failure when it cannot be opened. */
export function openLock(path: string): Lock {
  const file = openFile(path);
  return {
    acquire() {
      if (file.isTransaction) return true;
      try {
        // No journal, as nothing is ever written.
        file.exec('pragma journal_mode = off; begin exclusive');
        return true;
      } catch (error) {
        if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return false;
        throw error;
      }
    },
    release() {
      if (file.isOpen) file.close();
    },
  };
}

function openFile(path: string): DatabaseSync {
  try {
    // Only its owner may read it, as a reader could lock it. Only for a new file: a close() anywhere in this process
    // releases its locks.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw asFailure(error, `The lock file ${path} cannot be used.`);
  }
}
