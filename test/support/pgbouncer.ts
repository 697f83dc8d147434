// PgBouncer in front of a PostgreSQL, on a port of the loopback interface: that of the distribution (1.18 of Debian 12, which
// loses prepared statements in transaction mode), and a newer one that the environment names.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { asUnprivileged, freePort } from './postgres.ts';

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(existsSync);

/** For the `skip` of tests that need it. */
export const withoutPgBouncer =
  PROGRAM === undefined ? 'PgBouncer is not installed (apt-get install pgbouncer)' : false;

const NEWER_PROGRAM = process.env.WDA_TEST_PGBOUNCER;
export const withoutNewerPgBouncer = NEWER_PROGRAM
  ? false
  : 'WDA_TEST_PGBOUNCER does not name a PgBouncer 1.21 or newer (.ci/newer-pgbouncer FOLDER makes one)';

export interface PgBouncer {
  /** A database there, as the user wda. */
  url(database: string): string;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  readonly poolMode: 'session' | 'transaction';
  /** Of `ignore_startup_parameters`; default: none, as it is shipped. */
  readonly ignored?: string;
  /** The program of WDA_TEST_PGBOUNCER. */
  readonly isNewer?: boolean;
  /** Of `max_prepared_statements`, which only newer ones know; default: as it is shipped. */
  readonly maxPrepared?: number;
  /** Connections to a database; default: 30. */
  readonly size?: number;
}

/** Resolves when it passes a statement on. */
export async function startPgBouncer(port: number, options: PgBouncerOptions): Promise<PgBouncer> {
  const { poolMode, ignored, isNewer = false, maxPrepared, size = 30 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'wda-pgbouncer-'));
  chmodSync(folder, 0o755);
  const own = await freePort();
  writeFileSync(join(folder, 'users'), '"wda" ""\n');
  const ini = join(folder, 'pgbouncer.ini');
  writeFileSync(
    ini,
    `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
pool_mode = ${poolMode}
max_client_conn = 200
default_pool_size = ${size}
${ignored === undefined ? '' : `ignore_startup_parameters = ${ignored}`}
${maxPrepared === undefined ? '' : `max_prepared_statements = ${maxPrepared}`}
`,
  );
  const child: ChildProcess = spawn((isNewer ? NEWER_PROGRAM : PROGRAM) as string, [ini], {
    ...asUnprivileged,
    stdio: 'ignore',
    cwd: '/',
  });
  const abandon = (): void => void child.kill('SIGKILL');
  process.on('exit', abandon);
  const url = (database: string): string => `postgres://wda@127.0.0.1:${own}/${database}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with code ${child.exitCode}`);
    const client = new pg.Client({ connectionString: url('postgres') });
    client.on('error', () => undefined);
    const answers = await client
      .connect()
      .then(() => client.query('select 1'))
      .then(Boolean, () => false);
    await client.end().catch(() => undefined);
    if (answers) break;
    await sleep(50);
  }
  return {
    url,
    async stop() {
      process.off('exit', abandon);
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        child.kill('SIGKILL');
        await exit;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
