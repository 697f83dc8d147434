// Progress of a migration: ratio, throughput, time left, and the names that it drops.
import type { Migration, MigrationStep, PlannedStep } from './types.ts';

/**
 * Returns the name that a destructive step drops, which the user has to type; its description has it (`drop field total
 * of orders …`).
 */
export const getDroppedName = ({ kind, entity, description }: PlannedStep): string =>
  kind === 'dropEntity'
    ? entity
    : (/^drop (?:field|relation) ([A-Za-z][A-Za-z0-9_]*)/.exec(description)?.[1] ?? entity);

/** Returns the progress of all steps from 0 to 1; backfills count by their records. */
export function getProgress({ state, steps }: Migration): number {
  if (state === 'succeeded') return 1;
  if (steps.length === 0) return 0;
  return steps.reduce((sum, step) => sum + step.progress, 0) / steps.length;
}

/** Records that a step has processed at a time (milliseconds). */
export interface Sample {
  readonly at: number;
  readonly done: number;
}

// Backfills go in bursts; over ten seconds their throughput is steady.
const WINDOW_MS = 10_000;

/** Adds a sample and drops those older than ten seconds. */
export const addSample = (samples: readonly Sample[], { at, done }: Sample): readonly Sample[] => {
  const last = samples.at(-1);
  const former = last !== undefined && last.done > done ? [] : samples;
  return [...former.filter((one) => at - one.at <= WINDOW_MS), { at, done }];
};

export interface Throughput {
  readonly perSecond: number;
  /** Seconds left, or undefined while there is no progress. */
  readonly secondsLeft: number | undefined;
}

/** Returns the throughput between the first and the last sample, or undefined while there are too few. */
export function measureThroughput(samples: readonly Sample[], total: number): Throughput | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < 400) return undefined;
  const perSecond = ((last.done - first.done) * 1000) / (last.at - first.at);
  return { perSecond, secondsLeft: perSecond > 0 ? Math.max(total - last.done, 0) / perSecond : undefined };
}

/** Formats `90` as "2 min", `40.2` as "41 s". */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'less than 1 s';
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Returns the running step, else the next one. */
export const findActiveStep = ({ steps }: Migration): MigrationStep | undefined =>
  steps.find(({ state }) => state === 'running') ?? steps.find(({ state }) => state === 'pending');

export const STATE_COLORS: Readonly<Record<Migration['state'], string>> = {
  pending: 'gray',
  running: 'accent',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'gray',
};

/** Returns the filter of the grid for these records. */
export const filterByIds = (ids: readonly number[]): string => `id,in,${ids.join(',')}`;
