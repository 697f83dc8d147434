// Hands a reader over from a list or an export to the feed: the cursor that continues where the snapshot of the answer
// ends.

import { badRequest, serviceUnavailable } from '../errors.ts';
import { getEpoch } from '../model/workspace.ts';
import { describeView } from '../plan/feed.ts';
import type { HandOver } from '../plan/handover.ts';
import { toControlError } from '../store/control-error.ts';
import type { EntityContext } from './context.ts';
import type { FeedSeals } from './feed-cursor.ts';
import { findContinuation, type Moment, makeRun } from './feed-numbering.ts';

// Only hundreds of transactions that are open at once do not fit into a cursor.
const MAX_ATTEMPTS = 5;

/** Reads what the feed continues, and returns it with the cursor. */
export async function readWithCursor<T extends { readonly moment: Moment | null }>(
  loadSeals: () => Promise<FeedSeals>,
  context: EntityContext,
  handOver: HandOver,
  read: () => Promise<T>,
): Promise<T & { readonly changes: string }> {
  // The snapshot of a transaction does not show its own changes as visible.
  if (context.executor.isTransaction)
    throw badRequest(
      'PARAMETER_CONFLICT',
      'changes=true is not for an operation of a batch: list the records on their own',
    );
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const result = await read();
    if (result.moment === null) throw new TypeError('a list with a cursor tells its moment');
    const changes = await sealMoment(loadSeals, context, handOver, result.moment);
    if (changes !== undefined) return { ...result, changes };
  }
  throw tooManyWriters();
}

export const tooManyWriters = (): Error =>
  serviceUnavailable('OVERLOADED', 'Too many transactions write at the moment for a cursor of changes; retry');

/** Returns the cursor that continues at the moment, or undefined when it would be too long. */
export async function sealMoment(
  loadSeals: () => Promise<FeedSeals>,
  { workspace, principal, entity, executor, ...context }: EntityContext,
  { query, filterTypes }: HandOver,
  moment: Moment,
): Promise<string | undefined> {
  const [seals, place] = await Promise.all([
    loadSeals().catch((error) => {
      throw toControlError(error);
    }),
    findContinuation(makeRun(executor, { workspace, principal, ...context }, entity.name), workspace, moment),
  ]);
  const view = describeView([entity], principal) + filterTypes;
  return place && seals.seal(workspace.id, { ...place, epoch: getEpoch(workspace), query, view });
}
