// A memory budget for long messages. Of request bodies: their bytes, and the values made of them, stay until their requests are
// answered. Bodies of 10 MB take some 40 MB each; without a bound two dozen at once ended the process. Of answers: their bytes
// stay until the client has read them, and 109 slow readers of 30 MB each took 3.2 GB.
import { serviceUnavailable } from '../errors.ts';
import type { Metric } from '../metric.ts';

/** Returns the reserved bytes; a second call does nothing. */
export type Release = () => void;

/** Memory of the answer of one request. */
export interface AnswerMemory {
  /** True when no large answer may be made: the workspace, or the process, has too many that are not read. */
  readonly isFull: () => boolean;
  /** Resolves when an answer of so many bytes may be made; 503 when not in time. */
  readonly reserve: (bytes: number) => Promise<void>;
}

/** A long message on its way. */
export interface Transfer {
  /** True when it goes too slowly for others to wait for it. */
  isLate(): boolean;
  /** Ends it, which releases its memory. */
  cutOff(): void;
}

/** A message whose pace is not known, so that it is never cut off. */
export const UNMEASURED: Transfer = { isLate: () => false, cutOff: () => undefined };

export interface MemoryBudget {
  /**
   * Resolves when so many bytes are free; 503 when they are not in time. `group`: the workspace. While it waits, late
   * transfers that are in its way are cut off.
   */
  reserve(group: string, bytes: number, transfer: Transfer): Promise<Release>;
  /** Reserves bytes that are there already, whatever the limits; beyond these, transfers that are late are cut off for them. */
  add(group: string, bytes: number, transfer: Transfer): Release;
  /** True when the group has no bytes left, or the process none and no transfer of another group is late. */
  isFull(group: string): boolean;
  /** True when the process has so many bytes left, of whatever group; transfers that are late are cut off for them. */
  hasRoom(bytes: number): boolean;
  /** Bytes in use. */
  readonly totalBytes: number;
  /** Number of transfers that were cut off. */
  readonly cutOffCount: number;
}

export interface MemoryBudgetOptions {
  readonly totalBytes: number;
  /** Most bytes of one group; a larger single message is alone. */
  readonly maxGroupBytes: number;
  readonly timeoutMs: number;
  /** Refusal of a message that has waited for too long. */
  readonly fullMessage: string;
}

interface Waiting {
  readonly group: string;
  readonly bytes: number;
  readonly transfer: Transfer;
  readonly resolve: (release: Release) => void;
  readonly timer: NodeJS.Timeout;
}

const MAX_WAITING = 1000;
// How often late transfers are looked for while others wait.
const CHECK_INTERVAL_MS = 250;

export function makeMemoryBudget({
  totalBytes,
  maxGroupBytes,
  timeoutMs,
  fullMessage,
}: MemoryBudgetOptions): MemoryBudget {
  const bytesByGroup = new Map<string, number>();
  const active = new Map<Transfer, string>();
  const queue: Waiting[] = [];
  let total = 0;
  let cutOffCount = 0;
  let checkTimer: NodeJS.Timeout | undefined;

  const getBytes = (group: string): number => bytesByGroup.get(group) ?? 0;

  function fitsGroup(group: string, bytes: number): boolean {
    const own = getBytes(group);
    return own === 0 || own + bytes <= maxGroupBytes;
  }

  const fitsTotal = (bytes: number): boolean => total === 0 || total + bytes <= totalBytes;

  function enter(group: string, bytes: number, transfer: Transfer): Release {
    if (transfer !== UNMEASURED) active.set(transfer, group);
    total += bytes;
    bytesByGroup.set(group, getBytes(group) + bytes);
    let isReserved = true;
    return () => {
      if (!isReserved) return;
      isReserved = false;
      active.delete(transfer);
      total -= bytes;
      const remaining = getBytes(group) - bytes;
      if (remaining > 0) bytesByGroup.set(group, remaining);
      else bytesByGroup.delete(group);
      admit();
    };
  }

  /** Admits waiting messages, oldest first, but for groups at their maximum. */
  function admit(): void {
    for (let index = 0; index < queue.length; ) {
      const { group, bytes, transfer, resolve, timer } = queue[index] as Waiting;
      if (!fitsGroup(group, bytes) || !fitsTotal(bytes)) {
        index++;
        continue;
      }
      queue.splice(index, 1);
      clearTimeout(timer);
      resolve(enter(group, bytes, transfer));
    }
  }

  /** Cuts off late transfers of all groups or of one, those of the groups with the most bytes first, until `isEnough`. */
  function cutOffLate(isEnough: () => boolean, onlyGroup?: string): void {
    if (isEnough()) return;
    const late = [...active].filter(
      ([transfer, group]) => (onlyGroup === undefined || group === onlyGroup) && transfer.isLate(),
    );
    late.sort(([, one], [, other]) => getBytes(other) - getBytes(one));
    for (const [transfer] of late) {
      if (isEnough()) return;
      cutOffCount++;
      transfer.cutOff();
    }
  }

  /**
   * Cuts off late transfers that are in the way of a message: those of its group for its share, then any for the total. One
   * that waits is admitted, and so no longer there, as soon as it fits.
   */
  function freeBytes(group: string, bytes: number, isWaiting: () => boolean = () => true): void {
    cutOffLate(() => !isWaiting() || fitsGroup(group, bytes), group);
    cutOffLate(() => !isWaiting() || fitsTotal(bytes));
  }

  /** Frees bytes for the messages that wait. */
  function checkProgress(): void {
    for (const waiting of [...queue]) freeBytes(waiting.group, waiting.bytes, () => queue.includes(waiting));
    if (queue.length > 0) return;
    clearInterval(checkTimer);
    checkTimer = undefined;
  }

  const queueFull = (): Error => serviceUnavailable('OVERLOADED', fullMessage, 1);

  return {
    reserve(group, bytes, transfer) {
      if (fitsGroup(group, bytes) && fitsTotal(bytes)) return Promise.resolve(enter(group, bytes, transfer));
      if (queue.length >= MAX_WAITING) return Promise.reject(queueFull());
      return new Promise((resolve, reject) => {
        const giveUp = (): void => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(queueFull());
        };
        const waiting = { group, bytes, transfer, resolve, timer: setTimeout(giveUp, timeoutMs) };
        queue.push(waiting);
        checkTimer ??= setInterval(checkProgress, CHECK_INTERVAL_MS);
      });
    },
    add(group, bytes, transfer) {
      freeBytes(group, bytes);
      return enter(group, bytes, transfer);
    },
    isFull(group) {
      if (getBytes(group) >= maxGroupBytes) return true;
      return total >= totalBytes && ![...active].some(([transfer, other]) => other !== group && transfer.isLate());
    },
    hasRoom(bytes) {
      cutOffLate(() => fitsTotal(bytes));
      return fitsTotal(bytes);
    },
    get totalBytes() {
      return total;
    },
    get cutOffCount() {
      return cutOffCount;
    },
  };
}

// How long a read that will give a large answer waits for memory.
const ANSWER_WAIT_MS = 3000;

/** Makes the budget of answers that clients have not read yet: half of it for each workspace. */
export function makeAnswerBudget(totalBytes: number): MemoryBudget {
  return makeMemoryBudget({
    totalBytes,
    maxGroupBytes: Math.floor(totalBytes / 2),
    timeoutMs: ANSWER_WAIT_MS,
    fullMessage: 'Too many large answers wait to be read; retry, or ask for smaller pages',
  });
}

export const buildAnswerMetrics = (budget: MemoryBudget): readonly Metric[] => [
  {
    name: 'wda_unread_answer_bytes',
    help: 'Bytes of answers above 64 KiB that clients have not read yet, and of those that are being made',
    read: () => budget.totalBytes,
  },
  {
    name: 'wda_cut_answers_total',
    help: 'Answers that were cut off: the client read too slowly while others needed the memory',
    read: () => budget.cutOffCount,
  },
];
