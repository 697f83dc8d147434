// Follows a long task of the server to its end, with a bar on a terminal and a line for each step without one.
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailure } from './failure.ts';
import type { Io } from './io.ts';
import { type StepState, showsProgress, startStepBar } from './progress.ts';
import { printable } from './table.ts';

const POLL_MS = 500;
// Outlasts a restart of the server: 60 tries of 500 ms are half a minute.
const MAX_RETRIES = 60;

export interface FollowedTask<T> {
  readonly read: () => Promise<T>;
  readonly hasEnded: (work: T) => boolean;
  readonly isRunning: (work: T) => boolean;
  /** Returns the progress at a time of performance.now(). */
  readonly getState: (work: T, now: number) => StepState;
  /** Lines that Ctrl-C prints: it ends the command, not the task of the server. */
  readonly interruptLines: readonly string[];
  readonly options: { readonly io: Io; readonly json?: boolean | undefined };
  /** Deadline by performance.now(), or null for none. */
  readonly deadline: number | null;
}

/** Follows a task; returns its last state. Prints nothing when the output is for scripts. */
export async function follow<T>(task: FollowedTask<T>): Promise<T> {
  const { read, hasEnded, isRunning, getState, interruptLines, options, deadline } = task;
  const isVisible = showsProgress(options);
  const progressBar = startStepBar(options.io, isVisible);
  const printedLabels = new Set<string>();
  const show = (work: T): void => {
    const state = getState(work, performance.now());
    progressBar.update(state);
    if (isVisible || options.json || !isRunning(work) || printedLabels.has(state.label)) return;
    printedLabels.add(state.label);
    options.io.stderr.write(`${printable(state.label)}\n`);
  };
  const handleInterrupt = (): readonly string[] => {
    progressBar.stop();
    return interruptLines;
  };
  return printOnInterrupt(options.io, handleInterrupt, async () => {
    try {
      for (let failures = 0; ; ) {
        try {
          const work = await read();
          failures = 0;
          if (!hasEnded(work)) show(work);
          if (hasEnded(work) || (deadline !== null && performance.now() >= deadline)) return work;
        } catch (error) {
          if (!isRetryable(error) || ++failures >= MAX_RETRIES) throw error;
        }
        await sleep(deadline === null ? POLL_MS : Math.min(POLL_MS, Math.max(10, deadline - performance.now())));
      }
    } finally {
      progressBar.stop();
    }
  });
}

/** Runs `work`; Ctrl-C meanwhile ends the command with these lines. */
export async function printOnInterrupt<T>(
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

function isRetryable(error: unknown): boolean {
  if (!(error instanceof CommandFailure)) return false;
  return error.failure.kind === 'unreachable' || (error.failure.kind === 'refused' && error.failure.status === 503);
}
