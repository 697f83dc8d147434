// The project's own PostgreSQL on DATA_DIR, for servers without DATABASE_URL: started by the first server process on
// that DATA_DIR, joined by the others, started again when it dies, taken over when the process that ran it is gone.
// It listens on a Unix socket only, asks for a generated password, and never outlives the last of these processes.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { databaseName, readPassword } from './cluster.ts';
import { keepBinaries } from './earlier.ts';
import { asFailure, embeddedFailure, messageOf } from './failure.ts';
import { earlierData, noticeOf, removeEarlier } from './finish.ts';
import { openLock } from './lock.ts';
import type { Log } from './log.ts';
import { findPlace, type Place } from './place.ts';
import { giveUpReserve, isDiskFull, keepReserve } from './reserve.ts';
import { appRole, superuser } from './rights.ts';
import { type Server, startServer } from './server.ts';
import { choosePort, isAccepting, portOf } from './status.ts';
import type { CloneData } from './upgrade.ts';

export type { CloneData, Log };

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
  /** Moves data of an earlier major version of PostgreSQL to a new one; without it they are refused. */
  readonly clone?: CloneData;
  /** Other binaries than those of the npm package. */
  readonly binaries?: Binaries;
  /** When a copy of the binaries is made for a later version; by default after a minute. */
  readonly keepAfterMs?: number;
  /** How often the reserve for a full disk is checked; by default each minute. */
  readonly reserveEveryMs?: number;
}

const lockPollMs = 250;
const patienceMs = 5_000;
const steadyMs = 10_000;
const longestPauseMs = 10_000;
const reserveEveryMs = 60_000;
const keepAfterMs = 60_000;

const stateRootOf = ({ stateRoot }: Pick<EmbeddedOptions, 'stateRoot'>): string =>
  stateRoot ?? '/var/lib/workspace-data-api';

/** The address of the PostgreSQL of `dataDir`, which another process starts. */
export function embeddedAddress(options: Omit<EmbeddedOptions, 'log'>): EmbeddedAddress {
  return addressOf(findPlace(options.dataDir, stateRootOf(options)));
}

/**
 * Removes data of earlier major versions that an upgrade has left, with the binaries that read them. Gives what is gone.
 * Throws a failure in words when there is nothing, or an upgrade is on its way.
 */
export async function finishUpgrade({ dataDir, ...options }: Omit<EmbeddedOptions, 'log'>): Promise<readonly string[]> {
  if (!existsSync(join(dataDir, 'postgres')))
    throw embeddedFailure(
      `There is nothing to finish: ${resolve(dataDir)} has no data of the embedded PostgreSQL.`,
      '',
      '',
    );
  return removeEarlier(findPlace(dataDir, stateRootOf(options)));
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
  const { dataDir, log } = options;
  const place = findPlace(dataDir, stateRootOf(options), options.binaries);
  // Only Windows has one to choose, and keeps it.
  if (portOf(place) === undefined) await choosePort(place);
  const lock = openLock(place.lockFile);
  const listeners: ((reason: string) => void)[] = [];
  let server: Server | undefined;
  let work: Promise<unknown> = Promise.resolve();
  let watch: NodeJS.Timeout | undefined;
  const stopping = new AbortController();

  const start = async (): Promise<void> => {
    const how = { log, signal: stopping.signal, clone: options.clone };
    const started = await startServer(place, how).catch((error) => {
      if (stopping.signal.aborted || !isDiskFull(place, error) || !giveUpReserve(place)) throw error;
      log.error('The disk is full: PostgreSQL starts on the reserve kept for that; free some space', {
        stateDirectory: place.stateDirectory,
      });
      return startServer(place, how);
    });
    const endReserve = keepReserve(place, options.reserveEveryMs ?? reserveEveryMs, log);
    const keeping = setTimeout(() => {
      keepBinaries(place).catch((error) => log.debug('No copy of PostgreSQL was made', { error: messageOf(error) }));
    }, options.keepAfterMs ?? keepAfterMs).unref();
    const since = performance.now();
    server = started;
    started.exited.then((reason) => {
      server = undefined;
      endReserve();
      clearTimeout(keeping);
      if (stopping.signal.aborted) return;
      log.error('PostgreSQL ended unexpectedly and is started again', { reason });
      for (const listener of listeners) listener(reason);
      work = restart(performance.now() - since < steadyMs ? 1 : 0);
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
        log.error('PostgreSQL could not be started again', { error: messageOf(error) });
      }
    }
  };

  const watchForTakeover = (): void => {
    let complained = false;
    watch = setInterval(() => {
      try {
        if (!lock.acquire()) return;
      } catch (error) {
        if (!complained) log.error('The lock of the embedded database cannot be read', { error: messageOf(error) });
        complained = true;
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
  const stopOnce = (): Promise<void> => (stopped ??= stop());

  const begin = async (): Promise<EmbeddedDatabase> => {
    try {
      if (await acquireOrJoin(place, () => lock.acquire(), stopping.signal, log)) await start();
      else watchForTakeover();
    } catch (error) {
      lock.release();
      throw asFailure(error, `The embedded database could not be started in ${place.stateDirectory}.`);
    }
    log.debug('PostgreSQL accepts connections', { stateDirectory: place.stateDirectory, joined: watch !== undefined });
    return {
      connection: { ...addressOf(place), password: passwordIn(place.appPasswordFile) },
      superuser: { ...addressOf(place), user: superuser, password: passwordIn(place.passwordFile) },
      get joined() {
        return watch !== undefined;
      },
      stateDirectory: place.stateDirectory,
      notices: [...place.notices, ...earlierData(place).map(noticeOf)],
      onExit: (listener) => listeners.push(listener),
      stop: stopOnce,
    };
  };
  const started = begin();
  started.catch(() => {});
  return { address: addressOf(place), started, stop: stopOnce };
}

// True when the lock is ours, false when the server of the process that holds it can be joined. Until one of the two is
// so, the server is being made or started, or its owner died and the lock is free at the next look.
async function acquireOrJoin(place: Place, acquire: () => boolean, signal: AbortSignal, log: Log): Promise<boolean> {
  let nextWord = performance.now() + patienceMs;
  while (!acquire()) {
    if (readPassword(place.appPasswordFile) !== undefined && (await isAccepting(place))) return false;
    if (performance.now() > nextWord) {
      log.info('Another process on this DATA_DIR is still starting PostgreSQL', {
        stateDirectory: place.stateDirectory,
      });
      nextWord = performance.now() + patienceMs;
    }
    await sleep(50, undefined, { signal });
  }
  return true;
}

function addressOf(place: Place): EmbeddedAddress {
  return {
    host: process.platform === 'win32' ? '127.0.0.1' : place.socketDirectory,
    port: portOf(place) as number,
    user: appRole,
    password: () => passwordIn(place.appPasswordFile),
    database: databaseName,
  };
}

function passwordIn(file: string): string {
  const password = readPassword(file);
  if (password !== undefined) return password;
  throw Object.assign(new Error(`${file} is not there yet`), { code: 'ENOENT' });
}
