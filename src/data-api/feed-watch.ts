// Waits for changes of workspaces: one poll of a workspace for all who wait in this process, and at once after a write of
// this process.
import { isStaleSnapshot } from '../database/errors.ts';
import type { RequestSignal } from '../http/request.ts';

export interface FeedWatch {
  /**
   * Resolves with true when the workspace may have changes after the position, with false when `until` of
   * performance.now() has come, the client has left, or all waits have ended. `poll` gives positions to new changes and
   * returns the last position.
   */
  readonly wait: (workspaceId: string, options: WaitOptions) => Promise<boolean>;
  /** Resolves after the time, or when all waits have ended. */
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Ends all waits. */
  readonly endAll: () => void;
  /** Tells that this process has written to the workspace. */
  readonly touch: (workspaceId: string) => void;
  /** Calls the listener after each of these writes. */
  readonly onTouch: (listener: (workspaceId: string) => void) => void;
}

export interface WaitOptions {
  readonly after: number;
  readonly until: number;
  readonly signal: RequestSignal;
  readonly poll: () => Promise<number>;
}

interface Waiter {
  readonly after: number;
  readonly wake: (hasChanges: boolean) => void;
}

interface WatchedWorkspace {
  readonly waiters: Set<Waiter>;
  /** Poll of the first of those who wait, which all of them share. */
  readonly poll: () => Promise<number>;
  timer: NodeJS.Timeout | undefined;
  isPolling: boolean;
  isTouched: boolean;
  /** Last position that the poll has returned. */
  last: number;
}

// Changes of other processes and of SQL are met by the poll: 0.3 ms of the database each.
const POLL_MS = 250;
// A burst of writes is one poll.
const GATHER_MS = 25;

export function makeFeedWatch(): FeedWatch {
  const workspaces = new Map<string, WatchedWorkspace>();
  const pauses = new Set<() => void>();
  const listeners: ((workspaceId: string) => void)[] = [];

  function makeWorkspace(id: string, poll: WaitOptions['poll']): WatchedWorkspace {
    const one = { waiters: new Set<Waiter>(), poll, timer: undefined, isPolling: false, isTouched: false, last: 0 };
    workspaces.set(id, one);
    schedule(id, one, GATHER_MS);
    return one;
  }

  function schedule(id: string, one: WatchedWorkspace, delayMs: number): void {
    clearTimeout(one.timer);
    one.timer = setTimeout(run, delayMs, id, one);
    one.timer.unref();
  }

  async function run(id: string, one: WatchedWorkspace): Promise<void> {
    one.isPolling = true;
    one.isTouched = false;
    // A database that is away is asked again; whoever waits is answered when its time is over. Tables that are gone are
    // those of a workspace that was deleted: everybody looks for themselves.
    const last = await one.poll().catch((error) => (isStaleSnapshot(error) ? Number.POSITIVE_INFINITY : undefined));
    one.isPolling = false;
    if (last !== undefined) {
      one.last = last;
      for (const waiter of [...one.waiters]) if (waiter.after < last) waiter.wake(true);
    }
    if (one.waiters.size === 0) workspaces.delete(id);
    else schedule(id, one, one.isTouched ? GATHER_MS : POLL_MS);
  }

  return {
    wait(id, { after, until, signal, poll }) {
      const one = workspaces.get(id) ?? makeWorkspace(id, poll);
      if (one.last > after) return Promise.resolve(true);
      return new Promise((resolve) => {
        const wake = (hasChanges: boolean): void => {
          clearTimeout(timer);
          unsubscribe();
          one.waiters.delete(waiter);
          resolve(hasChanges);
        };
        const waiter = { after, wake };
        const timer = setTimeout(wake, Math.max(0, until - performance.now()), false);
        const unsubscribe = signal.onAbort(() => wake(false));
        one.waiters.add(waiter);
      });
    },
    pause: (milliseconds) =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          pauses.delete(end);
          resolve();
        };
        const timer = setTimeout(end, milliseconds);
        pauses.add(end);
      }),
    endAll() {
      for (const { waiters } of workspaces.values()) for (const waiter of [...waiters]) waiter.wake(false);
      for (const end of [...pauses]) end();
    },
    touch(id) {
      for (const listener of listeners) listener(id);
      const one = workspaces.get(id);
      // The first write of a burst decides: steady writes must not put the poll off for ever.
      if (one === undefined || one.isTouched) return;
      one.isTouched = true;
      if (!one.isPolling) schedule(id, one, GATHER_MS);
    },
    onTouch: (listener) => void listeners.push(listener),
  };
}
