// Permits for work of which few may be done at once, such as imports and exports: each holds a database connection for as long
// as its client takes. A workspace has half of them at most and an external user one; those of a workspace wait in order, and
// workspaces rotate.

import { callerGone } from '../db/errors.ts';
import type { Caller } from '../db/executor.ts';
import { serviceUnavailable } from '../errors.ts';

export interface ConcurrencyLimiter {
  /**
   * Resolves with the function that gives the permit back, to be called once or more; 503 when too many wait or none came
   * in time. Rejects when the client leaves; nobody reads that error.
   */
  readonly acquire: (request: PermitRequest) => Promise<() => void>;
}

export interface PermitRequest {
  readonly workspace: string;
  /** The external user, who may run one transfer at a time; undefined for credentials of the workspace itself. */
  readonly user: string | undefined;
  readonly caller: Caller;
  /** On the clock of performance.now(). */
  readonly deadline: number;
}

export interface ConcurrencyLimits {
  readonly count: number;
  /** What it is that is done, for refusals; a plural. */
  readonly of: string;
  /** Those of all workspaces that wait. */
  readonly maxWaiting: number;
}

// A scheduler may well start this many at once; more would wait in vain.
const MAX_WAITING_OF_WORKSPACE = 20;
const MAX_WAITING_OF_USER = 4;
const RETRY_SECONDS = 5;

interface Waiting {
  readonly user: string | undefined;
  readonly begin: () => void;
}

interface Line {
  active: number;
  readonly users: Set<string>;
  waiting: readonly Waiting[];
}

export function makeConcurrencyLimiter({ count, of, maxWaiting }: ConcurrencyLimits): ConcurrencyLimiter {
  const share = Math.max(1, Math.floor(count / 2));
  // Only workspaces with something active or waiting; the one that got the latest permit is last.
  const lines = new Map<string, Line>();
  let free = count;
  let waitingCount = 0;

  const mayBegin = (line: Line, user: string | undefined): boolean =>
    free > 0 && line.active < share && (user === undefined || !line.users.has(user));

  function begin(name: string, line: Line, user: string | undefined): () => void {
    free--;
    line.active++;
    if (user !== undefined) line.users.add(user);
    lines.delete(name);
    lines.set(name, line);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      free++;
      line.active--;
      if (user !== undefined) line.users.delete(user);
      forget(name, line);
      serve();
    };
  }

  function forget(name: string, line: Line): void {
    if (line.active === 0 && line.waiting.length === 0) lines.delete(name);
  }

  function leave(name: string, line: Line, waiting: Waiting): void {
    line.waiting = line.waiting.filter((other) => other !== waiting);
    waitingCount--;
    forget(name, line);
  }

  function serve(): void {
    for (const [name, line] of [...lines]) {
      const next = line.waiting.find(({ user }) => mayBegin(line, user));
      if (next === undefined) continue;
      leave(name, line, next);
      next.begin();
      if (free === 0) return;
    }
  }

  return {
    acquire({ workspace, user, caller, deadline }) {
      if (caller.isGone()) return Promise.reject(callerGone());
      const line = lines.get(workspace) ?? { active: 0, users: new Set(), waiting: [] };
      lines.set(workspace, line);
      if (mayBegin(line, user)) return Promise.resolve(begin(workspace, line, user));
      const own = line.waiting.filter((other) => user !== undefined && other.user === user).length;
      if (waitingCount >= maxWaiting || line.waiting.length >= MAX_WAITING_OF_WORKSPACE || own >= MAX_WAITING_OF_USER) {
        forget(workspace, line);
        return Promise.reject(serviceUnavailable('OVERLOADED', `Too many ${of} wait; retry`, RETRY_SECONDS));
      }
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          user,
          begin() {
            clearTimeout(timer);
            stay();
            resolve(begin(workspace, line, user));
          },
        };
        const giveUp = (error: Error): void => {
          clearTimeout(timer);
          stay();
          leave(workspace, line, waiting);
          reject(error);
        };
        const timer = setTimeout(
          () => giveUp(serviceUnavailable('OVERLOADED', `Too many ${of} are running; retry`, RETRY_SECONDS)),
          // It may be over: the request has waited for the database before.
          Math.max(0, deadline - performance.now()),
        );
        const stay = caller.onGone(() => giveUp(callerGone()));
        line.waiting = [...line.waiting, waiting];
        waitingCount++;
      });
    },
  };
}
