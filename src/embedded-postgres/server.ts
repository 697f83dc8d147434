// One run of the embedded PostgreSQL: ends processes of an earlier run, starts, waits until it accepts connections,
// stops. The caller holds the lock.

import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from './cluster.ts';
import { embeddedFailure } from './failure.ts';
import { boundLog, type Log, openServerLog, type ServerLog } from './log.ts';
import { makePrivateDirectory, type Paths, socketPort } from './paths.ts';
import { type Guarded, isPostmaster, runningProcesses, sendSignal, spawnGuarded, worksIn } from './process.ts';
import { acceptsConnections, choosePort, readStatus } from './status.ts';

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

const timeoutMs = 5_000;

/**
 * Ends the remains of an earlier run that was killed, so that a new server can start on the same data: a server whose
 * guard died too; children that outlived a killed server and still use its memory; a postmaster.pid or a socket lock
 * with a process id that belongs to another program by now. Throws when a server cannot be ended.
 */
async function endStaleProcesses(paths: Paths, log: Log): Promise<void> {
  await endServer(paths, log);
  for (const pid of await findChildren(paths)) {
    log.warn('A process of an earlier PostgreSQL is left over and is ended', { pid });
    sendSignal(pid, 'SIGKILL');
  }
  await waitUntil(async () => (await findChildren(paths)).length === 0, timeoutMs);
  const status = readStatus(paths.dataDirectory);
  if (status !== undefined && sendSignal(status.pid, 0)) await disownPidFile(paths, status.pid);
  const socket = join(paths.socketDirectory, `.s.PGSQL.${socketPort}`);
  await Promise.all([rm(socket, { force: true }), rm(`${socket}.lock`, { force: true })]);
}

async function endServer(paths: Paths, log: Log): Promise<void> {
  for (const [signal, ms] of [['SIGINT', 10_000] as const, ['SIGQUIT', 5_000] as const, ['SIGKILL', 5_000] as const]) {
    const pid = await serverPid(paths);
    if (pid === undefined) break;
    log.info('An earlier PostgreSQL still runs on the data and is ended', { pid, signal });
    sendSignal(pid, signal);
    if (await waitUntil(async () => (await serverPid(paths)) === undefined, ms)) break;
  }
  // A server in another container that shares the directory is visible only by its socket.
  if (await waitUntil(async () => !(await acceptsConnections(paths)), timeoutMs)) return;
  throw embeddedFailure(
    `Another PostgreSQL, which this process cannot see, runs on ${paths.dataDirectory}.`,
    '',
    'Stop the server that shares this DATA_DIR, or set DATABASE_URL for both to one PostgreSQL.',
  );
}

async function serverPid({ dataDirectory, user }: Paths): Promise<number | undefined> {
  const pid = readStatus(dataDirectory)?.pid;
  if (pid === undefined || !sendSignal(pid, 0)) return undefined;
  const running = (await runningProcesses()).find((candidate) => candidate.pid === pid);
  return running !== undefined && isPostmaster(running, dataDirectory) && worksIn(pid, dataDirectory, user)
    ? pid
    : undefined;
}

// Finds child processes. Their title contains the path of the data, which may be the same in another container that
// shares our process ids.
async function findChildren({ clusterName, dataDirectory, user }: Paths): Promise<readonly number[]> {
  const title = `postgres: ${clusterName}: `;
  return (await runningProcesses())
    .filter((running) => running.title.startsWith(title) && worksIn(running.pid, dataDirectory, user))
    .map(({ pid }) => pid);
}

// Replaces the process id in postmaster.pid by one that no system assigns: PostgreSQL does not start while that process
// is alive, even if it is another program. The file must stay: its last lines let PostgreSQL detect that memory of the
// earlier server is in use. No symbolic link is followed: the file is another user's.
async function disownPidFile({ dataDirectory }: Paths, pid: number): Promise<void> {
  const file = await open(join(dataDirectory, 'postmaster.pid'), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0));
  try {
    const content = await file.readFile('utf8');
    if (Number.parseInt(content, 10) !== pid) return;
    await file.truncate(0);
    await file.write(content.replace(/^\d+/, '2000000000'), 0);
  } finally {
    await file.close();
  }
}

async function waitUntil(condition: () => Promise<boolean>, ms: number): Promise<boolean> {
  // Monotonic: setting the clock would end the wait at once.
  const deadline = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await sleep(pollMs);
  }
  return true;
}
