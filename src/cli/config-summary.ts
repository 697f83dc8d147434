// Summaries of `wda config`: a line for each workspace, what failed there and why, and what the command ends with.

import type { Migration, MigrationError } from '../../admin-types/admin-api.d.ts';
import type { Step } from './config-steps.ts';
import { CommandFailure, describeFailure, failureDocument, runtimeFailure } from './failure.ts';
import { printable, renderTable } from './table.ts';

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

/** Formats a table of the workspaces with steps or failures; empty for a single one that has not failed. */
export function describePlaces(
  steps: readonly Step[],
  failures: Failures,
  head: readonly string[],
  toCells: (steps: readonly Step[]) => readonly (string | number)[],
): string {
  const byPlace = Map.groupBy(steps, ({ place }) => place);
  const places = [...new Set([...byPlace.keys(), ...failures.keys()])];
  if (places.filter((place) => place.includes('/')).length < 2 && failures.size === 0) return '';
  const rows = places.map((place) => [
    place,
    ...toCells(byPlace.get(place) ?? []),
    findFailure(place, failures)?.message ?? '',
  ]);
  return `\n${renderTable(['WORKSPACE', ...head, 'WHY NOT'], rows, head)}\n\n`;
}

// The table above the message has all of them.
const MAX_NAMED = 10;

/** Returns the failure that the command ends with. `verb`: what could not be done. */
export function failedPlaces(failures: Failures, all: number, verb: string): CommandFailure {
  const places = [...failures.keys()];
  // An organization that fails has any number of workspaces.
  const counted = places.every((place) => place.includes('/'))
    ? `${places.length} of ${all} workspace${all === 1 ? '' : 's'}`
    : `${places.length} organization${places.length === 1 ? '' : 's'} or workspace${places.length === 1 ? '' : 's'}`;
  const more = places.length > MAX_NAMED ? ` and ${places.length - MAX_NAMED} more` : '';
  const failure = runtimeFailure(`${counted} ${verb}: ${places.slice(0, MAX_NAMED).join(', ')}${more}`, {
    failed: toJsonFailures(failures),
  });
  return new CommandFailure(failure.failure, ['The others are not concerned. Apply the file again to go on.']);
}
