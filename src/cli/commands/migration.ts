// `wda migration`: shows, follows and cancels schema migrations of a workspace. Also follows one for `wda schema apply`.
import type { Command } from 'commander';
import type { Migration, MigrationError, MigrationStep, Plan, PlannedStep } from '../../../admin-types/admin-api.d.ts';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printList,
  requireWorkspace,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { CommandFailure, runtimeFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { follow, type StepState } from '../progress.ts';
import { formatCount, formatQuantity, printable, renderPairs, renderTable } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('migration').description('schema changes of a workspace, running and past');
  group.command('list').description('list the migrations').action(action(list));
  group
    .command('show')
    .description('show one with its steps')
    .argument('<id>')
    .option('--follow', 'watch it to its end first; exit code 1 when it fails')
    .action(action(show));
  group.command('cancel').description('cancel one that has not ended').argument('<id>').action(action(cancel));
  examples(group, [
    'wda migration list -w acme/shop',
    'wda migration show 7 --follow -w acme/shop',
    'wda migration cancel 7 -w acme/shop',
  ]);
}

async function list(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const migrations = await connect(options).readAll<Migration>(`${workspacePath(address)}/migrations`);
  const head = ['ID', 'STATE', 'STRATEGY', 'STEPS', 'CREATED', 'FINISHED', 'ERROR'];
  await printList(options, migrations, `No migrations in ${workspaceName(address)}`, head, (migration) => [
    migration.id,
    migration.state,
    migration.strategy,
    migration.steps.length,
    migration.createdAt,
    migration.finishedAt,
    migration.error?.message,
  ]);
}

/** Shows a migration; with `follow`, after its end. Fails only when a followed migration has failed. */
async function show(id: string, options: GlobalOptions & { readonly follow?: boolean }): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const migration = options.follow
    ? await followMigration(client, address, id, { options, deadline: null })
    : await readMigration(client, address, id);
  await printResult(options, migration, () => describeMigration(migration));
  if (options.follow) requireSuccess(migration);
}

/** Cancels a migration; the server rolls back its steps. */
async function cancel(id: string, options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const { data } = await connect(options).send<Migration>('POST', `${migrationPath(address, id)}/cancel`);
  await printResult(options, data, () => `Cancelling migration ${id}: ${data.state}`);
}

/** Returns the migration after its end, or at `deadline` (by performance.now(), or null for none). */
export function followMigration(
  client: AdminClient,
  address: WorkspaceAddress,
  id: string,
  { options, deadline }: { readonly options: GlobalOptions; readonly deadline: number | null },
): Promise<Migration> {
  return follow({
    read: () => readMigration(client, address, id),
    hasEnded,
    isRunning: ({ state }) => state === 'running',
    getState: makeStepTracker(),
    interruptLines: formatFollowUp(address, id),
    options,
    deadline,
  });
}

/** Returns lines that say how to follow a migration that continues on the server. */
export function formatFollowUp(address: WorkspaceAddress, id: string | number): readonly string[] {
  return [
    `Migration ${id} goes on without this command.`,
    `Watch it:  wda migration show ${id} --follow -w ${workspaceName(address)}`,
    `Stop it:   wda migration cancel ${id} -w ${workspaceName(address)}`,
  ];
}

/** Throws unless the migration succeeded; its details are already printed. */
export function requireSuccess({ id, state, error }: Migration): void {
  if (state === 'failed') {
    const failure = runtimeFailure(`Migration ${id} has failed`, { migration: id, state });
    throw error?.code === 'DATA_CONFLICT'
      ? new CommandFailure(failure.failure, [
          'Nothing has been changed. Change or delete the records in the way, then apply the schema again.',
        ])
      : failure;
  }
  if (state === 'cancelled') throw runtimeFailure(`Migration ${id} has been cancelled`, { migration: id, state });
}

async function readMigration(client: AdminClient, address: WorkspaceAddress, id: string): Promise<Migration> {
  return (await client.send<Migration>('GET', migrationPath(address, id))).data;
}

const migrationPath = (address: WorkspaceAddress, id: string): string =>
  `${workspacePath(address)}/migrations/${encodeURIComponent(id)}`;

const END_STATES = ['succeeded', 'failed', 'cancelled'];

/** Returns true for a migration, or a move of a workspace, that runs no more. */
export const hasEnded = ({ state }: { readonly state: string }): boolean => END_STATES.includes(state);

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
      step.conflicts ? formatQuantity(step.conflicts.count, 'record') : '-',
    ]),
    ['#'],
  );
  const conflicts = plan.steps.flatMap((step, index) =>
    step.conflicts ? [describeConflicts(index + 1, step.conflicts)] : [],
  );
  const grants = plan.steps.flatMap((step, index) =>
    (step.grants ?? []).map((sentence) => `Step ${index + 1}: ${printable(sentence)}`),
  );
  const closing = [
    ...grants,
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
      step.state === 'cancelled' && step.progress === 0 ? '-' : `${Math.floor(step.progress * 100)} %`,
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
      : [
          `  ${formatQuantity(error.count, 'record')}${location === '' ? '' : ` of ${location}`}${samples(error.sampleIds ?? [])}`,
        ];
  return [printable(head), ...records.map(printable)].join('\n');
}

function describeConflicts(number: number, conflicts: NonNullable<PlannedStep['conflicts']>): string {
  const { count, sampleIds } = conflicts;
  return `Step ${number}: ${formatQuantity(count, 'record')} ${count === 1 ? 'stands' : 'stand'} in the way${samples(sampleIds)}`;
}

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
