// Progress bars on stderr, shown only when stderr is a terminal and the output is for people. The lines themselves are
// pure functions of what has been done; cli-progress draws them.
import cliProgress from 'cli-progress';
import type { Io } from './io.ts';
import { formatCount, printable } from './table.ts';

/** How far a transfer is. `total` is null when nobody knows it (stdin). */
export interface TransferState {
  readonly label: string;
  readonly unit: 'bytes' | 'records';
  readonly done: number;
  readonly total: number | null;
  readonly elapsedMs: number;
  /** Shown in place of the time left, such as "checking and storing". */
  readonly phase?: string;
}

export interface ProgressBar {
  readonly update: (done: number, phase?: string) => void;
  readonly stop: () => void;
}

const WIDEST_BAR = 24;
const NARROWEST_BAR = 6;

/** Whether bars are wanted: a person looks at stderr and did not ask for JSON. */
export const showsProgress = ({ io, json }: { readonly io: Io; readonly json?: boolean | undefined }): boolean =>
  !json && io.stderr.isTTY === true;

/** A bar for a transfer; without a terminal one that draws nothing. */
export function startTransferBar(
  io: Io,
  shown: boolean,
  label: string,
  unit: TransferState['unit'],
  total: number | null,
): ProgressBar {
  const startedAt = performance.now();
  return drawBar(io, shown, total ?? 1, (done, phase, width) =>
    transferLine(
      {
        label,
        unit,
        done,
        total,
        elapsedMs: performance.now() - startedAt,
        ...(phase === undefined ? {} : { phase }),
      },
      width,
    ),
  );
}

/** How far a step of a migration is. */
export interface StepState {
  readonly label: string;
  /** 0 to 1; null when nobody knows. */
  readonly share: number | null;
  /** Records per second; null when it counts none. */
  readonly rate: number | null;
  readonly leftMs: number | null;
  readonly elapsedMs: number;
}

/** A bar for each step in turn; without a terminal one that draws nothing. */
export function startStepBar(
  io: Io,
  shown: boolean,
): {
  readonly update: (state: StepState) => void;
  readonly stop: () => void;
} {
  let latest: StepState | undefined;
  const drawn = drawBar(io, shown, 1, (_done, _phase, width) => (latest === undefined ? '' : stepLine(latest, width)));
  return {
    update(state) {
      latest = state;
      drawn.update(state.share ?? 0);
    },
    stop: drawn.stop,
  };
}

/** One line of a step: its words, cut when the line is too narrow, then bar, percent, records per second, time left. */
export function stepLine({ label, share, rate, leftMs, elapsedMs }: StepState, width = 80): string {
  const facts =
    share === null
      ? [`${formatDuration(elapsedMs)} so far`, ...(leftMs === null ? [] : [`ETA ${formatDuration(leftMs)}`])]
      : [
          percent(share),
          ...(rate === null ? [] : [`${formatCount(Math.round(rate))} records/s`]),
          leftMs === null ? 'ETA -' : `ETA ${formatDuration(leftMs)}`,
        ];
  const said = facts.join('  ');
  const words = shorten(printable(label), width - said.length - (share === null ? 2 : NARROWEST_BAR + 4));
  if (share === null) return `${words}  ${said}`;
  return `${words} ${bar(share, width - words.length - said.length - 4)} ${said}`;
}

// The step must stay recognizable.
const SHORTEST_WORDS = 20;

function shorten(text: string, space: number): string {
  const room = Math.max(SHORTEST_WORDS, space);
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

/**
 * One line of a transfer, at most `width` wide where that is possible: bar, percent, amount, rate, time left; without a
 * total, amount, rate and time so far.
 */
export function transferLine(state: TransferState, width = 80): string {
  const { done, total, elapsedMs, unit } = state;
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const amount = (value: number): string => (unit === 'bytes' ? formatBytes(value) : formatCount(value));
  const rate = unit === 'bytes' ? `${formatBytes(perSecond)}/s` : `${formatCount(Math.round(perSecond))} records/s`;
  const label = printable(state.label);
  if (total === null) return `${label}  ${amount(done)}  ${rate}  ${state.phase ?? formatDuration(elapsedMs)}`;
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const left = perSecond === 0 ? 'ETA -' : `ETA ${formatDuration((Math.max(0, total - done) / perSecond) * 1000)}`;
  const facts = `${percent(share)}  ${amount(done)} of ${amount(total)}  ${rate}  ${state.phase ?? left}`;
  return `${label} ${bar(share, width - label.length - facts.length - 4)} ${facts}`;
}

/** 1536 as `1.5 KiB`. */
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

/** 65000 ms as `1 min 5 s`; under ten seconds with one decimal. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bar(share: number, space: number): string {
  const width = Math.min(WIDEST_BAR, Math.max(NARROWEST_BAR, space));
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return `[${'='.repeat(full)}${' '.repeat(width - full)}]`;
}

// Rounded down, so that 100 % means complete.
const percent = (share: number): string => `${Math.floor(share * 100)} %`.padStart(5);

function drawBar(
  io: Io,
  shown: boolean,
  total: number,
  line: (done: number, phase: string | undefined, width: number) => string,
): ProgressBar {
  if (!shown) return { update: () => {}, stop: () => {} };
  let latest = 0;
  let phase: string | undefined;
  const drawn = new cliProgress.SingleBar({
    stream: io.stderr,
    format: (_options, params) => line(latest, phase, params.maxWidth),
    fps: 10,
    hideCursor: null,
    // true trims to the width; anything else changes a mode of the terminal, which Ctrl-C would leave behind.
    linewrap: true,
    gracefulExit: false,
    forceRedraw: true,
    clearOnComplete: true,
  });
  drawn.start(total, 0);
  return {
    update: (done, now) => {
      latest = done;
      phase = now;
      drawn.update(done);
    },
    stop: () => {
      if (drawn.isActive) drawn.stop();
    },
  };
}
