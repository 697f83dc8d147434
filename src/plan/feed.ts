// Feed request -> plan: for each entity the view of the principal, which is judged on the record before and after a change.
import { badRequest } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { keepsChanges } from '../model/entity.ts';
import type { GrantValue, GrantWhere } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { FeedRequest } from '../request/feed-request.ts';
import type { EventType } from '../request/parameters.ts';
import { parseFields } from '../request/paths.ts';
import { changesOff, historyNotForUsers, historyOff } from './errors.ts';
import type { PlanContext } from './link.ts';
import { digitsOperand, numberOperand, type Operand, textOperand } from './operand.ts';
import { type Predicate, planFilter, shieldScan } from './predicate.ts';
import { planColumns } from './projection.ts';
import { getRuleColumns, readClaim, readClaimList, ruleField } from './row-rules.ts';
import { getGrants, hidesRows, isHistoryShown, type Scan, scanHistory, scanImages } from './scan.ts';

/** Changes that a page looks at, at most. */
export const MAX_LOOKED_AT = 20_000;

/** The view of one entity. */
export interface FeedView {
  readonly entity: Entity;
  readonly scan: Scan;
  readonly predicate: Predicate | undefined;
  /** Fields that events show. */
  readonly fields: readonly Field[];
  /** Whether an update that changes none of the fields is left out. */
  readonly isSelected: boolean;
  /** Whether the principal sees all records, so that events tell what happened to the record. */
  readonly isWhole: boolean;
  /** Whether records may be shown as they are stored: nothing hides one or a value of it, and nothing is compared. */
  readonly isAsStored: boolean;
}

export interface FeedPlan {
  readonly kind: 'feed';
  readonly databaseSchema: string;
  readonly views: readonly FeedView[];
  readonly after: Operand;
  /** Changes to leave out, which the list before this page has shown. */
  readonly seen: SeenOperands | undefined;
  /** Events of the page, and changes to look at, at most. */
  readonly size: number;
  readonly looks: number;
  readonly types: readonly EventType[] | undefined;
  readonly previous: boolean;
}

/** Changes up to a position that are visible in a snapshot (pg_snapshot). */
export interface Seen {
  readonly until: number;
  readonly snapshot: string;
}

export interface SeenOperands {
  readonly until: Operand;
  readonly snapshot: Operand;
}

/** Plans the views of a feed of these entities, or of all that keep changes. Throws 400, and 409 for what is not kept. */
export function planFeedViews(
  request: FeedSelection,
  named: readonly Entity[] | undefined,
  context: PlanContext,
): readonly FeedView[] {
  const off = named?.find(({ settings }) => !keepsChanges(settings));
  if (off !== undefined) throw changesOff(off.name);
  const all = [...context.workspace.entities.values()];
  const entities = named ?? all.filter(({ settings }) => keepsChanges(settings));
  if (entities.length === 0) throw changesOff(undefined);
  return entities.map((entity) => planView(request, entity, context));
}

/** Plans the views of entities that keep no changes any more, for the events that say so. */
export const planEndedViews = (entities: readonly Entity[], context: PlanContext): readonly FeedView[] =>
  entities.map((entity) => planView({ fields: undefined, filter: undefined }, entity, context));

/** Parameters that decide which events a view has. */
export type FeedSelection = Pick<FeedRequest, 'fields' | 'filter'>;

function planView(
  { fields, filter }: FeedSelection,
  entity: Entity,
  context: PlanContext,
  images: Scan = scanImages(entity, context.principal),
): FeedView {
  const omitted = new Set(entity.settings.changesOmit ?? []);
  const isStored = ({ name }: Field): boolean => !omitted.has(name);
  const predicate = planFilter(filter, entity, context);
  if (predicate !== undefined) rejectPaths(predicate);
  const scan = shieldScan(images, predicate);
  const isSelected = (fields !== undefined && fields !== 'all') || hidesFields(entity, 'read');
  const isWhole = context.principal.kind !== 'external' || isUnlimited(entity, context.principal);
  return {
    entity,
    scan,
    predicate,
    fields: selectFields(fields, entity).filter(isStored),
    isSelected,
    isWhole,
    isAsStored: isWhole && !hidesRows(scan) && predicate === undefined && !isSelected,
  };
}

/** Returns whether neither row rules nor grants limit the principal. */
const isUnlimited = (entity: Entity, principal: Principal): boolean =>
  entity.access === undefined &&
  getRuleColumns(entity, principal).size === 0 &&
  entity.rowRules.every(({ enabled }) => !enabled);

/**
 * Returns whether grants show some fields of some records only. Whether an update has changed such a field, or has written
 * the value that was there, must not be told to a user who may write it and not read it.
 */
const hidesFields = ({ access }: Entity, operation: 'read' | 'history'): boolean =>
  access?.grants.some(({ can, fields }) => can.has(operation) && fields.size < access.base.fields.size) === true;

function selectFields(fields: FeedRequest['fields'], entity: Entity): readonly Field[] {
  if (fields === 'all') return [...entity.fields.values()];
  if (fields !== undefined) return planColumns(fields, entity);
  const { defaultFields } = entity.settings;
  if (defaultFields === null) return [...entity.fields.values()];
  // A default selection may name relations, which events do not follow.
  const own = parseFields(defaultFields.filter((path) => path === '*' || entity.fields.has(path)));
  return own === undefined ? [...entity.fields.values()] : planColumns(own, entity);
}

/** A change of a related record makes no event, so no condition may depend on one. */
function rejectPaths(predicate: Predicate): void {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      for (const member of predicate.members) rejectPaths(member);
      return;
    case 'not':
      rejectPaths(predicate.member);
      return;
    case 'exists':
      throw badRequest('INVALID_PATH', 'filter of a feed takes own fields alone: events do not follow relations');
    case 'search':
    case 'compare':
      return;
    default:
      predicate satisfies never;
  }
}

/** The changes of one record, the last one first. */
export interface HistoryPlan {
  readonly kind: 'history';
  readonly databaseSchema: string;
  readonly views: readonly [FeedView];
  readonly id: Operand;
  /** Number of a change: those before it, or it alone; undefined: all. */
  readonly change: Operand | undefined;
  readonly isOne: boolean;
  /** Events of the page, and changes to look at, at most. */
  readonly size: number;
  readonly looks: number;
  readonly types: undefined;
  readonly previous: true;
}

/** Where a page of a history is. */
export interface HistoryPlace {
  readonly id: string;
  readonly change: string | undefined;
  readonly isOne: boolean;
  readonly size: number;
  readonly looks: number;
}

/**
 * Plans a page of the history of a record. `change`: digits of the number of a change, of which the page is before, or
 * that it shows alone. Throws 403 for users who may not read history, and 409 for an entity that keeps none.
 */
export function planHistory(
  fields: FeedSelection['fields'],
  entity: Entity,
  context: PlanContext,
  page: HistoryPlace,
): HistoryPlan {
  const { principal, workspace } = context;
  if (entity.settings.changes !== 'history') throw historyOff(entity.name);
  if (principal.kind === 'external' && !isHistoryShown(entity)) throw historyNotForUsers(entity.name);
  const selection = { fields: fields ?? 'all', filter: undefined };
  const view = planView(selection, selectShown(entity), context, scanHistory(entity, principal));
  return {
    kind: 'history',
    databaseSchema: workspace.databaseSchema,
    views: [
      {
        ...view,
        isSelected: view.isSelected || fields !== undefined || hidesFields(entity, 'history'),
        isWhole: principal.kind !== 'external',
        isAsStored: false,
      },
    ],
    id: digitsOperand(page.id),
    change: page.change === undefined ? undefined : digitsOperand(page.change),
    isOne: page.isOne,
    size: page.size,
    looks: page.looks,
    types: undefined,
    previous: true,
  };
}

/** Plans a page after the position. `size`: events, `looks`: changes to look at, at most. */
export function planFeed(
  { types, previous }: Pick<FeedRequest, 'types' | 'previous'>,
  views: readonly FeedView[],
  { workspace: { databaseSchema } }: PlanContext,
  { after, seen, size, looks }: PagePlace,
): FeedPlan {
  return {
    kind: 'feed',
    databaseSchema,
    views,
    after: numberOperand(after),
    seen: seen && { until: numberOperand(seen.until), snapshot: textOperand(seen.snapshot) },
    size,
    looks,
    types,
    previous,
  };
}

/** The number of events after the position, among the next `looks` changes. */
export interface FeedCountPlan extends Omit<FeedPlan, 'kind'> {
  readonly kind: 'feedCount';
  /** Whether changes of the schema count. */
  readonly countsSchema: boolean;
}

/** Plans a count of events, control events among them. */
export function planFeedCount(
  request: Pick<FeedRequest, 'types'>,
  views: readonly FeedView[],
  context: PlanContext,
  { after, looks, countsSchema }: Pick<PagePlace, 'after' | 'looks'> & Pick<FeedCountPlan, 'countsSchema'>,
): FeedCountPlan {
  const place = { after, looks, seen: undefined, size: 0 };
  return { ...planFeed({ ...request, previous: false }, views, context, place), kind: 'feedCount', countsSchema };
}

/** Returns the entity with the fields that some grant for its history shows. */
function selectShown(entity: Entity): Entity {
  if (entity.access === undefined) return entity;
  const grants = getGrants(entity, 'history');
  const isShown = (name: string): boolean => grants.some(({ fields }) => fields.has(name));
  return { ...entity, fields: new Map([...entity.fields].filter(([name]) => isShown(name))) };
}

interface PagePlace {
  readonly after: number;
  readonly seen: Seen | undefined;
  readonly size: number;
  readonly looks: number;
}

/**
 * Returns a text that differs when two requests may have other events for the same principal. A filter is compared as it
 * is planned: written in a query string or in a body it is the same.
 */
export function describeFeed(
  { types, fields }: Pick<FeedRequest, 'types' | 'fields'>,
  views: readonly FeedView[],
  { entityIds }: Workspace,
): string {
  const ids = views.map(({ entity }) => entityIds.get(entity.name) ?? entity.name).sort();
  const kinds = types === undefined ? null : [...new Set(types)].sort();
  return JSON.stringify([kinds, fields ?? null, views.map(({ predicate }) => describePredicate(predicate)), ids]);
}

/**
 * Returns a text that differs when a field of a filter has another type: values of before are not known by it, so it is not
 * known which records were in the view. Empty without a filter.
 */
export function describeFilterTypes(views: readonly Pick<FeedView, 'entity' | 'predicate'>[]): string {
  const types = views.flatMap(({ predicate }) => (predicate === undefined ? [] : listFilterTypes(predicate)));
  return types.length === 0 ? '' : JSON.stringify(types);
}

function listFilterTypes(predicate: Predicate): readonly string[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.members.flatMap(listFilterTypes);
    case 'not':
      return listFilterTypes(predicate.member);
    case 'compare':
      return [`${predicate.field.name} ${predicate.field.type}`];
    case 'exists':
    case 'search':
      return [];
    default:
      return predicate satisfies never;
  }
}

function describePredicate(predicate: Predicate | undefined): unknown {
  if (predicate === undefined) return null;
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return [predicate.kind, predicate.members.map(describePredicate)];
    case 'not':
      return ['not', describePredicate(predicate.member)];
    case 'compare': {
      const values = predicate.operands.map((operand) => (operand.kind === 'value' ? operand.value : operand.kind));
      return [predicate.field.name, predicate.operator, values];
    }
    case 'exists':
    case 'search':
      throw new TypeError('a feed has conditions on own fields alone');
    default:
      return predicate satisfies never;
  }
}

/**
 * Returns a text that differs when what the principal sees of the entities may differ: its row rules and grants, with the
 * values of the claims that they name.
 */
export function describeView(entities: readonly Entity[], principal: Principal): string {
  if (principal.kind !== 'external') return '';
  // The order in which a request names entities does not matter.
  const sorted = entities.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify(
    sorted.map((entity) => [
      entity.rowRules
        .filter(({ enabled }) => enabled)
        .map(({ column, claim }) => [column, claim, readClaim(principal.claims, claim, ruleField(entity, column))]),
      entity.access === undefined || entity.grants === null ? null : describeGrants(entity, principal.claims),
    ]),
  );
}

function describeGrants(entity: Entity, claims: Readonly<Record<string, unknown>>): unknown {
  return entity.access?.grants.map((grant) => [
    [...grant.can],
    grant.where === null ? null : listValues(grant.where),
    [...grant.fields],
    grant.claims.map((use) => (use.isList ? readClaimList : readClaim)(claims, use.claim, use.field)),
  ]);
}

function listValues(where: GrantWhere): unknown {
  if (where.kind === 'compare')
    return [where.path, where.operator, where.values.map((value: GrantValue) => ({ ...value }))];
  return [where.kind, where.kind === 'not' ? listValues(where.member) : where.members.map(listValues)];
}
