// Permits for work that is limited to a few at once, such as imports and exports: each holds a database connection as long as
// its client takes. A workspace has half of them at most and an external user one; requests of a workspace wait in order, and
// workspaces rotate.

import { clientDisconnected } from '../database/errors.ts';
import type { RequestSignal } from '../database/executor.ts';
import { serviceUnavailable } from '../errors.ts';

export interface ConcurrencyLimiter {
  /**
   * Resolves with the function that returns the permit, which may be called repeatedly; 503 when too many wait or none is free
   * in time. Rejects when the client leaves; that error is never read.
   */
  readonly acquire: (request: PermitRequest) => Promise<() => void>;
}

export interface PermitRequest {
  readonly workspace: string;
  /** Id of the external user, who may run one transfer at a time; undefined for credentials of the workspace itself. */
  readonly user: string | undefined;
  readonly signal: RequestSignal;
  /** Time on the clock of performance.now(). */
  readonly deadline: number;
}

export interface ConcurrencyLimits {
  readonly count: number;
  /** Name of the work in refusals, a plural. */
  readonly resources: string;
  /** Most waiting requests of all workspaces. */
  readonly maxWaiting: number;
}

// A scheduler may well start this many at once; more would wait in vain.
const MAX_WAITING_OF_WORKSPACE = 20;
const MAX_WAITING_OF_USER = 4;
const RETRY_SECONDS = 5;

interface Waiting {
  readonly user: string | undefined;
  readonly start: () => void;
}

interface WorkspaceQueue {
  active: number;
  readonly users: Set<string>;
  waiting: readonly Waiting[];
}

export function makeConcurrencyLimiter({ count, resources, maxWaiting }: ConcurrencyLimits): ConcurrencyLimiter {
  const maxPerWorkspace = Math.max(1, Math.floor(count / 2));
  // Workspaces with active or waiting work, the one with the latest permit last.
  const queues = new Map<string, WorkspaceQueue>();
  let free = count;
  let waitingCount = 0;

  const mayStart = (queue: WorkspaceQueue, user: string | undefined): boolean =>
    free > 0 && queue.active < maxPerWorkspace && (user === undefined || !queue.users.has(user));

  function start(name: string, queue: WorkspaceQueue, user: string | undefined): () => void {
    free--;
    queue.active++;
    if (user !== undefined) queue.users.add(user);
    queues.delete(name);
    queues.set(name, queue);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      free++;
      queue.active--;
      if (user !== undefined) queue.users.delete(user);
      forget(name, queue);
      serve();
    };
  }

  function forget(name: string, queue: WorkspaceQueue): void {
    if (queue.active === 0 && queue.waiting.length === 0) queues.delete(name);
  }

  function leave(name: string, queue: WorkspaceQueue, waiting: Waiting): void {
    queue.waiting = queue.waiting.filter((other) => other !== waiting);
    waitingCount--;
    forget(name, queue);
  }

  function serve(): void {
    for (const [name, queue] of [...queues]) {
      const next = queue.waiting.find(({ user }) => mayStart(queue, user));
      if (next === undefined) continue;
      leave(name, queue, next);
      next.start();
      if (free === 0) return;
    }
  }

  return {
    acquire({ workspace, user, signal, deadline }) {
      if (signal.isAborted()) return Promise.reject(clientDisconnected());
      const queue = queues.get(workspace) ?? { active: 0, users: new Set(), waiting: [] };
      queues.set(workspace, queue);
      if (mayStart(queue, user)) return Promise.resolve(start(workspace, queue, user));
      const ownCount = queue.waiting.filter((other) => user !== undefined && other.user === user).length;
      if (
        waitingCount >= maxWaiting ||
        queue.waiting.length >= MAX_WAITING_OF_WORKSPACE ||
        ownCount >= MAX_WAITING_OF_USER
      ) {
        forget(workspace, queue);
        return Promise.reject(serviceUnavailable('OVERLOADED', `Too many ${resources} wait; retry`, RETRY_SECONDS));
      }
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          user,
          start() {
            clearTimeout(timer);
            unsubscribe();
            resolve(start(workspace, queue, user));
          },
        };
        const giveUp = (error: Error): void => {
          clearTimeout(timer);
          unsubscribe();
          leave(workspace, queue, waiting);
          reject(error);
        };
        const timer = setTimeout(
          () => giveUp(serviceUnavailable('OVERLOADED', `Too many ${resources} are running; retry`, RETRY_SECONDS)),
          // The deadline may be over: the request has waited for the database before.
          Math.max(0, deadline - performance.now()),
        );
        const unsubscribe = signal.onAbort(() => giveUp(clientDisconnected()));
        queue.waiting = [...queue.waiting, waiting];
        waitingCount++;
      });
    },
  };
}
