// Plans and migrations as the admin API gives them, and as text: the table of steps, the state of a migration, what
// makes it impossible. Pure.
import { numberText } from '../model/exact-json.ts';
import { formatCount, printable, renderPairs, renderTable } from './table.ts';

export interface Step {
  readonly entity: string | null;
  readonly kind: string;
  readonly description: string;
  readonly destructive: boolean;
  readonly blocksReads: boolean;
  readonly blocksWrites: boolean;
  readonly estimatedSeconds: unknown;
  readonly conflicts: { readonly count: number; readonly sampleIds: readonly unknown[] } | null;
  readonly state?: string;
  readonly progress?: unknown;
  readonly records?: { readonly done: unknown; readonly total: unknown } | null;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly destructive: boolean;
  /** Tag of the document that it was compared with. */
  readonly basedOn: string;
}

export interface Migration {
  readonly id: number | string;
  readonly state: string;
  readonly strategy: string;
  readonly steps: readonly Step[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly entity?: string | null;
    readonly field?: string | null;
    readonly count?: number | null;
    readonly sampleIds?: readonly unknown[] | null;
  } | null;
  readonly createdAt?: string | null;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
}

const ENDED = ['succeeded', 'failed', 'cancelled'];

export const hasEnded = (migration: Migration): boolean => ENDED.includes(migration.state);

/** The steps of a plan for people, then what makes it impossible. */
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

/** A migration for people: its state, its steps, and its error if it has one. */
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
      `${Math.floor(fraction(step.progress) * 100)} %`,
      step.description,
    ]),
    ['#', 'PROGRESS'],
  );
  const error =
    migration.error === null || migration.error === undefined ? [] : ['', describeMigrationError(migration.error)];
  return [facts, ...(migration.steps.length === 0 ? [] : ['', steps]), ...error].join('\n');
}

/** The error of a migration with the records that caused it. */
export function describeMigrationError(error: NonNullable<Migration['error']>): string {
  const place = [error.entity, error.field].filter((part) => part !== null && part !== undefined).join('.');
  const head = `${error.code}: ${error.message}`;
  const records =
    typeof error.count !== 'number'
      ? []
      : [`  ${countRecords(error.count)}${place === '' ? '' : ` of ${place}`}${samples(error.sampleIds ?? [])}`];
  return [printable(head), ...records.map(printable)].join('\n');
}

function describeConflicts(number: number, conflicts: NonNullable<Step['conflicts']>): string {
  const { count, sampleIds } = conflicts;
  return `Step ${number}: ${countRecords(count)} ${count === 1 ? 'stands' : 'stand'} in the way${samples(sampleIds)}`;
}

const countRecords = (count: number): string => `${formatCount(count)} record${count === 1 ? '' : 's'}`;

function samples(ids: readonly unknown[]): string {
  return ids.length === 0 ? '' : `, such as id ${ids.map((id) => numberText(id) ?? String(id)).join(', ')}`;
}

function blocks(step: Step): string {
  const blocked = [...(step.blocksReads ? ['reads'] : []), ...(step.blocksWrites ? ['writes'] : [])];
  return blocked.length === 0 ? '-' : blocked.join(', ');
}

function estimate(seconds: unknown): string {
  const number = Number(numberText(seconds) ?? Number.NaN);
  if (Number.isNaN(number)) return '-';
  return number < 1 ? '< 1 s' : `${formatCount(Math.round(number))} s`;
}

/** A share as the API gives it, 0 to 1. */
export function fraction(progress: unknown): number {
  const number = Number(numberText(progress) ?? 0);
  return Math.min(1, Math.max(0, Number.isNaN(number) ? 0 : number));
}
