// A server in a process of its own, to be killed: `wda serve` on a database, or on an embedded one of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ADMIN_KEY } from './server.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Ends it as kill -9 does, and waits until it is gone. */
  kill(): Promise<void>;
  /** Ends it in good order. */
  stop(): Promise<void>;
}

/** Resolves when it is ready; `env` says which database it has. */
export async function startServerProcess(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
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
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const lines: string[] = [];
  let port: number | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    port = /"port":(\d+).*"msg":"ready"/.test(line) ? Number(JSON.parse(line).port) : undefined;
    if (port !== undefined) break;
  }
  if (port === undefined) throw new Error(`the server process did not start:\n${lines.join('\n')}`);
  child.stdout.resume();
  const end = (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    return gone;
  };
  return { url: `http://127.0.0.1:${port}`, child, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}
