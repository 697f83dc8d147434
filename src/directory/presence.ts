// How this process and the others keep up with each other's changes. Two rules make an acknowledged change hold
// everywhere:
//
// - Nothing is used from memory for a request that came more than LEASE_MS after it was compared with the database, nor
//   after the others have stopped to wait for this process. Each comparison reads the process's own row as well: when
//   the row is gone the process makes itself known first, and what it knew until then is void.
// - Whoever has changed something asks all others to look, and answers when all have: when a process knows that it was
//   asked it compares all that it has before it uses it again, and then says that it has heard. One that says nothing
//   for KNOWN_MS is forgotten; by the first rule it uses nothing any more that it knew before.
//
// Notifications only make this quick. They may be lost, and behind some poolers never come: a process that is used reads
// its row every 300 ms anyway.
import { setTimeout as sleep } from 'node:timers/promises';
import { serviceUnavailable } from '../errors.ts';
import type { Asked, Busy, Look } from './processes.ts';

/** What is asked of the database. */
export interface PresenceStore {
  readonly look: (workspaceIds: readonly string[]) => Promise<Look>;
  readonly join: (busy: Busy) => Promise<void>;
  /** False when the process is not known any more. */
  readonly confirm: (asked: string, busy: Busy) => Promise<boolean>;
  readonly ask: () => Promise<readonly Asked[]>;
  readonly findUnheard: (asked: readonly Asked[]) => Promise<readonly Asked[]>;
  readonly isBusyElsewhere: (workspaceId: string, version: string) => Promise<boolean>;
  readonly forget: (silent: readonly Asked[]) => Promise<void>;
  readonly leave: () => Promise<void>;
}

export interface Compared {
  /** Versions in force by workspace id; a workspace that is gone is missing. */
  readonly versions: ReadonlyMap<string, string>;
  /** The time at which this was true, or earlier. */
  readonly asOf: number;
}

export interface Presence {
  /**
   * For a request that came at `arrival`: what answers it must have been read or compared at this time or later;
   * infinite when this process has to look first.
   */
  since(arrival: number): number;
  /** Reads whether others have asked something of this process, and the versions of these workspaces. */
  look(workspaceIds: readonly string[]): Promise<Compared>;
  /** Called when another process may have changed something. A failure is met by the next look. */
  wake(): void;
  /**
   * Resolves when no process answers later requests by what was true before this call: with true when all have
   * confirmed it, with false after KNOWN_MS. Never rejects, as the change stays.
   */
  everywhere(): Promise<boolean>;
  /**
   * True when no request is being answered that was planned by an older version of the workspace than this one, which
   * is committed. It does not wait: ask again later. Forgotten processes are not asked; the statements they still run
   * meet the tables as they are, as every statement does.
   */
  isSettled(workspaceId: string, version: string): Promise<boolean>;
  /** Called when this process answers nothing any more: the others need not wait for it. */
  leave(): Promise<void>;
}

export interface PresenceOptions {
  readonly store: PresenceStore;
  /** Milliseconds, never going back, also counting when the process stood still. */
  readonly now: () => number;
  /** What this process answers at the moment. */
  readonly busy: () => Busy;
  /** Called when others begin to wait for this process: it should soon listen for them. */
  readonly joined: () => void;
}

const LEASE_MS = 800;
// Longer than the lease by the inaccuracy of clocks and timers.
const KNOWN_MS = 900;
// The first question comes when the quickest process has about answered; later pauses are longer.
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;
const LOOKS = 3;

export function makePresence({ store, now, busy, joined }: PresenceOptions): Presence {
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** What was read before this time is void. */
  let floor = Number.NEGATIVE_INFINITY;
  let isWaking = false;
  let wakeAgain = false;
  let left = false;

  /** False when the process is not known any more. */
  async function hear({ asked, heard }: NonNullable<Look['self']>): Promise<boolean> {
    if (asked === heard) return true;
    // First stop using what is old, then confirm it.
    floor = now();
    return store.confirm(asked, busy());
  }

  async function look(workspaceIds: readonly string[]): Promise<Compared> {
    for (let looks = 1; ; looks++) {
      const asOf = now();
      const { self, versions } = await store.look(workspaceIds);
      if (self !== undefined && (await hear(self))) lookedAt = Math.max(lookedAt, asOf);
      else {
        if (left) throw serviceUnavailable('The server is shutting down');
        lookedAt = Number.NEGATIVE_INFINITY;
        await store.join(busy());
        // This process has heard of no change before now.
        floor = now();
        joined();
      }
      if (asOf >= floor || looks === LOOKS) return { versions, asOf };
    }
  }

  async function wakeUp(): Promise<void> {
    try {
      do {
        wakeAgain = false;
        const { self } = await store.look([]);
        if (self !== undefined) await hear(self);
      } while (wakeAgain);
    } finally {
      isWaking = false;
    }
  }

  async function waitForAll(): Promise<boolean> {
    let silent = await store.ask();
    if (silent.length === 0) return true;
    const asked = now();
    for (let pause = FIRST_PAUSE_MS; now() - asked < KNOWN_MS; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      await sleep(pause);
      silent = await store.findUnheard(silent);
      if (silent.length === 0) return true;
    }
    await store.forget(silent);
    return false;
  }

  async function everywhere(): Promise<boolean> {
    floor = now();
    const patience = new AbortController();
    const late = sleep(KNOWN_MS, false, { signal: patience.signal }).catch(() => false);
    // When the database does not answer, the leases of all others run out.
    const all = waitForAll().catch(() => late);
    const known = await Promise.race([all, late]);
    patience.abort();
    return known;
  }

  return {
    since: (arrival) =>
      lookedAt < arrival - LEASE_MS ? Number.POSITIVE_INFINITY : Math.max(arrival - LEASE_MS, floor),
    look,
    wake() {
      wakeAgain = true;
      if (isWaking) return;
      isWaking = true;
      wakeUp().catch(() => undefined);
    },
    everywhere,
    async isSettled(workspaceId, version) {
      if (!(await everywhere())) return false;
      const here = busy().get(workspaceId);
      if (here !== undefined && BigInt(here) < BigInt(version)) return false;
      return !(await store.isBusyElsewhere(workspaceId, version));
    },
    async leave() {
      left = true;
      lookedAt = Number.NEGATIVE_INFINITY;
      await store.leave();
    },
  };
}
