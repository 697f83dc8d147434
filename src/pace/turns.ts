// Long work of the one thread that answers everybody, in pieces, between which other requests run. Of the waiting
// pieces one runs in each round of the event loop, and the workspaces take turns.

/** For work on behalf of one request. */
export interface Turn {
  /** Resolves when the next piece may run. */
  readonly next: () => Promise<void>;
  /** True when so little has run without waiting, in this round of the event loop, that a short piece may. */
  readonly hasTime: () => boolean;
  /** Notes that a piece has run without waiting, for so many milliseconds. */
  readonly spent: (milliseconds: number) => void;
}

/** `group`: whose work it is. */
export type Turns = (group: string) => Turn;

// What may run without waiting in each round of the event loop, in milliseconds.
const AT_ONCE_MS = 4;

export function makeTurns(): Turns {
  const lines = new Map<string, (() => void)[]>();
  let round = -1;
  let spentMs = 0;

  function advance(): void {
    const [first] = lines;
    if (first === undefined) return;
    const [group, line] = first;
    // It goes to the end of the rotation, if it has more.
    lines.delete(group);
    const resume = line.shift();
    if (line.length > 0) lines.set(group, line);
    resume?.();
    if (lines.size > 0) setImmediate(advance);
  }

  function wait(group: string): Promise<void> {
    return new Promise((resolve) => {
      if (lines.size === 0) setImmediate(advance);
      const line = lines.get(group);
      if (line === undefined) lines.set(group, [resolve]);
      else line.push(resolve);
    });
  }

  function hasTime(): boolean {
    const current = performance.nodeTiming.uvMetricsInfo.loopCount;
    if (current !== round) {
      round = current;
      spentMs = 0;
    }
    return spentMs < AT_ONCE_MS;
  }

  const spent = (milliseconds: number): void => {
    spentMs += milliseconds;
  };
  return (group) => ({ next: () => wait(group), hasTime, spent });
}
