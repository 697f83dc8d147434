// PostgreSQL as a process: starts it on data that are there, and waits until it accepts connections.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedFailure } from './failure.ts';
import type { Log, ServerLog } from './log.ts';
import { makePrivateDirectory, type Place, socketPort } from './place.ts';
import { type Guarded, spawnGuarded } from './process.ts';
import { choosePort, readStatus } from './status.ts';

const pollMs = 10;
const patienceMs = 5_000;

export interface LaunchOptions {
  readonly log: Log;
  readonly serverLog: ServerLog;
  readonly signal: AbortSignal;
  /** Settings besides those of every server, such as `autovacuum=off`. */
  readonly extra?: readonly string[];
  /** Of Windows; missing: that of the place. */
  readonly port?: number | undefined;
}

/** Rejects with a failure in words when it ends before it accepts connections, also because `signal` was aborted. */
export async function launch(place: Place, options: LaunchOptions): Promise<Guarded> {
  const { log, serverLog, signal, extra = [], port } = options;
  const { dataDirectory, socketDirectory, user } = place;
  makePrivateDirectory(socketDirectory, user);
  const chosen = [...(await settings(place, port)), ...extra];
  const guarded = spawnGuarded({
    file: join(place.binaries.directory, 'bin', 'postgres'),
    args: ['-D', dataDirectory, ...chosen.flatMap((setting) => ['-c', setting])],
    user,
    output: serverLog.descriptor,
    signal: 'INT',
  });
  const giveUp = () => guarded.release();
  signal.addEventListener('abort', giveUp);
  try {
    if (signal.aborted) giveUp();
    await untilReady(place, guarded, () => serverLog.tail(12), log);
    return guarded;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

// These are on the command line because the server relies on them; postgresql.conf cannot change them. The first four
// are what an acknowledged write means.
async function settings(place: Place, port: number | undefined): Promise<readonly string[]> {
  return [
    'fsync=on',
    'full_page_writes=on',
    'synchronous_commit=on',
    'restart_after_crash=on',
    'logging_collector=off',
    'log_destination=stderr',
    `cluster_name=${place.clusterName}`,
    ...(process.platform === 'win32'
      ? ['listen_addresses=127.0.0.1', `port=${port ?? (await choosePort(place))}`]
      : [
          'listen_addresses=',
          `port=${socketPort}`,
          `unix_socket_directories="${place.socketDirectory.replaceAll('"', '""')}"`,
          'unix_socket_permissions=0700',
        ]),
  ];
}

async function untilReady(place: Place, guarded: Guarded, tail: () => string, log: Log): Promise<void> {
  let ended: string | undefined;
  guarded.exited.then((code) => {
    ended = `it ended with exit code ${code}`;
  });
  const pid = await guarded.pid.catch((error: Error) => {
    ended = error.message;
    return 0;
  });
  // Waits without limit while it lives: after a crash it may have much log to replay.
  let nextWord = performance.now() + patienceMs;
  while (ended === undefined) {
    const status = readStatus(place.dataDirectory);
    if (status?.pid === pid && status.state === 'ready') return;
    if (performance.now() > nextWord) {
      log.info('PostgreSQL is still starting', { lastLine: tail().split('\n').at(-1) });
      nextWord = performance.now() + patienceMs;
    }
    await sleep(pollMs);
  }
  throw embeddedFailure(
    `PostgreSQL could not be started on ${place.dataDirectory}.`,
    tail() || ended,
    `The lines above are the end of its log, ${place.logFile}. Set DATABASE_URL to use another PostgreSQL.`,
  );
}
