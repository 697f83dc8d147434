// Watches long work of the server to its end, with a bar on a terminal and a line for each step without one.
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailure } from './failure.ts';
import type { Io } from './io.ts';
import { type StepState, showsProgress, startStepBar } from './progress.ts';
import { printable } from './table.ts';

const POLL_MS = 500;
// A restart of the server must not end the watching: 60 tries of 500 ms are half a minute.
const PATIENCE = 60;

export interface Followed<T> {
  readonly read: () => Promise<T>;
  readonly hasEnded: (work: T) => boolean;
  readonly isRunning: (work: T) => boolean;
  /** How far it is at a moment of performance.now(). */
  readonly stateOf: (work: T, now: number) => StepState;
  /** What Ctrl-C says: it stops the watching, not the work. */
  readonly whenLeft: readonly string[];
  readonly options: { readonly io: Io; readonly json?: boolean | undefined };
  /** A performance.now() moment; null: until it has ended. */
  readonly deadline: number | null;
}

/** Gives the work as it was read last; prints nothing when the output is for scripts. */
export async function follow<T>(followed: Followed<T>): Promise<T> {
  const { read, hasEnded, isRunning, stateOf, whenLeft, options, deadline } = followed;
  const shown = showsProgress(options);
  const drawn = startStepBar(options.io, shown);
  const said = new Set<string>();
  const show = (work: T): void => {
    const state = stateOf(work, performance.now());
    drawn.update(state);
    if (shown || options.json || !isRunning(work) || said.has(state.label)) return;
    said.add(state.label);
    options.io.stderr.write(`${printable(state.label)}\n`);
  };
  const interrupted = (): readonly string[] => {
    drawn.stop();
    return whenLeft;
  };
  return sayingWhenInterrupted(options.io, interrupted, async () => {
    try {
      for (let failures = 0; ; ) {
        try {
          const work = await read();
          failures = 0;
          if (!hasEnded(work)) show(work);
          if (hasEnded(work) || (deadline !== null && performance.now() >= deadline)) return work;
        } catch (error) {
          if (!mayAnswerLater(error) || ++failures >= PATIENCE) throw error;
        }
        await sleep(deadline === null ? POLL_MS : Math.min(POLL_MS, Math.max(10, deadline - performance.now())));
      }
    } finally {
      drawn.stop();
    }
  });
}

/** Ctrl-C during `work` ends the command with these lines. */
export async function sayingWhenInterrupted<T>(
  { stderr }: Io,
  lines: () => readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const onInterrupt = (): void => {
    stderr.write(`\n${lines().join('\n')}\n`);
    process.exit(130);
  };
  process.once('SIGINT', onInterrupt);
  try {
    return await work();
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

function mayAnswerLater(error: unknown): boolean {
  if (!(error instanceof CommandFailure)) return false;
  return error.failure.kind === 'unreachable' || (error.failure.kind === 'refused' && error.failure.status === 503);
}
