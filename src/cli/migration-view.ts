// Formats plans and migrations of the admin API: table of steps, state of a migration, conflicts. Pure.
import type { Migration, MigrationError, MigrationStep, Plan, PlannedStep } from '../../admin-types/admin-api.d.ts';
import type { StepState } from './progress.ts';
import { formatCount, printable, renderPairs, renderTable } from './table.ts';

const END_STATES = ['succeeded', 'failed', 'cancelled'];

export const hasEnded = (migration: Migration): boolean => END_STATES.includes(migration.state);

/** Formats the steps of a plan and its conflicts for people. */
export function describePlan(plan: Plan): string {
  if (plan.steps.length === 0) return 'Nothing to change: the schema is already in force';
  const table = renderTable(
    ['#', 'STEP', 'DESTROYS DATA', 'BLOCKS', 'TIME', 'IN THE WAY'],
    plan.steps.map((step, index) => [
      index + 1,
      step.description,
      step.destructive ? 'yes' : '-',
      blocks(step),
      estimate(step.estimatedSeconds),
      step.conflicts ? countRecords(step.conflicts.count) : '-',
    ]),
    ['#'],
  );
  const conflicts = plan.steps.flatMap((step, index) =>
    step.conflicts ? [describeConflicts(index + 1, step.conflicts)] : [],
  );
  const closing = [
    ...conflicts,
    ...(conflicts.length > 0 ? ['With these records the migration would fail and change nothing.'] : []),
    ...(plan.steps.some((step) => step.blocksReads || step.blocksWrites)
      ? ['Requests that a step blocks get 503 with Retry-After until the migration has ended.']
      : []),
    ...(plan.destructive ? ['Data would be lost: schema apply needs --allow-destructive for this.'] : []),
  ];
  return [table, ...(closing.length === 0 ? [] : ['']), ...closing].join('\n');
}

/** Formats a migration for people: its state, its steps, and its error if it has one. */
export function describeMigration(migration: Migration): string {
  const facts = renderPairs([
    ['Migration', migration.id],
    ['State', migration.state],
    ['Strategy', migration.strategy],
    ['Created', migration.createdAt],
    ['Started', migration.startedAt],
    ['Finished', migration.finishedAt],
  ]);
  const steps = renderTable(
    ['#', 'ENTITY', 'STEP', 'STATE', 'PROGRESS', 'DESCRIPTION'],
    migration.steps.map((step, index) => [
      index + 1,
      step.entity,
      step.kind,
      step.state,
      `${Math.floor(step.progress * 100)} %`,
      step.description,
    ]),
    ['#', 'PROGRESS'],
  );
  const error = migration.error === null ? [] : ['', describeMigrationError(migration.error)];
  return [facts, ...(migration.steps.length === 0 ? [] : ['', steps]), ...error].join('\n');
}

/** Formats the error of a migration with the records that caused it. */
function describeMigrationError(error: MigrationError): string {
  const location = [error.entity, error.field].filter((part) => part !== null && part !== undefined).join('.');
  const head = `${error.code}: ${error.message}`;
  const records =
    typeof error.count !== 'number'
      ? []
      : [`  ${countRecords(error.count)}${location === '' ? '' : ` of ${location}`}${samples(error.sampleIds ?? [])}`];
  return [printable(head), ...records.map(printable)].join('\n');
}

function describeConflicts(number: number, conflicts: NonNullable<PlannedStep['conflicts']>): string {
  const { count, sampleIds } = conflicts;
  return `Step ${number}: ${countRecords(count)} ${count === 1 ? 'stands' : 'stand'} in the way${samples(sampleIds)}`;
}

const countRecords = (count: number): string => `${formatCount(count)} record${count === 1 ? '' : 's'}`;

function samples(ids: readonly number[]): string {
  return ids.length === 0 ? '' : `, such as id ${ids.join(', ')}`;
}

function blocks(step: PlannedStep): string {
  const blocked = [...(step.blocksReads ? ['reads'] : []), ...(step.blocksWrites ? ['writes'] : [])];
  return blocked.length === 0 ? '-' : blocked.join(', ');
}

const estimate = (seconds: number): string => (seconds < 1 ? '< 1 s' : `${formatCount(Math.round(seconds))} s`);

/** First observation of the current step. */
interface First {
  readonly label: string;
  readonly at: number;
  readonly fraction: number;
  readonly current: number;
}

export function makeStepTracker(): (migration: Migration, now: number) => StepState {
  let first: First | undefined;
  return (migration, now) => {
    const at = currentStep(migration);
    const step = migration.steps[at];
    const label = getLabel(migration, step, at);
    const fraction = step?.progress ?? 0;
    const current = step?.records?.done ?? 0;
    if (first?.label !== label) first = { label, at: now, fraction, current };
    const elapsedMs = now - first.at;
    const common = { label, elapsedMs };
    if (step === undefined)
      return { ...common, fraction: null, rate: null, remainingMs: estimateRemainingMs(migration, elapsedMs) };
    if (step.records === undefined || step.records === null) {
      return {
        ...common,
        fraction,
        rate: null,
        remainingMs: calculateRemainingMs(fraction - first.fraction, 1 - fraction, elapsedMs),
      };
    }
    return {
      ...common,
      fraction,
      rate: elapsedMs === 0 ? 0 : ((current - first.current) * 1000) / elapsedMs,
      remainingMs: calculateRemainingMs(current - first.current, step.records.total - current, elapsedMs),
    };
  };
}

/**
 * Returns the index of the current step: the first running one with records left. Running steps before it have processed all
 * of their records and wait for the end of the migration.
 */
function currentStep({ steps }: Migration): number {
  const isRunning = (step: MigrationStep): boolean => step.state === 'running';
  const busy = steps.findIndex((step) => isRunning(step) && step.progress < 0.99);
  return busy === -1 ? steps.findIndex(isRunning) : busy;
}

function getLabel({ id, steps, strategy, state }: Migration, step: MigrationStep | undefined, index: number): string {
  if (step !== undefined) return `Step ${index + 1} of ${steps.length}: ${step.description}`;
  if (state === 'pending') return `Migration ${id}: looking for records in the way`;
  if (state !== 'running') return `Migration ${id}: ${state}`;
  return strategy === 'blocking' ? `Migration ${id}: all steps at once` : `Migration ${id}: putting it in force`;
}

/** Estimates the remaining time; null for steps without progress. */
function estimateRemainingMs({ state, strategy, steps }: Migration, elapsedMs: number): number | null {
  if (state !== 'running' || strategy !== 'blocking') return null;
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
  return Math.max(0, seconds * 1000 - elapsedMs);
}

function calculateRemainingMs(current: number, remaining: number, elapsedMs: number): number | null {
  return current <= 0 ? null : (Math.max(0, remaining) / current) * elapsedMs;
}
