// A server in a process of its own, to be killed: `wda serve` on a database, or on an embedded one of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ADMIN_KEY } from './server.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has printed so far, without the lines of requests. */
  readonly lines: readonly string[];
  /** Ends it as kill -9 does, and waits until it is gone. */
  kill(): Promise<void>;
  /** Ends it in good order. */
  stop(): Promise<void>;
}

/** `wda serve` in a process of its own; `main` says which copy of the program runs. */
export function spawnServer(env: Readonly<Record<string, string>>, main = MAIN) {
  return spawn(process.execPath, [main, 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      WDA_ADMIN_KEY: ADMIN_KEY,
      WDA_DEMO: 'off',
      WDA_WORKERS: '1',
      LOG_LEVEL: 'info',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Resolves when it is ready, or only listens; `env` says which database it has, `main` which copy of the program runs. */
export async function startServerProcess(
  env: Readonly<Record<string, string>>,
  until: 'ready' | 'listening' = 'ready',
  main = MAIN,
): Promise<ServerProcess> {
  const child = spawnServer(env, main);
  child.stderr.pipe(process.stderr);
  const gone = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const lines: string[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.endsWith('"msg":"request"}')) return;
      lines.push(line);
      if (line.endsWith(`"msg":"${until}"}`)) resolve(Number(JSON.parse(line).port));
    });
    gone.then(() => reject(new Error(`the server process did not start:\n${lines.join('\n')}`)));
  });
  const end = (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    return gone;
  };
  return { url: `http://127.0.0.1:${port}`, child, lines, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}
