// Progress of a migration: how far, how fast, how long it will take, what it drops.
import type { Migration, MigrationStep, PlannedStep } from './types.ts';

/** Name that a destructive step drops, to be typed; its description has it (`drop field total of orders …`). */
export const getDroppedName = ({ kind, entity, description }: PlannedStep): string =>
  kind === 'dropEntity'
    ? entity
    : (/^drop (?:field|relation) ([A-Za-z][A-Za-z0-9_]*)/.exec(description)?.[1] ?? entity);

/** All steps together, from 0 to 1; those that fill records count by their records. */
export function getProgress({ state, steps }: Migration): number {
  if (state === 'succeeded') return 1;
  if (steps.length === 0) return 0;
  return steps.reduce((sum, step) => sum + step.progress, 0) / steps.length;
}

/** The state of a step's records at a time (milliseconds). */
export interface Sample {
  readonly at: number;
  readonly done: number;
}

// Fills go in bursts; over ten seconds their pace is steady.
const WINDOW_MS = 10_000;

/** Samples of the last ten seconds, with the newest one. */
export const addSample = (samples: readonly Sample[], { at, done }: Sample): readonly Sample[] => {
  const last = samples.at(-1);
  const kept = last !== undefined && last.done > done ? [] : samples;
  return [...kept.filter((one) => at - one.at <= WINDOW_MS), { at, done }];
};

export interface Throughput {
  readonly perSecond: number;
  /** Undefined while there is no progress. */
  readonly secondsLeft: number | undefined;
}

/** By what was done between the first and the last sample; undefined while there is too little. */
export function measureThroughput(samples: readonly Sample[], total: number): Throughput | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < 400) return undefined;
  const perSecond = ((last.done - first.done) * 1000) / (last.at - first.at);
  return { perSecond, secondsLeft: perSecond > 0 ? Math.max(total - last.done, 0) / perSecond : undefined };
}

/** `90` as "2 min", `40.2` as "41 s". */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'less than 1 s';
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The step that the eye should be on. */
export const findActiveStep = ({ steps }: Migration): MigrationStep | undefined =>
  steps.find(({ state }) => state === 'running') ?? steps.find(({ state }) => state === 'pending');

export const STATE_COLORS: Readonly<Record<Migration['state'], string>> = {
  pending: 'gray',
  running: 'accent',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'gray',
};

/** The filter that shows these records in the grid. */
export const filterByIds = (ids: readonly number[]): string => `id,in,${ids.join(',')}`;
