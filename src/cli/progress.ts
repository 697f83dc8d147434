// Draws progress bars on stderr when it is a terminal and the output is for people. Pure functions format the lines;
// cli-progress draws them.

import { setTimeout as sleep } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import { CommandFailure } from './failure.ts';
import type { Io } from './io.ts';
import { formatCount, printable } from './table.ts';

/** Progress of a transfer. `total` is null if it is unknown (stdin). */
interface TransferState {
  readonly label: string;
  readonly unit: 'bytes' | 'records';
  readonly current: number;
  readonly total: number | null;
  readonly elapsedMs: number;
  /** Text in place of the time left, such as "checking and storing". */
  readonly phase?: string;
}

export interface ProgressBar {
  readonly update: (current: number, phase?: string) => void;
  readonly stop: () => void;
}

const MAX_BAR_WIDTH = 24;
const MIN_BAR_WIDTH = 6;

/** Returns true if stderr is a terminal and the output is not JSON. */
export const showsProgress = ({ io, json }: { readonly io: Io; readonly json?: boolean | undefined }): boolean =>
  !json && io.stderr.isTTY === true;

/** Starts a bar for a transfer, which draws nothing without a terminal. */
export function startTransferBar(
  io: Io,
  isVisible: boolean,
  label: string,
  unit: TransferState['unit'],
  total: number | null,
): ProgressBar {
  const startedAt = performance.now();
  return drawBar(io, isVisible, total ?? 1, (current, phase, width) =>
    transferLine(
      {
        label,
        unit,
        current,
        total,
        elapsedMs: performance.now() - startedAt,
        ...(phase === undefined ? {} : { phase }),
      },
      width,
    ),
  );
}

/** Progress of a step of a migration. */
export interface StepState {
  readonly label: string;
  /** Fraction from 0 to 1, or null if it is unknown. */
  readonly fraction: number | null;
  /** Records per second, or null if the step counts none. */
  readonly rate: number | null;
  readonly remainingMs: number | null;
  readonly elapsedMs: number;
}

/** Starts a bar for each step in turn, which draws nothing without a terminal. */
function startStepBar(
  io: Io,
  isVisible: boolean,
): {
  readonly update: (state: StepState) => void;
  readonly stop: () => void;
} {
  let latest: StepState | undefined;
  const progressBar = drawBar(io, isVisible, 1, (_current, _phase, width) =>
    latest === undefined ? '' : stepLine(latest, width),
  );
  return {
    update(state) {
      latest = state;
      progressBar.update(state.fraction ?? 0);
    },
    stop: progressBar.stop,
  };
}

/** Formats the line of a step: label (cut when the line is too narrow), bar, percent, records per second, time left. */
export function stepLine({ label, fraction, rate, remainingMs, elapsedMs }: StepState, width = 80): string {
  const facts =
    fraction === null
      ? [`${formatDuration(elapsedMs)} so far`, ...(remainingMs === null ? [] : [`ETA ${formatDuration(remainingMs)}`])]
      : [
          percent(fraction),
          ...(rate === null ? [] : [`${formatCount(Math.round(rate))} records/s`]),
          remainingMs === null ? 'ETA -' : `ETA ${formatDuration(remainingMs)}`,
        ];
  const suffix = facts.join('  ');
  const shortLabel = shorten(printable(label), width - suffix.length - (fraction === null ? 2 : MIN_BAR_WIDTH + 4));
  if (fraction === null) return `${shortLabel}  ${suffix}`;
  return `${shortLabel} ${bar(fraction, width - shortLabel.length - suffix.length - 4)} ${suffix}`;
}

// Keeps the step recognizable.
const MIN_LABEL_WIDTH = 20;

function shorten(text: string, space: number): string {
  const labelWidth = Math.max(MIN_LABEL_WIDTH, space);
  return text.length <= labelWidth ? text : `${text.slice(0, labelWidth - 1)}…`;
}

/**
 * Formats the line of a transfer, at most `width` wide if possible: bar, percent, amount, rate, time left; without a total:
 * amount, rate and elapsed time.
 */
export function transferLine(state: TransferState, width = 80): string {
  const { current, total, elapsedMs, unit } = state;
  const perSecond = elapsedMs > 0 ? (current * 1000) / elapsedMs : 0;
  const amount = (value: number): string => (unit === 'bytes' ? formatBytes(value) : formatCount(value));
  const rate = unit === 'bytes' ? `${formatBytes(perSecond)}/s` : `${formatCount(Math.round(perSecond))} records/s`;
  const label = printable(state.label);
  if (total === null) return `${label}  ${amount(current)}  ${rate}  ${state.phase ?? formatDuration(elapsedMs)}`;
  const fraction = total === 0 ? 1 : Math.min(1, current / total);
  const remaining =
    perSecond === 0 ? 'ETA -' : `ETA ${formatDuration((Math.max(0, total - current) / perSecond) * 1000)}`;
  const facts = `${percent(fraction)}  ${amount(current)} of ${amount(total)}  ${rate}  ${state.phase ?? remaining}`;
  return `${label} ${bar(fraction, width - label.length - facts.length - 4)} ${facts}`;
}

/** Formats 1536 as `1.5 KiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Formats 65000 ms as `1 min 5 s`; under ten seconds with one decimal. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bar(fraction: number, space: number): string {
  const width = Math.min(MAX_BAR_WIDTH, Math.max(MIN_BAR_WIDTH, space));
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * width);
  return `[${'='.repeat(full)}${' '.repeat(width - full)}]`;
}

// Rounds down, so that 100 % means complete.
const percent = (fraction: number): string => `${Math.floor(fraction * 100)} %`.padStart(5);

function drawBar(
  io: Io,
  isVisible: boolean,
  total: number,
  line: (current: number, phase: string | undefined, width: number) => string,
): ProgressBar {
  if (!isVisible) return { update: () => {}, stop: () => {} };
  let latest = 0;
  let phase: string | undefined;
  const progressBar = new cliProgress.SingleBar({
    stream: io.stderr,
    format: (_options, params) => line(latest, phase, params.maxWidth),
    fps: 10,
    hideCursor: null,
    // true trims to the width; any other value changes the mode of the terminal, which Ctrl-C would not restore.
    linewrap: true,
    gracefulExit: false,
    forceRedraw: true,
    clearOnComplete: true,
  });
  progressBar.start(total, 0);
  return {
    update: (current, now) => {
      latest = current;
      phase = now;
      progressBar.update(current);
    },
    stop: () => {
      if (progressBar.isActive) progressBar.stop();
    },
  };
}

const POLL_MS = 500;
// Outlasts a restart of the server: 60 tries of 500 ms are half a minute.
const MAX_RETRIES = 60;

interface FollowedTask<T> {
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
