// PostgreSQL servers of a test's own, to be killed, stopped, promoted and put behind poolers: the distribution's binaries
// where they are installed, else those of the embedded one, as an unprivileged user, in a folder that is gone afterwards.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, chownSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { installedBinaries, usableBinaries } from '../../src/embedded-postgres/binaries.ts';
import { isRoot, unprivilegedUser } from '../../src/embedded-postgres/user.ts';

/** The distribution's newest programs, among them pg_basebackup; undefined where they are not installed. */
export const distribution: string | undefined = globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => existsSync(join(folder, 'initdb')))
  .sort((a, b) => Number(a.split('/')[4]) - Number(b.split('/')[4]))
  .at(-1);

/** Whom PostgreSQL and PgBouncer run as. */
export const asUnprivileged: { readonly uid?: number; readonly gid?: number } = isRoot() ? unprivilegedUser() : {};

export interface OwnPostgres {
  readonly port: number;
  /** Where its data, log and socket are. */
  readonly folder: string;
  /** The process that the others are children of; undefined while it does not run. */
  readonly pid: number | undefined;
  readonly url: string;
  /** Resolves when it accepts connections; rejects when it ends instead. */
  start(): Promise<void>;
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Adds lines to postgresql.conf, for the next start. */
  configure(lines: string): void;
  /** Rows of one statement, on a connection of its own. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends it and removes the folder. */
  remove(): Promise<void>;
}

interface PostgresOptions {
  /** Where its folder is made; default: the folder of temporary files. */
  readonly below?: string;
  /** Lines of postgresql.conf. */
  readonly settings?: string;
  /** Makes a standby that streams from this one. */
  readonly standbyOf?: OwnPostgres;
}

// Loopback only; whoever is on this machine may come in, to data that live as long as a test.
const SETTINGS = `
listen_addresses = '127.0.0.1'
max_connections = 100
shared_buffers = '32MB'
`;

/** Makes one; it does not run yet. */
export async function makePostgres(options: PostgresOptions = {}): Promise<OwnPostgres> {
  const { below = tmpdir(), settings = '', standbyOf } = options;
  const folder = mkdtempSync(join(below, 'wda-pg-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const bin = distribution ?? join(embeddedBinaries(folder), 'bin');
  mkdirSync(data, { mode: 0o700 });
  const { uid, gid } = asUnprivileged;
  if (uid !== undefined && gid !== undefined) for (const path of [folder, data]) chownSync(path, uid, gid);
  const port = await freePort();
  if (standbyOf === undefined) {
    await run(join(bin, 'initdb'), ['-D', data, '-U', 'wda', '-A', 'trust', '-E', 'UTF8', '--locale=C']);
  } else {
    await run(join(bin, 'pg_basebackup'), ['-D', data, '-R', '-X', 'stream', '-c', 'fast', '-d', standbyOf.url]);
  }
  const configure = (lines: string): void => appendFileSync(join(data, 'postgresql.conf'), `\n${lines}\n`);
  configure(`${SETTINGS}port = ${port}\nunix_socket_directories = '${folder}'\n${settings}`);
  const url = `postgres://wda@127.0.0.1:${port}/postgres`;
  let child: ChildProcess | undefined;
  const abandon = (): void => void child?.kill('SIGQUIT');
  process.on('exit', abandon);

  const query: OwnPostgres['query'] = async (text, values = []) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000, query_timeout: 60_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const stop: OwnPostgres['stop'] = async (mode = 'fast') => {
    if (child === undefined) return;
    const exit = once(child, 'exit');
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await exit;
  };
  return {
    port,
    folder,
    url,
    get pid() {
      return child?.pid;
    },
    configure,
    query,
    async start() {
      const log = join(folder, 'log');
      // Under sh the log is opened by PostgreSQL's own user; exec keeps the process id.
      child = spawn('/bin/sh', ['-c', `exec "$0" -D "$1" >>"$2" 2>&1`, join(bin, 'postgres'), data, log], {
        ...asUnprivileged,
        stdio: 'ignore',
        cwd: folder,
      });
      const started = child;
      started.once('exit', () => {
        if (child === started) child = undefined;
      });
      while (child === started) {
        if (await query('select 1').then(Boolean, () => false)) return;
        await sleep(50);
      }
      throw new Error(`PostgreSQL ended at its start; see ${log}`);
    },
    stop,
    async remove() {
      process.off('exit', abandon);
      await stop('immediate');
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Makes a standby the primary. */
export async function promote(standby: OwnPostgres): Promise<void> {
  await standby.query('select pg_promote(true, 30)');
}

/** Runs a program as the unprivileged user; rejects with what it wrote when it fails. */
export async function run(file: string, args: readonly string[]): Promise<void> {
  const child = spawn(file, args, { ...asUnprivileged, stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${errors}`);
}

/** A port of the loopback interface that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function embeddedBinaries(folder: string): string {
  return usableBinaries(installedBinaries(), isRoot() ? unprivilegedUser() : undefined, join(folder, 'binaries'))
    .directory;
}
