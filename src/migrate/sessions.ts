// The sessions that change schemas in this process, each with the lock of its workspace. They are stopped when the process
// ends, as one of their statements may take hours.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { withWorkspaceLock } from './workspace-lock.ts';

export interface LockedSession extends Session {
  /** Says that the session only takes back what it made from here on: close() no longer interrupts it, until time is up. */
  readonly cleansUp: () => Promise<void>;
}

export interface Sessions {
  /** As withWorkspaceLock. */
  readonly withLock: <T, B>(
    workspaceId: string,
    work: (session: LockedSession) => Promise<T>,
    busy: () => B,
  ) => Promise<T | B>;
  readonly isClosing: () => boolean;
  /** Stops what they do and lets them take back what they made; after `graceMs` the sessions are ended. */
  readonly close: (graceMs: number) => Promise<void>;
}

const LOOK_EVERY_MS = 20;
const INTERRUPT_EVERY_MS = 200;
// PostgreSQL ends a session within milliseconds. A session that is left after this time belongs to a database that answers
// nobody.
const END_WITHIN_MS = 1000;

export function makeSessions(db: Database): Sessions {
  const running = new Map<number, { interruptible: boolean }>();
  let closing = false;
  let signalled: Promise<unknown> = Promise.resolve();

  /** Resolves with true when all have ended, with false after `milliseconds`. */
  async function ended(milliseconds: number, each: () => void = () => undefined): Promise<boolean> {
    const deadline = performance.now() + milliseconds;
    for (let next = 0; running.size > 0; await sleep(LOOK_EVERY_MS)) {
      const now = performance.now();
      if (now > deadline) return false;
      if (now < next) continue;
      each();
      next = now + INTERRUPT_EVERY_MS;
    }
    return true;
  }

  /** Not awaited: a database that does not answer must not hold up the end. */
  function signal(name: 'pg_cancel_backend' | 'pg_terminate_backend', pids: readonly number[]): void {
    if (pids.length === 0) return;
    const call = name === 'pg_cancel_backend' ? sql`pg_cancel_backend(pid)` : sql`pg_terminate_backend(pid)`;
    signalled = db.run(toQuery(sql`select ${call} from unnest(${pids}::int4[]) pid`), 'write').catch(() => undefined);
  }

  return {
    isClosing: () => closing,
    withLock: (workspaceId, work, busy) =>
      withWorkspaceLock(
        db,
        workspaceId,
        async (session) => {
          const { pid } = session;
          const state = { interruptible: true };
          running.set(pid, state);
          try {
            return await work({
              ...session,
              async cleansUp() {
                state.interruptible = false;
                await Promise.race([signalled, sleep(END_WITHIN_MS)]);
              },
            });
          } finally {
            running.delete(pid);
          }
        },
        busy,
      ),
    async close(graceMs) {
      closing = true;
      const interrupt = (): void =>
        signal(
          'pg_cancel_backend',
          [...running].flatMap(([pid, { interruptible }]) => (interruptible ? [pid] : [])),
        );
      if (await ended(graceMs, interrupt)) return;
      await ended(END_WITHIN_MS, () => signal('pg_terminate_backend', [...running.keys()]));
    },
  };
}
