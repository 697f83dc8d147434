// Texts of `wda config`: steps and the options that they lack, a line for each workspace, what failed there and why, and what the command ends with.

import type { Migration, MigrationError } from '../../admin-types/admin-api.d.ts';
import type { Need, Step } from './config-step.ts';
import { CommandFailure, describeFailure, failureDocument, runtimeFailure } from './failure.ts';
import { formatQuantity, printable, renderTable } from './table.ts';

/** Failure by the place that it concerns: `acme/shop`, or `acme` for an organization. */
export type Failures = ReadonlyMap<string, CommandFailure>;

/**
 * Returns a failure that leaves other workspaces alone. Throws any other one: without a connection or with a credential
 * that is not accepted, the others would fail as well.
 */
export function requireFailureOfPlace(error: unknown): CommandFailure {
  if (!(error instanceof CommandFailure)) throw error;
  const { failure } = error;
  if (failure.kind === 'failed' || (failure.kind === 'refused' && failure.status !== 401)) return error;
  throw error;
}

/** Returns the failure of a place that keeps a step from being started: its own, or that of its organization. */
export const findFailure = (place: string, failures: Failures): CommandFailure | undefined =>
  failures.get(place) ?? failures.get(place.split('/')[0] as string);

/** Returns the failure of a migration, with its error. */
export function migrationFailure({ id, state, error }: Migration): CommandFailure {
  const message = `Migration ${id} has ${state === 'cancelled' ? 'been cancelled' : 'failed'}`;
  const reason = error === null ? '' : `: ${describeReason(error)}`;
  return runtimeFailure(`${message}${reason}`, { migration: id, state, ...(error === null ? {} : { reason: error }) });
}

/** Formats `orders.total: 3 records stand in the way …, such as id 1, 3, 5`. */
function describeReason({ entity, field, message, sampleIds }: MigrationError): string {
  const location = [entity, field].filter((part) => part !== null).join('.');
  const ids = sampleIds.length === 0 ? '' : `, such as id ${sampleIds.join(', ')}`;
  return `${location === '' ? '' : `${location}: `}${message}${ids}`;
}

/** Formats a failure below its place. */
export const describeFailed = (place: string, failure: CommandFailure): string =>
  [
    `! ${printable(place)}`,
    ...describeFailure(failure)
      .split('\n')
      .map((line) => `    ${line}`),
  ].join('\n');

export const toJsonFailures = (failures: Failures): readonly object[] =>
  [...failures].map(([place, failure]) => ({ place, ...failureDocument(failure) }));

/** Number of records that make a change of a schema impossible, as details of a failure. */
export const recordsFailure = (records: number): CommandFailure =>
  runtimeFailure(`${formatQuantity(records, 'record')} in the way`, { recordsInTheWay: records });

/** Column of a table of workspaces: its head and its cell for the steps of one. */
export type Column = readonly [head: string, toCell: (steps: readonly Step[]) => string | number];

/**
 * Formats a table of the workspaces with steps or failures; empty for a single one that has not failed. `whyNot`: reason
 * for which steps are left, empty if none is.
 */
export function describePlaces(
  steps: readonly Step[],
  failures: Failures,
  columns: readonly Column[],
  whyNot: (steps: readonly Step[]) => string,
): string {
  const byPlace = Map.groupBy(steps, ({ place }) => place);
  const places = [...new Set([...byPlace.keys(), ...failures.keys()])];
  if (places.filter((place) => place.includes('/')).length < 2 && failures.size === 0) return '';
  const rows = places.map((place) => {
    const own = byPlace.get(place) ?? [];
    const cells = columns.map(([, toCell]) => toCell(own));
    return [place, ...cells, findFailure(place, failures)?.message ?? whyNot(own)];
  });
  const head = columns.map(([name]) => name);
  return `\n${renderTable(['WORKSPACE', ...head, 'WHY NOT'], rows, head)}\n\n`;
}

// The table above the message has all of them.
const MAX_NAMED = 10;

/** Commands that can end with failures of places. */
type Command = 'plan' | 'check' | 'apply';

/** Returns the failure that a command ends with. `workspaces`: names of all workspaces of the file. */
export function failedPlaces(failures: Failures, workspaces: readonly string[], command: Command): CommandFailure {
  const places = [...failures.keys()];
  const all = workspaces.length;
  // An organization that fails has any number of workspaces.
  const counted = places.every((place) => workspaces.includes(place))
    ? `${places.length} of ${all} workspace${all === 1 ? '' : 's'}`
    : `${places.length} organization${places.length === 1 ? '' : 's'} or workspace${places.length === 1 ? '' : 's'}`;
  const verb = command === 'apply' ? 'failed' : 'cannot become what the file says';
  const more = places.length > MAX_NAMED ? ` and ${places.length - MAX_NAMED} more` : '';
  const failure = runtimeFailure(`${counted} ${verb}: ${places.slice(0, MAX_NAMED).join(', ')}${more}`, {
    failed: toJsonFailures(failures),
  });
  const hasOthers = workspaces.some((workspace) => findFailure(workspace, failures) === undefined);
  return new CommandFailure(failure.failure, makeHints(failures, hasOthers, command));
}

function makeHints(failures: Failures, hasOthers: boolean, command: Command): readonly string[] {
  const all = [...failures.values()];
  const corrections = [
    ...(all.some(isAboutRecords) ? ['change or delete the records in the way'] : []),
    ...(all.every(isAboutRecords) ? [] : ['correct what is named above']),
  ].join(', and ');
  const others =
    command === 'apply' ? 'The others are not concerned.' : 'The others are not concerned: apply changes them.';
  return [
    ...(hasOthers ? [others] : []),
    ...(command === 'apply' ? [] : ['Nothing has been changed.']),
    `${corrections.charAt(0).toUpperCase()}${corrections.slice(1)}, then ${command} the file again.`,
  ];
}

/** Returns true for a failure whose cause are records, which the file cannot mend. */
function isAboutRecords({ failure }: CommandFailure): boolean {
  if (failure.kind !== 'failed') return false;
  const { recordsInTheWay, reason } = failure.details ?? {};
  return recordsInTheWay !== undefined || (reason as MigrationError | undefined)?.code === 'DATA_CONFLICT';
}

/** Options of the command that allow steps. */
type Allowances = { readonly [N in Need]?: boolean };

/** Returns a column with the number of the steps of a workspace that are among `counted`. */
export const countColumn = (head: string, counted: readonly Step[]): Column => [
  head,
  (own) => own.filter((step) => counted.includes(step)).length,
];

/** Describes the options that steps lack, or returns an empty text. */
export function describeNeeds(steps: readonly Step[], options: Allowances): string {
  const flags = new Set(steps.flatMap((step) => getMissingFlags(step, options)));
  return flags.size === 0 ? '' : `needs ${[...flags].join(' and ')}`;
}

/** Options of the command line by what they allow. */
export const FLAGS: Readonly<Record<Need, string>> = {
  prune: '--prune',
  pruneWorkspaces: '--prune-workspaces',
  allowDestructive: '--allow-destructive',
};

/** Returns the options that a step needs and that are not given. */
export const getMissingFlags = (step: Step, options: Allowances): readonly string[] =>
  step.needs.filter((need) => !options[need]).map((need) => FLAGS[need]);

const SIGNS = { create: '+', change: '~', remove: '-' } as const;

/** Describes a step with its differences. */
export const describeStep = ({ place, change, what, details }: Step): string =>
  [`${SIGNS[change]} ${place}: ${what}`, ...details.map((detail) => `    ${detail}`)].map(printable).join('\n');

/** Describes a pending step with the options that it requires. */
export function describeUndone(step: Step, options: Allowances): string {
  const flags = getMissingFlags(step, options);
  return flags.length === 0 ? describeStep(step) : `${describeStep(step)}\n    needs ${flags.join(' and ')}`;
}

/** Returns the members of a step for scripts. */
export const toJsonStep = ({ place, change, what, details, needs }: Step): object => ({
  place,
  change,
  what,
  details,
  needs,
});

/** Numbers of steps. `skipped`: for want of an option; `failed`: also those after a failure, which did not start. */
interface StepCounts {
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
}

/** Formats the total below a table. */
export function summary(
  { done, skipped, failed }: StepCounts,
  word: 'to do' | 'done',
  failedPlaceCount: number,
): string {
  if (done + skipped + failed + failedPlaceCount === 0) return 'No change: the server is as the file says';
  const parts = [
    `${formatQuantity(done, 'change')} ${word}`,
    ...(skipped === 0 ? [] : [`${skipped} left as ${skipped === 1 ? 'it is' : 'they are'}`]),
    ...(failed === 0 ? [] : [`${failed} not done`]),
  ].join(', ');
  if (failedPlaceCount === 0) return parts;
  return `${parts}; ${formatQuantity(failedPlaceCount, 'workspace')} ${word === 'done' ? 'failed' : 'would fail'}`;
}
