// Several server processes behind one port: a primary that owns the embedded database and the start screen, and workers
// that answer requests. A worker that dies is replaced; a primary that dies takes its workers with it.
import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../observe.ts';

export interface Workers {
  /** Starts them; gives the port that they share once all answer. */
  start(count: number, env: Readonly<Record<string, string>>): Promise<number>;
  /** Lets them finish their requests; resolves when all have ended. */
  stop(): Promise<void>;
}

// A worker that dies sooner than this after its start, so many times in a row, is no accident.
const YOUNG_MS = 5000;
const MAX_EARLY_DEATHS = 5;
const READY = 'wda:ready';
const REPLACE_PAUSE_MS = 200;

/** `failed`: workers die as soon as they are started. */
export function makeWorkers(log: Log, failed: () => void): Workers {
  let stopping = false;
  let early = 0;
  const startedAt = new Map<number, number>();

  function fork(env: Readonly<Record<string, string>>): Worker {
    const worker = cluster.fork(env);
    startedAt.set(worker.id, performance.now());
    return worker;
  }

  return {
    start(count, env) {
      // Workers accept by themselves: a connection that the primary was about to hand to a worker that dies would hang.
      cluster.schedulingPolicy = cluster.SCHED_NONE;
      const ready = Promise.withResolvers<number>();
      let answering = 0;
      let port = 0;
      cluster.on('listening', (_worker, address) => {
        port = address.port;
      });
      cluster.on('message', (_worker, message: { readonly type?: string }) => {
        if (message?.type !== READY) return;
        answering++;
        if (answering >= count) ready.resolve(port);
      });
      cluster.on('exit', (worker, code, signal) => {
        const age = performance.now() - (startedAt.get(worker.id) ?? 0);
        startedAt.delete(worker.id);
        if (stopping) return;
        early = age < YOUNG_MS ? early + 1 : 0;
        if (answering < count || early >= MAX_EARLY_DEATHS) {
          ready.reject(new Error(`a worker ended with ${signal ?? `code ${code}`} as soon as it was started`));
          failed();
          return;
        }
        log.error('a worker has died and is replaced', { worker: worker.process.pid, code, signal });
        setTimeout(() => {
          if (!stopping) fork(env);
        }, REPLACE_PAUSE_MS);
      });
      for (let index = 0; index < count; index++) fork(env);
      return ready.promise;
    },
    async stop() {
      stopping = true;
      const all = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
      await Promise.all(
        all.map(
          (worker) =>
            new Promise<void>((resolve) => {
              worker.once('exit', () => resolve());
              worker.process.kill('SIGTERM');
            }),
        ),
      );
    },
  };
}

/** In a worker: it answers requests from now on. */
export const sayReady = (): void => void process.send?.({ type: READY });

/** A worker without its primary would hold the port and the database for nobody: it ends at once, as if it was killed. */
export function endWithPrimary(): void {
  process.on('disconnect', () => process.exit(1));
}
