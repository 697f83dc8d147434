// A list or an export that a feed continues -> the view of that feed. Refuses what events cannot follow.
import { badRequest } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { FilterTree } from '../request/filter.ts';
import { describeFeed, describeFilterTypes, type FeedSelection, planFeedViews } from './feed.ts';
import type { PlanContext } from './link.ts';
import { hasLists, type Projection } from './projection.ts';

export interface HandOver {
  /** Text of the parameters that the feed must have, too. */
  readonly query: string;
  /** Types of the fields of its filter, see describeFilterTypes(). */
  readonly filterTypes: string;
}

interface HandOverRequest extends FeedSelection {
  readonly projection?: Projection;
  readonly search?: unknown;
  readonly distinct?: unknown;
}

/** Throws 400, or 409 for an entity without changes. */
export function planHandOver(request: HandOverRequest, entity: Entity, context: PlanContext): HandOver {
  const views = planFeedViews(request, [entity], context);
  for (const name of ['search', 'distinct'] as const) {
    if (request[name] !== undefined)
      throw badRequest('PARAMETER_CONFLICT', `changes=true and ${name} do not go together: events cannot follow it`);
  }
  if (request.projection !== undefined && hasLists(request.projection))
    throw badRequest(
      'PARAMETER_CONFLICT',
      'changes=true takes no expanded lists: events do not follow relations. Expand to-one relations, or follow the other entity, too',
    );
  if (request.filter !== undefined && !isQueryString(request.filter))
    throw badRequest(
      'PARAMETER_CONFLICT',
      'changes=true takes a filter as a query string can have it: conditions, and groups of alternatives, that must all hold',
    );
  return {
    query: describeFeed({ types: undefined, fields: request.fields }, views, context.workspace),
    filterTypes: describeFilterTypes(views),
  };
}

/** Returns whether `filter` and `or` of a query string can say the same, as the feed takes them alone. */
function isQueryString(tree: FilterTree): boolean {
  const isGroup = (part: FilterTree): boolean =>
    part.kind === 'compare' || (part.kind === 'or' && part.members.every(({ kind }) => kind === 'compare'));
  return tree.kind === 'and' ? tree.members.every(isGroup) : isGroup(tree);
}
