// Limits the relations that a request follows, over its filters, sorts and expansions together. PostgreSQL plans each
// as a subquery: 500 of them took it 10 s, over tables of a handful of records.
import { badRequest } from '../errors.ts';
import { MAX_STEPS } from '../model/entity.ts';
import type { Ordering } from './ordering.ts';
import type { Predicate } from './predicate.ts';
import type { Output, Projection } from './projection.ts';

interface Steps {
  readonly projection?: Projection;
  readonly predicate: Predicate | undefined;
  readonly ordering?: Ordering;
  /** Relations that joins follow. */
  readonly joins?: readonly unknown[];
}

/** Throws 400 when a request follows too many relations. */
export function boundSteps({ projection, predicate, ordering, joins = [] }: Steps): void {
  const projectionSteps = projection === undefined ? 0 : countInProjection(projection);
  if (projectionSteps + joins.length + countInPredicate(predicate) + countInOrdering(ordering) <= MAX_STEPS) return;
  throw badRequest(
    'LIMIT_EXCEEDED',
    `The request follows more than ${MAX_STEPS} relations. Every relation of a path counts, in filter, or, sort, expand, select and group: ask for fewer, or in several requests`,
  );
}

function countInProjection({ outputs }: Projection): number {
  return outputs.reduce((sum, output) => sum + countInOutput(output), 0);
}

function countInOutput(output: Output): number {
  switch (output.kind) {
    case 'column':
      return 0;
    case 'toOne':
      return 1 + countInProjection(output.projection);
    case 'toMany':
      return (
        1 + countInProjection(output.projection) + countInPredicate(output.predicate) + countInOrdering(output.ordering)
      );
    default:
      return output satisfies never;
  }
}

function countInPredicate(predicate: Predicate | undefined): number {
  switch (predicate?.kind) {
    case undefined:
    case 'search':
    case 'compare':
      return 0;
    case 'and':
    case 'or':
      return predicate.members.reduce((sum, member) => sum + countInPredicate(member), 0);
    case 'not':
      return countInPredicate(predicate.member);
    case 'exists':
      return 1 + countInPredicate(predicate.member);
    default:
      return predicate satisfies never;
  }
}

function countInOrdering(ordering: Ordering | undefined): number {
  return ordering?.keys.reduce((sum, { links }) => sum + links.length, 0) ?? 0;
}
