// The step that a watched migration is at: its words, its progress, its speed, the time left. Takes the migration as
// the API gives it, again and again, and the time of each look.
import { numberText } from '../model/exact-json.ts';
import { fraction, type Migration, type Step } from './migration-view.ts';
import type { StepState } from './progress.ts';

/** The first look at the step that is shown. */
interface First {
  readonly label: string;
  readonly at: number;
  readonly share: number;
  readonly done: number;
}

export function makeStepWatch(): (migration: Migration, now: number) => StepState {
  let first: First | undefined;
  return (migration, now) => {
    const at = currentStep(migration);
    const step = migration.steps[at];
    const label = labelOf(migration, step, at);
    const share = fraction(step?.progress);
    const done = count(step?.records?.done);
    if (first?.label !== label) first = { label, at: now, share, done };
    const elapsedMs = now - first.at;
    const ofStep = { label, elapsedMs };
    if (step === undefined) return { ...ofStep, share: null, rate: null, leftMs: estimatedLeft(migration, elapsedMs) };
    if (step.records === undefined || step.records === null) {
      return { ...ofStep, share, rate: null, leftMs: timeLeft(share - first.share, 1 - share, elapsedMs) };
    }
    return {
      ...ofStep,
      share,
      rate: elapsedMs === 0 ? 0 : ((done - first.done) * 1000) / elapsedMs,
      leftMs: timeLeft(done - first.done, count(step.records.total) - done, elapsedMs),
    };
  };
}

const count = (value: unknown): number => Number(numberText(value) ?? 0);

/**
 * The step that is being worked at: the first running one that is not yet as far as it gets before the end. Steps
 * before it have all of their records done and wait for the end of the migration.
 */
function currentStep({ steps }: Migration): number {
  const isRunning = (step: Step): boolean => step.state === 'running';
  const busy = steps.findIndex((step) => isRunning(step) && fraction(step.progress) < 0.99);
  return busy === -1 ? steps.findIndex(isRunning) : busy;
}

function labelOf({ id, steps, strategy, state }: Migration, step: Step | undefined, index: number): string {
  if (step !== undefined) return `Step ${index + 1} of ${steps.length}: ${step.description}`;
  if (state === 'pending') return `Migration ${id}: looking for records in the way`;
  if (state !== 'running') return `Migration ${id}: ${state}`;
  return strategy === 'blocking' ? `Migration ${id}: all steps at once` : `Migration ${id}: putting it in force`;
}

/** Steps that are done at once do not report progress. */
function estimatedLeft({ state, strategy, steps }: Migration, elapsedMs: number): number | null {
  if (state !== 'running' || strategy !== 'blocking') return null;
  const seconds = steps.reduce((sum, step) => sum + count(step.estimatedSeconds), 0);
  return Math.max(0, seconds * 1000 - elapsedMs);
}

function timeLeft(done: number, left: number, elapsedMs: number): number | null {
  return done <= 0 ? null : (Math.max(0, left) / done) * elapsedMs;
}
