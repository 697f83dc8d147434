// Whether the PostgreSQL of a DATA_DIR runs and at which address: what its files and its socket say, whoever runs it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { embeddedFailure } from './failure.ts';
import { type Paths, socketPort } from './paths.ts';

/** Whether the PostgreSQL accepts connections, whoever runs it. */
export async function isAccepting(paths: Paths): Promise<boolean> {
  return readStatus(paths.dataDirectory)?.state === 'ready' && (await acceptsConnections(paths));
}

/** TCP port of the PostgreSQL, on Unix the number in its socket's name; undefined when it never ran. */
export function readPort(paths: Paths): number | undefined {
  if (process.platform !== 'win32') return socketPort;
  const file = getPortFile(paths);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
}

export interface Status {
  readonly pid: number;
  readonly state: string;
}

/** What postmaster.pid says: line 1 the process id, line 8 `starting`, `ready` or `stopping`. Undefined: no such file. */
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

/** Whether somebody listens on its socket. */
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

/** A free TCP port for Windows: the one of the last start if possible, which processes that joined know. */
export async function choosePort(paths: Paths): Promise<number> {
  const lastPort = readPort(paths);
  const port = (lastPort === undefined ? undefined : await freePort(lastPort)) ?? (await freePort(0));
  if (port === undefined) throw embeddedFailure('No TCP port is free for PostgreSQL.', '', '');
  writeFileSync(getPortFile(paths), String(port));
  return port;
}

/** `wanted` if it is free, 0 for any; undefined when it is not. */
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
