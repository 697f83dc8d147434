// One run of the embedded PostgreSQL: clears away what an earlier run left, starts, stops. The caller holds the lock.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from './cluster.ts';
import { embeddedFailure } from './failure.ts';
import { clearAway } from './leftovers.ts';
import { boundLog, type Log, openServerLog } from './log.ts';
import { makePrivateDirectory, type Place, socketPort } from './place.ts';
import { type Guarded, spawnGuarded } from './process.ts';
import { choosePort, readStatus } from './status.ts';

export interface Server {
  /** Resolves with what happened when PostgreSQL has ended, for whatever reason. */
  readonly exited: Promise<string>;
  /** Shuts it down fast; resolves when it has ended (15 s at most) and nothing of it is left. */
  stop(): Promise<void>;
}

const pollMs = 10;
const patienceMs = 5_000;

/**
 * Starts PostgreSQL on the place's data, which are made if there are none. Resolves when it accepts connections;
 * rejects with a failure in words when it ends before that, also because `signal` was aborted.
 */
export async function startServer(place: Place, log: Log, signal: AbortSignal): Promise<Server> {
  const { dataDirectory, socketDirectory, user } = place;
  await clearAway(place, log);
  const serverLog = openServerLog(place.logFile);
  let guarded: Guarded | undefined;
  const giveUp = () => guarded?.release();
  try {
    await prepareCluster(place, serverLog);
    makePrivateDirectory(socketDirectory, user);
    guarded = spawnGuarded({
      file: join(place.binaries.directory, 'bin', 'postgres'),
      args: ['-D', dataDirectory, ...(await settings(place)).flatMap((setting) => ['-c', setting])],
      user,
      output: serverLog.descriptor,
      signal: 'INT',
    });
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    await untilReady(place, guarded, () => serverLog.tail(12), log);
  } finally {
    signal.removeEventListener('abort', giveUp);
    serverLog.close();
  }
  return watchOver(place, guarded, log);
}

function watchOver(place: Place, guarded: Guarded, log: Log): Server {
  guarded.keepAlive(false);
  const bounding = setInterval(() => boundLog(place.logFile), 60_000).unref();
  const exited = guarded.exited.then((code) => {
    clearInterval(bounding);
    return code > 128 ? `it was ended by signal ${code - 128}` : `it ended with exit code ${code}`;
  });
  return {
    exited,
    async stop() {
      guarded.keepAlive(true);
      guarded.release();
      await exited;
      // Still there when its guard was killed, or when it had to be killed itself.
      if (readStatus(place.dataDirectory) !== undefined) await clearAway(place, log);
    },
  };
}

// These are on the command line because the server relies on them; postgresql.conf cannot change them. The first four
// are what an acknowledged write means.
async function settings(place: Place): Promise<readonly string[]> {
  return [
    'fsync=on',
    'full_page_writes=on',
    'synchronous_commit=on',
    'restart_after_crash=on',
    'logging_collector=off',
    'log_destination=stderr',
    `cluster_name=${place.clusterName}`,
    ...(process.platform === 'win32'
      ? ['listen_addresses=127.0.0.1', `port=${await choosePort(place)}`]
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
