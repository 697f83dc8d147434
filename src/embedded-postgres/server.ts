// One run of the embedded PostgreSQL: ends processes of an earlier run, starts, waits until it accepts connections,
// stops. The caller holds the lock.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from './cluster.ts';
import { embeddedFailure } from './failure.ts';
import { boundLog, type Log, openServerLog, type ServerLog } from './log.ts';
import { makePrivateDirectory, type Paths, socketPort } from './paths.ts';
import { type Guarded, spawnGuarded } from './process.ts';
import { endStaleProcesses } from './stale-processes.ts';
import { choosePort, readStatus } from './status.ts';

const pollMs = 10;
const messageEveryMs = 5_000;

export interface Server {
  /** Resolves with the reason when PostgreSQL has ended. */
  readonly exited: Promise<string>;
  /** Shuts it down in fast mode; resolves when it has ended (15 s at most) and none of its processes is left. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on its data, which are created if there are none. Resolves when it accepts connections; rejects
 * with a readable failure when it ends before that, also because `signal` was aborted.
 */
export async function startServer(paths: Paths, log: Log, signal: AbortSignal): Promise<Server> {
  await endStaleProcesses(paths, log);
  const serverLog = openServerLog(paths.logFile);
  try {
    await prepareCluster(paths, serverLog);
    return supervise(paths, await launch(paths, log, serverLog, signal), log);
  } finally {
    serverLog.close();
  }
}

async function launch(paths: Paths, log: Log, serverLog: ServerLog, signal: AbortSignal): Promise<Guarded> {
  const { dataDirectory, socketDirectory, user } = paths;
  makePrivateDirectory(socketDirectory, user);
  const settings = await serverSettings(paths);
  const guarded = spawnGuarded({
    file: join(paths.binaries.directory, 'bin', 'postgres'),
    args: ['-D', dataDirectory, ...settings.flatMap((setting) => ['-c', setting])],
    user,
    output: serverLog.descriptor,
    signal: 'INT',
  });
  const giveUp = () => guarded.release();
  signal.addEventListener('abort', giveUp);
  try {
    if (signal.aborted) giveUp();
    await waitUntilReady(paths, guarded, () => serverLog.tail(12), log);
    return guarded;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

// Settings on the command line, which postgresql.conf cannot override, because the server relies on them. The first
// four define the durability of an acknowledged write.
async function serverSettings(paths: Paths): Promise<readonly string[]> {
  return [
    'fsync=on',
    'full_page_writes=on',
    'synchronous_commit=on',
    'restart_after_crash=on',
    'logging_collector=off',
    'log_destination=stderr',
    `cluster_name=${paths.clusterName}`,
    ...(process.platform === 'win32'
      ? ['listen_addresses=127.0.0.1', `port=${await choosePort(paths)}`]
      : [
          'listen_addresses=',
          `port=${socketPort}`,
          `unix_socket_directories="${paths.socketDirectory.replaceAll('"', '""')}"`,
          'unix_socket_permissions=0700',
        ]),
  ];
}

async function waitUntilReady(paths: Paths, guarded: Guarded, tail: () => string, log: Log): Promise<void> {
  let exitReason: string | undefined;
  guarded.exited.then((code) => {
    exitReason = `it ended with exit code ${code}`;
  });
  const pid = await guarded.pid.catch((error: Error) => {
    exitReason = error.message;
    return 0;
  });
  // Waits without limit while it lives: after a crash it may have much WAL to replay.
  let nextMessage = performance.now() + messageEveryMs;
  while (exitReason === undefined) {
    const status = readStatus(paths.dataDirectory);
    if (status?.pid === pid && status.state === 'ready') return;
    if (performance.now() > nextMessage) {
      log.info('PostgreSQL is still starting', { lastLine: tail().split('\n').at(-1) });
      nextMessage = performance.now() + messageEveryMs;
    }
    await sleep(pollMs);
  }
  throw embeddedFailure(
    `PostgreSQL could not be started on ${paths.dataDirectory}.`,
    tail() || exitReason,
    `The lines above are the end of its log, ${paths.logFile}. Set DATABASE_URL to use another PostgreSQL.`,
  );
}

function supervise(paths: Paths, guarded: Guarded, log: Log): Server {
  guarded.keepAlive(false);
  const bounding = setInterval(() => boundLog(paths.logFile), 60_000).unref();
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
      // Remaining processes: the guard was killed, or had to kill PostgreSQL.
      if (readStatus(paths.dataDirectory) !== undefined) await endStaleProcesses(paths, log);
    },
  };
}
