// Room in memory for the bodies of requests: what is read of long ones, and what is made of it, stays until they are
// answered. Bodies of 10 MB take some 40 MB each; without a bound two dozen at once ended the process.
import { serviceUnavailable } from '../errors.ts';

/** Gives the room back; a second call does nothing. */
export type LeaveRoom = () => void;

export interface BodyRoom {
  /** Resolves when there is room for so many bytes. `group`: whose they are. 503 when none comes in time. */
  take(group: string, bytes: number): Promise<LeaveRoom>;
}

export interface BodyRoomOptions {
  readonly totalBytes: number;
  /** What one group may have; a single body beyond it comes alone. */
  readonly shareBytes: number;
  readonly patienceMs: number;
}

interface Waiting {
  readonly group: string;
  readonly bytes: number;
  readonly resolve: (leave: LeaveRoom) => void;
  readonly timer: NodeJS.Timeout;
}

const MAX_WAITING = 1000;

export function makeBodyRoom({ totalBytes, shareBytes, patienceMs }: BodyRoomOptions): BodyRoom {
  const held = new Map<string, number>();
  const line: Waiting[] = [];
  let total = 0;

  function fits(group: string, bytes: number): boolean {
    const own = held.get(group) ?? 0;
    return (own === 0 || own + bytes <= shareBytes) && (total === 0 || total + bytes <= totalBytes);
  }

  function enter(group: string, bytes: number): LeaveRoom {
    total += bytes;
    held.set(group, (held.get(group) ?? 0) + bytes);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
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
      const { group, bytes, resolve, timer } = line[index] as Waiting;
      if (!fits(group, bytes)) {
        index++;
        continue;
      }
      line.splice(index, 1);
      clearTimeout(timer);
      resolve(enter(group, bytes));
    }
  }

  return {
    take(group, bytes) {
      if (fits(group, bytes)) return Promise.resolve(enter(group, bytes));
      if (line.length >= MAX_WAITING) return Promise.reject(crowded());
      return new Promise((resolve, reject) => {
        const giveUp = (): void => {
          line.splice(line.indexOf(waiting), 1);
          reject(crowded());
        };
        const waiting = { group, bytes, resolve, timer: setTimeout(giveUp, patienceMs) };
        line.push(waiting);
      });
    },
  };
}

const crowded = (): Error => serviceUnavailable('Too many long bodies are being read; retry', 1);
