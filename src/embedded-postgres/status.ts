// Reads from files and socket of a DATA_DIR whether its PostgreSQL runs, in whichever process, and its address.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { embeddedFailure } from './failure.ts';
import { type Paths, socketPort } from './paths.ts';

/** Returns whether the PostgreSQL accepts connections. */
export async function isAccepting(paths: Paths): Promise<boolean> {
  return readStatus(paths.dataDirectory)?.state === 'ready' && (await acceptsConnections(paths));
}

/** Returns the TCP port of the PostgreSQL, on Unix the number in its socket's name, or undefined if it never ran. */
export function readPort(paths: Paths): number | undefined {
  if (process.platform !== 'win32') return socketPort;
  const file = getPortFile(paths);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
}

interface Status {
  readonly pid: number;
  readonly state: string;
}

/**
 * Reads postmaster.pid: line 1 has the process id, line 8 `starting`, `ready` or `stopping`. Undefined if there is no
 * such file.
 */
export function readStatus(dataDirectory: string): Status | undefined {
  const file = join(dataDirectory, 'postmaster.pid');
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    const pid = Number.parseInt(lines[0]!, 10);
    return pid > 0 ? { pid, state: lines[7]?.trim() ?? '' } : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns whether a process listens on its socket. */
export async function acceptsConnections(paths: Paths): Promise<boolean> {
  const port = readPort(paths);
  if (port === undefined) return false;
  const socket =
    process.platform === 'win32'
      ? connect({ host: '127.0.0.1', port })
      : connect({ path: join(paths.socketDirectory, `.s.PGSQL.${port}`) });
  try {
    return await new Promise<boolean>((resolve) => {
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

/** Chooses a free TCP port for Windows: the last one if possible, which processes that joined use. */
export async function choosePort(paths: Paths): Promise<number> {
  const lastPort = readPort(paths);
  const port = (lastPort === undefined ? undefined : await freePort(lastPort)) ?? (await freePort(0));
  if (port === undefined) throw embeddedFailure('No TCP port is free for PostgreSQL.', '', '');
  writeFileSync(getPortFile(paths), String(port));
  return port;
}

/** Returns `port` if it is free (0 for any), or undefined if it is in use. */
function freePort(port: number): Promise<number | undefined> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.on('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

function getPortFile(paths: Paths): string {
  return join(paths.stateDirectory, 'port');
}
