// Several server processes that share one port: a primary that owns the embedded database, the control tables and the start
// screen, and workers that answer requests. A worker that dies is replaced; a primary that dies takes its workers with it.
import cluster from 'node:cluster';

/** Log of the workers that die. */
interface Log {
  debug(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
}

export interface Workers {
  /** Resolves with the shared port, once the first worker listens. */
  readonly port: Promise<number>;
  /** Resolves when all answer. Rejects with a sentence when they cannot: the port is taken, or they die repeatedly. */
  readonly ready: Promise<void>;
  /** Stops the workers after their requests; resolves when all have ended. */
  stop(): Promise<void>;
}

// Starting has failed when this many workers in a row die this early, before any has answered.
const EARLY_EXIT_MS = 5000;
const MAX_EARLY_EXITS = 5;
const READY = 'wda:ready';
const FAILED = 'wda:failed';
const REPLACE_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;

/** Name of the error whose message is meant for the user who started the server. */
export const WORKERS_FAILURE = 'WorkersFailure';

interface WorkerMessage {
  readonly type?: string;
  readonly reason?: string;
}

/** Starts `count` workers. On a stop, a worker that has not ended after `graceMs` is killed. */
export function startWorkers(count: number, graceMs: number, log: Log): Workers {
  let stopping = false;
  let readyCount = 0;
  let earlyExits = 0;
  const startedAt = new Map<number, number>();
  const port = Promise.withResolvers<number>();
  const ready = Promise.withResolvers<void>();
  const fail = (reason: string): void => {
    const failure = Object.assign(new Error(reason), { name: WORKERS_FAILURE });
    port.reject(failure);
    ready.reject(failure);
  };
  // A caller may wait for only one of the two promises.
  port.promise.catch(() => {});
  ready.promise.catch(() => {});

  function fork(): void {
    const worker = cluster.fork();
    startedAt.set(worker.id, performance.now());
    // A message to a worker that has just died may fail; its exit is handled elsewhere.
    worker.on('error', (error) => log.debug('a message to a worker could not be sent', { error: error.message }));
  }

  // Workers accept connections themselves: one that the primary was about to pass to a dying worker would hang.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.on('listening', (_worker, address) => port.resolve(address.port));
  cluster.on('message', (_worker, message: WorkerMessage) => {
    if (message?.type === FAILED) fail(String(message.reason));
    if (message?.type !== READY) return;
    readyCount++;
    if (readyCount >= count) ready.resolve();
  });
  cluster.on('exit', (worker, code, signal) => {
    const lifetimeMs = performance.now() - (startedAt.get(worker.id) ?? 0);
    startedAt.delete(worker.id);
    if (stopping) return;
    earlyExits = lifetimeMs < EARLY_EXIT_MS ? earlyExits + 1 : 0;
    log.error('a worker has died and is replaced', { worker: worker.process.pid, code, signal });
    // Once workers have answered, deaths are considered temporary: the service goes on, with longer and longer pauses.
    if (readyCount === 0 && earlyExits >= MAX_EARLY_EXITS) {
      fail(`The workers end as soon as they are started, the last one with ${signal ?? `code ${code}`}`);
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, REPLACE_PAUSE_MS * 2 ** Math.max(0, earlyExits - MAX_EARLY_EXITS));
    setTimeout(() => {
      if (!stopping) fork();
    }, pauseMs);
  });
  for (let index = 0; index < count; index++) fork();

  return {
    port: port.promise,
    ready: ready.promise,
    async stop() {
      stopping = true;
      const all = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
      await Promise.all(
        all.map(async (worker) => {
          const exit = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
          worker.process.kill('SIGTERM');
          const timer = setTimeout(() => worker.process.kill('SIGKILL'), graceMs);
          await exit;
          clearTimeout(timer);
        }),
      );
    },
  };
}

/** Runs in a worker: reports that it answers requests from now on. */
export const reportReady = (): void => void process.send?.({ type: READY } satisfies WorkerMessage);

/** Runs in a worker: reports that no worker can listen. Resolves when the primary has the message. */
export function reportFailure(reason: string): Promise<void> {
  return new Promise((resolve) => process.send?.({ type: FAILED, reason } satisfies WorkerMessage, () => resolve()));
}

/** Ends a worker at once when its primary is gone: it would hold the port and the database in vain. */
export function exitWithPrimary(): void {
  // Not process.exit(), which waits for the last lines of the log: their reader may be gone with the primary.
  const exit = (): void => void process.kill(process.pid, 'SIGKILL');
  process.on('disconnect', exit);
  // A message to a primary that is gone fails; the disconnect may come later.
  cluster.worker?.on('error', exit);
}
