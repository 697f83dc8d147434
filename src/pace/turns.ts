// Long work of the one thread that answers everybody, in pieces: between two of them all who have something to do get their
// turn, and of several pieces that wait only one runs each time round the event loop.

/** Resolves when the next piece may run. */
export type Turn = () => Promise<void>;

export function makeTurns(): Turn {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(next);
    });
}
