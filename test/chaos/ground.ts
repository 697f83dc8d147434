// What a run takes place on: a server with two workers over a PostgreSQL of the run's own behind a wire, on a disk that can
// be filled; or over the embedded one. Knows the processes, so that they can be ended and paused, and ends them all.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatched, type WatchedServer } from '../support/logged-server.ts';
import { makePostgres, type OwnPostgres } from '../support/postgres.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { makeWire, type Wire } from './wire.ts';

export type GroundKind = 'own' | 'embedded';

export interface Ground {
  readonly kind: GroundKind;
  readonly server: WatchedServer;
  /** Server processes that answer requests, the oldest first. */
  workers(): number[];
  /** The first process of PostgreSQL; undefined while there is none. */
  postmaster(): number | undefined;
  /** Its processes that serve connections of the server. */
  backends(): number[];
  /** Only of PostgreSQL of its own. */
  readonly own?: { readonly postgres: OwnPostgres; readonly wire: Wire; readonly disk: Disk | undefined };
  /** Resolves when PostgreSQL, where it is not the server's own, answers again. */
  up(): Promise<void>;
  close(): Promise<void>;
}

interface Disk {
  readonly folder: string;
  /** Takes all space that is left. */
  fill(): void;
  empty(): void;
}

export const STATEMENT_TIMEOUT_MS = 3000;
const WORKERS = 2;
const DISK_MB = 640;
const RESTART_MS = 200;

const SETTINGS = {
  ...LOCAL_PROVIDER,
  WDA_WORKERS: String(WORKERS),
  WDA_STATEMENT_TIMEOUT_MS: String(STATEMENT_TIMEOUT_MS),
  WDA_TRANSFER_TIMEOUT_MS: '15000',
  LOG_LEVEL: 'warn',
};

/** Starts everything; resolves when the server is ready. `say` is told what this machine has not got. */
export async function prepareGround(kind: GroundKind, say: (line: string) => void): Promise<Ground> {
  return kind === 'own' ? prepareOwn(say) : prepareEmbedded();
}

async function prepareOwn(say: (line: string) => void): Promise<Ground> {
  const disk = mountDisk(say);
  let isClosing = false;
  let supervising: Promise<void> | undefined;
  let server: WatchedServer | undefined;
  let wire: Wire | undefined;
  const postgres = await makePostgres({
    ...(disk === undefined ? {} : { below: disk.folder }),
    settings: `min_wal_size = '32MB'\nmax_wal_size = '96MB'\nlog_min_messages = 'log'`,
  });
  const close = async (): Promise<void> => {
    isClosing = true;
    disk?.empty();
    await server?.stop();
    await wire?.close();
    await supervising;
    await postgres.remove();
    disk?.unmount();
  };
  try {
    await postgres.start();
    // Starts it again whenever it ends, as the manager of services does.
    supervising = (async () => {
      for (; !isClosing; await sleep(RESTART_MS)) {
        if (postgres.pid === undefined) await postgres.start().catch(() => undefined);
      }
    })();
    wire = await makeWire(postgres.port);
    server = await startWatched({
      ...SETTINGS,
      DATABASE_URL: `postgres://wda@127.0.0.1:${wire.port}/postgres`,
    });
    await server.ready();
  } catch (error) {
    await close();
    throw error;
  }
  const { pid } = server.child;
  return {
    kind: 'own',
    server,
    own: { postgres, wire, disk },
    workers: () => childrenOf(pid as number).filter((child) => titleOf(child).includes('main.ts')),
    postmaster: () => postgres.pid,
    backends: () => backendsOf(postgres.pid),
    async up() {
      while (!isClosing && !(await postgres.query('select 1').then(Boolean, () => false))) await sleep(50);
    },
    close,
  };
}

async function prepareEmbedded(): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'wda-chaos-'));
  chmodSync(folder, 0o755);
  const server = await startWatched({ ...SETTINGS, DATA_DIR: folder });
  const close = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    await server.ready();
  } catch (error) {
    await close();
    throw error;
  }
  const postmaster = (): number | undefined => {
    try {
      const pid = Number.parseInt(readFileSync(join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);
      return /postgres/.test(titleOf(pid)) ? pid : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    kind: 'embedded',
    server,
    workers: () => childrenOf(server.child.pid as number).filter((child) => titleOf(child).includes('main.ts')),
    postmaster,
    backends: () => backendsOf(postmaster()),
    // The server looks after it: what that takes counts.
    up: async () => undefined,
    close,
  };
}

/** Those of its children that serve a connection. */
function backendsOf(postmaster: number | undefined): number[] {
  if (postmaster === undefined) return [];
  return childrenOf(postmaster).filter((child) => /^postgres: .*(\[local\]|127\.0\.0\.1\()/.test(titleOf(child)));
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return [];
  }
}

function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** A file system of its own, in memory; only root can make one. */
function mountDisk(say: (line: string) => void): (Disk & { unmount(): void }) | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'wda-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    rmSync(folder, { recursive: true, force: true });
    say('no file system can be mounted here: the disk is not filled');
    return undefined;
  }
  const ballast = join(folder, 'ballast');
  const unmount = (): void => {
    try {
      execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
    } catch {
      return;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    folder,
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      const piece = Buffer.alloc(1024 * 1024);
      try {
        for (let left = bavail * bsize; left > 0; left -= piece.length) writeFileSync(ballast, piece, { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    unmount,
  };
}
