// Filters of requests as conditions, and what a condition contains.
import type { Entity, Field } from '../model/entity.ts';
import type { FilterTree } from '../request/filter.ts';
import { type Comparison, EVERYTHING, group, isConstant, isPart, planCondition } from './condition.ts';
import { buildLink, type PlanContext } from './link.ts';
import { hidesRows, type Predicate, type Scan, sayVisible, scan, shieldColumns } from './scan.ts';
import type { Search } from './search.ts';

export type { Predicate } from './scan.ts';

/** Plans the filter and the search of a list; returns undefined if every record satisfies both. */
export function planFilter(
  tree: FilterTree | undefined,
  entity: Entity,
  context: PlanContext,
  search?: Search,
): Predicate | undefined {
  const filter = tree === undefined ? EVERYTHING : markExpensiveParts(planPredicate(tree, entity, context));
  // Which phrases hidden records have would be told by the time that it takes to read their texts.
  const isShielded = search !== undefined && scan(entity, context.principal, 'read').filter.kind !== 'unrestricted';
  const predicate =
    search === undefined ? filter : group('and', [filter, { kind: 'search', search, isShielded } as const]);
  return isConstant(predicate) && predicate.kind === 'and' ? undefined : predicate;
}

export function planPredicate(tree: FilterTree, entity: Entity, context: PlanContext): Predicate {
  return planCondition(tree, entity, { ...context.workspace, link: (relation) => buildLink(relation, context) });
}

// Substrings that PostgreSQL searches on its own, possibly in several processes.
const MAX_CHEAP_PARTS = 10;
const MAX_CHEAP_LENGTH = 100;

/** Returns the predicate with the substrings marked that sql/like.ts searches in pieces. */
function markExpensiveParts(predicate: Predicate): Predicate {
  const isMany = countParts(predicate) > MAX_CHEAP_PARTS;
  function mark(one: Predicate): Predicate {
    if (one.kind === 'and' || one.kind === 'or') return { ...one, members: one.members.map(mark) };
    if (one.kind === 'not') return { ...one, member: mark(one.member) };
    if (one.kind === 'exists') {
      const { link, member } = one;
      return { ...one, link: { ...link, scan: shieldScan(link.scan, member) }, member: mark(member) };
    }
    return isPart(one) && (isMany || getPartLength(one) > MAX_CHEAP_LENGTH) ? { ...one, isExpensive: true } : one;
  }
  return mark(predicate);
}

/**
 * Returns the table of the predicate, in which no hidden record has a value for a regular expression, and which says for a
 * search which records are hidden.
 */
export function shieldScan(target: Scan, predicate: Predicate | undefined): Scan {
  if (predicate === undefined) return target;
  const shielded = shieldColumns(target, listMatched(predicate));
  return hasShieldedSearch(predicate) ? sayVisible(shielded) : shielded;
}

function hasShieldedSearch(predicate: Predicate): boolean {
  if (predicate.kind === 'search') return predicate.isShielded;
  return predicate.kind === 'and' && predicate.members.some(hasShieldedSearch);
}

/** Returns the fields of the record itself that are compared with regular expressions. */
function listMatched(predicate: Predicate): readonly Field[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.members.flatMap(listMatched);
    case 'not':
      return listMatched(predicate.member);
    case 'compare':
      return predicate.operator === 'matches' ? [predicate.field] : [];
    case 'exists':
    case 'search':
      return [];
    default:
      return predicate satisfies never;
  }
}

const getPartLength = ({ operands: [part] }: Comparison): number =>
  part?.kind === 'value' && part.value !== null ? part.value.length : 0;

function countParts(predicate: Predicate): number {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.members.reduce((sum, member) => sum + countParts(member), 0);
  if (predicate.kind === 'not' || predicate.kind === 'exists') return countParts(predicate.member);
  return isPart(predicate) ? 1 : 0;
}

/** Returns whether the predicate contains a search. */
export function hasSearch(predicate: Predicate): boolean {
  return predicate.kind === 'search' || (predicate.kind === 'and' && predicate.members.some(hasSearch));
}

/** Divides the predicate of a list into its searches and the rest. */
export function splitSearch(predicate: Predicate): {
  readonly searches: readonly Searched[];
  readonly rest: Predicate;
} {
  if (predicate.kind === 'search') return { searches: [predicate], rest: EVERYTHING };
  if (predicate.kind !== 'and') return { searches: [], rest: predicate };
  const parts = predicate.members.map(splitSearch);
  return {
    searches: parts.flatMap(({ searches }) => searches),
    rest: group(
      'and',
      parts.map(({ rest }) => rest),
    ),
  };
}

/** Returns the predicate for an estimate of how many records satisfy it. */
export function toEstimated(predicate: Predicate): Predicate {
  const { searches, rest } = splitSearch(predicate);
  const planned = searches.map((each) => ({ ...each, search: { ...each.search, isPlanned: true } as const }));
  return group('and', [...planned, rest]);
}

type Searched = Extract<Predicate, { kind: 'search' }>;

/** Returns whether the predicate reads one of the columns of the record itself. */
export function readsColumn(predicate: Predicate, columns: Pick<ReadonlySet<string>, 'has'>): boolean {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.members.some((member) => readsColumn(member, columns));
    case 'not':
      return readsColumn(predicate.member, columns);
    case 'exists':
      return predicate.link.kind === 'key' && columns.has(predicate.link.parentColumn);
    case 'search':
      return predicate.search.through.fields.some(({ column }) => columns.has(column));
    case 'compare':
      return columns.has(predicate.field.column);
    default:
      return predicate satisfies never;
  }
}

/** Returns whether the predicate depends on records of an entity of which the principal may not see all. */
export function crossesHidden(predicate: Predicate): boolean {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.members.some(crossesHidden);
    case 'not':
      return crossesHidden(predicate.member);
    case 'exists': {
      const { link, member } = predicate;
      return hidesRows(link.scan) || (link.kind === 'through' && hidesRows(link.through)) || crossesHidden(member);
    }
    case 'search':
    case 'compare':
      return false;
    default:
      return predicate satisfies never;
  }
}
