// A server whose log has lost its reader, as `wda serve | tee log` has after Ctrl-C.
import { test } from 'node:test';
import { freePort } from '../support/postgres.ts';
import { startServerProcess } from '../support/server-process.ts';
import { until } from '../support/wait-until.ts';

// How far the first line after the end of the reader gets is a matter of time.
const SERVERS = 5;

test('a server ends although nobody reads its log any more', async () => {
  const env = { DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/nothing` };
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => startServerProcess(env, 'listening')));
  for (const { child } of servers) {
    child.stdout?.destroy();
    child.kill('SIGTERM');
  }
  try {
    await until('all have ended', async () => servers.every(({ child }) => child.exitCode !== null));
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
  }
});
