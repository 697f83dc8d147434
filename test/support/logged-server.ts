// A server process that may not become ready, or not yet: its port is known beforehand, its log is kept and asked.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './postgres.ts';
import { spawnServer } from './server-process.ts';
import { until } from './wait-until.ts';

// Asked on so many connections: each may meet another worker, and a busy one takes none.
const ASKED = 12;

export interface WatchedServer {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Everything that it wrote, line by line. */
  readonly log: readonly string[];
  /** Status of a path without credential; 0 while nobody listens. */
  status(path: string): Promise<number>;
  /** Resolves when /readyz is 200, whichever worker is asked. */
  ready(limitMs?: number): Promise<void>;
  /** Ends it in good order; by force when that takes longer than 30 s. */
  stop(): Promise<void>;
}

/** Starts it and waits for nothing. */
export async function startWatched(env: Readonly<Record<string, string>>): Promise<WatchedServer> {
  const port = await freePort();
  const child = spawnServer({ PORT: String(port), ...env });
  const abandon = (): void => void child.kill('SIGKILL');
  process.on('exit', abandon);
  const log: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      log.push(...lines);
    });
  }
  const url = `http://127.0.0.1:${port}`;
  // Several processes say once that all of them answer, which no number of requests can tell.
  const saysReady = (): boolean =>
    (env.WDA_WORKERS ?? '1') === '1' || log.some((line) => line.endsWith('Workspace Data API is ready'));
  const status = async (path: string): Promise<number> => {
    try {
      const response = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  };
  return {
    url,
    port,
    child,
    log,
    status,
    async ready(limitMs = 180_000) {
      const isReady = async (): Promise<boolean> => {
        if (!saysReady()) return false;
        for (let asked = 0; asked < ASKED; asked++) if ((await status('/readyz')) !== 200) return false;
        return true;
      };
      await until('the server is ready', isReady, limitMs).catch((error) => {
        throw new Error(`${error.message}\n${log.slice(-30).join('\n')}`);
      });
    },
    async stop() {
      process.off('exit', abandon);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      const killer = setTimeout(abandon, 30_000);
      await exit;
      clearTimeout(killer);
    },
  };
}
