// `npm start` is ended by ending npm: no server and no PostgreSQL is left behind, whichever shell npm runs scripts with.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { sendSignal } from '../../src/embedded-postgres/process.ts';
import { openFolder, processesOn } from '../embedded/support.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const ROOT = join(import.meta.dirname, '../..');
const skip = process.platform === 'win32' ? 'Windows has no signals' : false;

const isAlive = (pid: number): boolean => sendSignal(pid, 0);

for (const [words, signal, workers, toGroup] of [
  ['SIGTERM to npm alone', 'SIGTERM', '1', false],
  ['SIGTERM to npm alone, with workers', 'SIGTERM', '2', false],
  ['SIGINT to npm and all below it, as a terminal sends it', 'SIGINT', '1', true],
] as const) {
  test(`${words} ends the server and its PostgreSQL in good order`, { skip }, async (t) => {
    const dataDir = openFolder(t);
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: '0',
        DATA_DIR: dataDir,
        WDA_ADMIN_KEY: ADMIN_KEY,
        WDA_DEMO: 'off',
        WDA_WORKERS: workers,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      // A process group of its own, as a terminal's job is.
      detached: true,
    });
    const lines: string[] = [];
    const ended = new Promise<number | null>((resolve) => npm.on('close', resolve));
    const server = await new Promise<number>((resolve, reject) => {
      createInterface({ input: npm.stdout }).on('line', (line) => {
        lines.push(line);
        if (line.endsWith('"msg":"ready"}')) resolve(Number(JSON.parse(line).pid));
      });
      ended.then(() => reject(new Error(lines.join('\n'))));
    });
    t.after(() => sendSignal(server, 'SIGKILL'));
    assert.ok(isAlive(server));
    assert.notDeepEqual(await processesOn(dataDir), []);
    process.kill(toGroup ? -(npm.pid as number) : (npm.pid as number), signal);
    await until('npm and the server have ended', () => npm.exitCode !== null && !isAlive(server));
    await until('nothing is left', async () => (await processesOn(dataDir)).length === 0);
    await ended;
    assert.match(lines.at(-1) ?? '', /"msg":"stopped"}$/);
  });
}
