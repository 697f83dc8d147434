// Room in memory for the bodies of requests: what is read of long ones, and what is made of it, stays until they are
// answered. Bodies of 10 MB take some 40 MB each; without a bound two dozen at once ended the process.
import { serviceUnavailable } from '../errors.ts';

/** Gives the room back; a second call does nothing. */
export type Release = () => void;

/** A body on its way. */
export interface IncomingBody {
  /** Whether it comes too slowly for others to wait for it. */
  isLate(): boolean;
  /** Nothing more of it is read, and its request is refused, which gives its room back. */
  cutOff(): void;
}

export interface MemoryBudget {
  /**
   * Resolves when there is room for so many bytes. `group`: whose they are. 503 when none comes in time. While others wait,
   * a body that is late is cut off.
   */
  reserve(group: string, bytes: number, body: IncomingBody): Promise<Release>;
}

export interface MemoryBudgetOptions {
  readonly totalBytes: number;
  /** What one group may have; a single body beyond it comes alone. */
  readonly maxGroupBytes: number;
  readonly timeoutMs: number;
}

interface Waiting {
  readonly group: string;
  readonly bytes: number;
  readonly body: IncomingBody;
  readonly resolve: (release: Release) => void;
  readonly timer: NodeJS.Timeout;
}

const MAX_WAITING = 1000;
// How often it is looked for late bodies while others wait.
const CHECK_INTERVAL_MS = 250;

export function makeMemoryBudget({ totalBytes, maxGroupBytes, timeoutMs }: MemoryBudgetOptions): MemoryBudget {
  const bytesByGroup = new Map<string, number>();
  const activeBodies = new Set<IncomingBody>();
  const queue: Waiting[] = [];
  let total = 0;
  let checkTimer: NodeJS.Timeout | undefined;

  function fits(group: string, bytes: number): boolean {
    const own = bytesByGroup.get(group) ?? 0;
    return (own === 0 || own + bytes <= maxGroupBytes) && (total === 0 || total + bytes <= totalBytes);
  }

  function enter(group: string, bytes: number, body: IncomingBody): Release {
    activeBodies.add(body);
    total += bytes;
    bytesByGroup.set(group, (bytesByGroup.get(group) ?? 0) + bytes);
    let isReserved = true;
    return () => {
      if (!isReserved) return;
      isReserved = false;
      activeBodies.delete(body);
      total -= bytes;
      const remaining = (bytesByGroup.get(group) ?? 0) - bytes;
      if (remaining > 0) bytesByGroup.set(group, remaining);
      else bytesByGroup.delete(group);
      admit();
    };
  }

  /** The oldest first, past those whose group has its share. */
  function admit(): void {
    for (let index = 0; index < queue.length; ) {
      const { group, bytes, body, resolve, timer } = queue[index] as Waiting;
      if (!fits(group, bytes)) {
        index++;
        continue;
      }
      queue.splice(index, 1);
      clearTimeout(timer);
      resolve(enter(group, bytes, body));
    }
  }

  /** Cuts late bodies off for as long as others wait. */
  function checkProgress(): void {
    if (queue.length > 0) {
      for (const body of [...activeBodies]) if (body.isLate()) body.cutOff();
      return;
    }
    clearInterval(checkTimer);
    checkTimer = undefined;
  }

  return {
    reserve(group, bytes, body) {
      if (fits(group, bytes)) return Promise.resolve(enter(group, bytes, body));
      if (queue.length >= MAX_WAITING) return Promise.reject(queueFull());
      return new Promise((resolve, reject) => {
        const giveUp = (): void => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(queueFull());
        };
        const waiting = { group, bytes, body, resolve, timer: setTimeout(giveUp, timeoutMs) };
        queue.push(waiting);
        checkTimer ??= setInterval(checkProgress, CHECK_INTERVAL_MS);
      });
    },
  };
}

const queueFull = (): Error => serviceUnavailable('OVERLOADED', 'Too many long bodies are being read; retry', 1);
