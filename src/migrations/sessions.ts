// The sessions that change schemas in this process, each with the lock of its workspace. They are cancelled when the
// process ends, as one of their statements may take hours.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
import type { EveryNode } from '../topology/topology.ts';
import { type LockPurpose, withWorkspaceLock } from './workspace-lock.ts';

export interface LockedSession extends Session {
  /**
   * Marks the session as only reverting its work from here on: close() no longer interrupts it until the time is up.
   */
  readonly startCleanup: () => Promise<void>;
}

export interface Sessions {
  /** Runs work with withWorkspaceLock(). */
  readonly withLock: <T, B>(
    workspaceId: string,
    work: (session: LockedSession) => Promise<T>,
    busy: (what: LockPurpose) => B,
  ) => Promise<T | B>;
  /** Runs changes that use all nodes of a cluster: 503 while a node is unavailable. */
  readonly withLockOnNodes: Sessions['withLock'];
  readonly isClosing: () => boolean;
  /** Cancels running work and lets it revert its changes; terminates the sessions after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
}

const POLL_INTERVAL_MS = 20;
const INTERRUPT_EVERY_MS = 200;
// PostgreSQL terminates a session within milliseconds. A session that is left after this time belongs to a database
// that does not answer.
const END_WITHIN_MS = 1000;

interface RunningSession {
  readonly pid: number;
  readonly database: Database;
  interruptible: boolean;
}

export function makeSessions(databases: Databases): Sessions {
  const running = new Set<RunningSession>();
  let closing = false;
  let pendingSignals: Promise<unknown> = Promise.resolve();

  /** Resolves with true when all have ended, or with false after `milliseconds`. */
  async function waitForEnd(milliseconds: number, each: () => void = () => undefined): Promise<boolean> {
    const deadline = performance.now() + milliseconds;
    for (let next = 0; running.size > 0; await sleep(POLL_INTERVAL_MS)) {
      const now = performance.now();
      if (now > deadline) return false;
      if (now < next) continue;
      each();
      next = now + INTERRUPT_EVERY_MS;
    }
    return true;
  }

  /** Sends a signal without waiting: a database that does not answer must not delay the shutdown. */
  function signal(name: 'pg_cancel_backend' | 'pg_terminate_backend', sessions: readonly RunningSession[]): void {
    const call = name === 'pg_cancel_backend' ? sql`pg_cancel_backend(pid)` : sql`pg_terminate_backend(pid)`;
    const signals = [...Map.groupBy(sessions, ({ database }) => database)].map(([database, of]) => {
      const pids = of.map(({ pid }) => pid);
      return database.run(toQuery(sql`select ${call} from unnest(${pids}::int4[]) pid`), 'write');
    });
    if (signals.length > 0) pendingSignals = Promise.allSettled(signals);
  }

  function withLock<T, B>(
    workspaceId: string,
    work: (session: LockedSession) => Promise<T>,
    busy: (what: LockPurpose) => B,
    nodes?: EveryNode,
  ): Promise<T | B> {
    const database = databases.forWorkspace({ id: workspaceId });
    const runTracked = async (session: Session): Promise<T> => {
      const state = { pid: session.pid, database, interruptible: true };
      running.add(state);
      try {
        return await work({
          ...session,
          async startCleanup() {
            state.interruptible = false;
            await Promise.race([pendingSignals, sleep(END_WITHIN_MS)]);
          },
        });
      } finally {
        running.delete(state);
      }
    };
    return withWorkspaceLock(database, workspaceId, runTracked, busy, nodes);
  }

  return {
    isClosing: () => closing,
    withLock: (workspaceId, work, busy) => withLock(workspaceId, work, busy),
    withLockOnNodes: (workspaceId, work, busy) => withLock(workspaceId, work, busy, databases.topology.everyNode),
    async close(graceMs) {
      closing = true;
      const interrupt = (): void =>
        signal(
          'pg_cancel_backend',
          [...running].filter(({ interruptible }) => interruptible),
        );
      if (await waitForEnd(graceMs, interrupt)) return;
      await waitForEnd(END_WITHIN_MS, () => signal('pg_terminate_backend', [...running]));
    },
  };
}
