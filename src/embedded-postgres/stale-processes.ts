// Ends the remains of an earlier run of the embedded PostgreSQL that was killed: a server whose guard died too;
// children that outlived a killed server and still use its memory; a postmaster.pid or a socket lock with a process id
// that belongs to another program by now. The caller holds the lock, so no other process starts a server meanwhile.
import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedFailure } from './failure.ts';
import type { Log } from './log.ts';
import { type Paths, socketPort } from './paths.ts';
import { isPostmaster, runningProcesses, sendSignal, worksIn } from './process.ts';
import { acceptsConnections, readStatus } from './status.ts';

const pollMs = 10;
const timeoutMs = 5_000;

/** Ends them, so that a new server can start on the same data. Throws when a server cannot be ended. */
export async function endStaleProcesses(paths: Paths, log: Log): Promise<void> {
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
