// A memory budget for request bodies: the bytes of long ones, and the values made of them, stay until their requests are
// answered. Bodies of 10 MB take some 40 MB each; without a bound two dozen at once ended the process.
import { serviceUnavailable } from '../errors.ts';

/** Returns the reserved bytes; a second call does nothing. */
export type Release = () => void;

/** A body that is being received. */
export interface IncomingBody {
  /** True when the body arrives too slowly for others to wait for it. */
  isLate(): boolean;
  /** Stops reading the body and refuses its request, which releases its memory. */
  cutOff(): void;
}

export interface MemoryBudget {
  /**
   * Resolves when so many bytes are free; 503 when they are not in time. `group`: the workspace. While others wait, a body that
   * is late is cut off.
   */
  reserve(group: string, bytes: number, body: IncomingBody): Promise<Release>;
}

export interface MemoryBudgetOptions {
  readonly totalBytes: number;
  /** Most bytes of one group; a larger single body is received alone. */
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
// How often late bodies are looked for while others wait.
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

  /** Admits waiting bodies, oldest first, but for groups at their maximum. */
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

  /** Cuts off late bodies while others wait. */
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
