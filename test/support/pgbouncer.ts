// PgBouncer of the distribution in front of a PostgreSQL, on a port of the loopback interface.
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

export interface PgBouncer {
  /** A database there, as the user wda. */
  url(database: string): string;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  readonly poolMode: 'session' | 'transaction';
  /** Of `ignore_startup_parameters`; default: none, as it is shipped. */
  readonly ignored?: string;
}

/** Resolves when it passes a statement on. */
export async function startPgBouncer(port: number, { poolMode, ignored = '' }: PgBouncerOptions): Promise<PgBouncer> {
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
default_pool_size = 30
${ignored === '' ? '' : `ignore_startup_parameters = ${ignored}`}
`,
  );
  const child: ChildProcess = spawn(PROGRAM as string, [ini], { ...asUnprivileged, stdio: 'ignore', cwd: '/' });
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
