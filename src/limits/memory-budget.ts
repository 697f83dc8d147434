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
  readonly shareBytes: number;
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
const LOOK_MS = 250;

export function makeMemoryBudget({ totalBytes, shareBytes, timeoutMs }: MemoryBudgetOptions): MemoryBudget {
  const held = new Map<string, number>();
  const inside = new Set<IncomingBody>();
  const line: Waiting[] = [];
  let total = 0;
  let looking: NodeJS.Timeout | undefined;

  function fits(group: string, bytes: number): boolean {
    const own = held.get(group) ?? 0;
    return (own === 0 || own + bytes <= shareBytes) && (total === 0 || total + bytes <= totalBytes);
  }

  function enter(group: string, bytes: number, body: IncomingBody): Release {
    inside.add(body);
    total += bytes;
    held.set(group, (held.get(group) ?? 0) + bytes);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      inside.delete(body);
      total -= bytes;
      const left = (held.get(group) ?? 0) - bytes;
      if (left > 0) held.set(group, left);
      else held.delete(group);
      admit();
    };
  }

  /** The oldest first, past those whose group has its share. */
  function admit(): void {
    for (let index = 0; index < line.length; ) {
      const { group, bytes, body, resolve, timer } = line[index] as Waiting;
      if (!fits(group, bytes)) {
        index++;
        continue;
      }
      line.splice(index, 1);
      clearTimeout(timer);
      resolve(enter(group, bytes, body));
    }
  }

  /** Cuts late bodies off for as long as others wait. */
  function look(): void {
    if (line.length > 0) {
      for (const body of [...inside]) if (body.isLate()) body.cutOff();
      return;
    }
    clearInterval(looking);
    looking = undefined;
  }

  return {
    reserve(group, bytes, body) {
      if (fits(group, bytes)) return Promise.resolve(enter(group, bytes, body));
      if (line.length >= MAX_WAITING) return Promise.reject(crowded());
      return new Promise((resolve, reject) => {
        const giveUp = (): void => {
          line.splice(line.indexOf(waiting), 1);
          reject(crowded());
        };
        const waiting = { group, bytes, body, resolve, timer: setTimeout(giveUp, timeoutMs) };
        line.push(waiting);
        looking ??= setInterval(look, LOOK_MS);
      });
    },
  };
}

const crowded = (): Error => serviceUnavailable('OVERLOADED', 'Too many long bodies are being read; retry', 1);
