// Many records of one entity, checked -> plan of the one statement that writes all of them or none. Its text depends on
// the columns that are given, not on how many records give them.
import type { Entity, Field } from '../model/entity.ts';
import type { Assignment } from './assignment.ts';
import { type ConflictKey, getChanges } from './conflict-key.ts';
import type { PlanContext } from './link.ts';
import { listOperand, type Operand } from './operand.ts';
import { type Projection, projectRecord } from './projection.ts';
import { getReferences, passReferring, type Reference } from './references.ts';
import { applyRowRules, checkRowRules } from './row-policy.ts';
import { hidesRows, type Scan, scan } from './scan.ts';

/** What is bound as one list a column: an entry for each record. */
export interface ListColumns {
  /** In the order of the entity. */
  readonly columns: readonly Field[];
  /** Some records give fewer columns than others: which, is told beside them. */
  readonly isSparse: boolean;
}

export interface BulkCreatePlan extends ListColumns {
  readonly kind: 'bulkCreate';
  readonly scan: Scan;
  readonly projection: Projection;
  /** Checked by the statement that writes. */
  readonly references: readonly Reference[];
}

export interface BulkUpsertPlan extends Omit<BulkCreatePlan, 'kind'> {
  readonly kind: 'bulkUpsert';
  readonly key: ConflictKey;
  /** What is changed in records that are there: nothing when they are left as they are. */
  readonly changes: readonly Field[];
}

export interface BulkUpdatePlan extends ListColumns {
  readonly kind: 'bulkUpdate';
  readonly scan: Scan;
  readonly projection: Projection;
  /** Checked by the statement that writes, but for those that stay as they are. */
  readonly references: readonly Reference[];
  /** Some records must have a version. */
  readonly guarded: boolean;
  /** The answer tells the version of each record. */
  readonly versions: boolean;
}

export interface BulkDeletePlan {
  readonly kind: 'bulkDelete';
  readonly scan: Scan;
  readonly guarded: boolean;
}

/** Which of some records the principal can see, and their versions. */
export interface FindPlan {
  readonly kind: 'find';
  readonly scan: Scan;
}

/** The references of records that lead to nothing that the principal can see. */
export interface BulkReferencesPlan extends ListColumns {
  readonly kind: 'dangling';
  readonly references: readonly Reference[];
  /** The records of an update, whose references may stay as they are; null for creates. */
  readonly record: Scan | null;
}

/** Records whose values of some unique fields another record has, in the table or in the request. */
export interface UniqueConflictsPlan extends ListColumns {
  readonly kind: 'taken';
  readonly fields: readonly Field[];
  readonly scan: Scan;
  readonly scope: UniqueConflictScope;
}

/** Records that others refer to: by the reference of another entity, or of their own. */
export interface ReferredPlan {
  readonly kind: 'referred';
  readonly by: Reference;
  /** That of the records. */
  readonly entity: Entity;
}

/** Whose values they may be: those of the record with the same id, or with the same key, are its own. */
export type UniqueConflictScope =
  | { readonly kind: 'create' }
  | { readonly kind: 'update' }
  | { readonly kind: 'upsert'; readonly key: readonly Field[] }
  /** Only records of the request are looked at. */
  | { readonly kind: 'request' };

export type BulkPlan =
  | BulkCreatePlan
  | BulkUpsertPlan
  | BulkUpdatePlan
  | BulkDeletePlan
  | FindPlan
  | BulkReferencesPlan
  | UniqueConflictsPlan
  | ReferredPlan;

/** Texts by the name of the list, an entry for each record; see listOperand(). */
export type Lists = ReadonlyMap<string, readonly (string | null)[]>;

/** Lists beside those of the columns, under names that no field can have. */
export const IDS = '$id';
export const VERSIONS = '$version';
export const PROVIDED = '$given';

/** `items` come from planAssignment, checked. Throws 403 for a record of somebody else. */
export function planBulkCreate(
  items: readonly Assignment[],
  entity: Entity,
  context: PlanContext,
  projection = projectRecord(entity),
): { readonly plan: BulkCreatePlan; readonly items: readonly Assignment[] } {
  const rows = items.map((item) => applyRowRules(entity, context.principal, item));
  const listed = toListColumns(rows, entity);
  const plan: BulkCreatePlan = {
    kind: 'bulkCreate',
    scan: scan(entity, context.principal, 'write'),
    projection,
    ...listed,
    references: filterHidden(getListReferences(listed, entity, context)),
  };
  return { plan, items: rows };
}

/** As planBulkCreate(); `items` come from planUpsertAssignment. */
export function planBulkUpsert(
  items: readonly Assignment[],
  key: ConflictKey,
  entity: Entity,
  context: PlanContext,
  projection = projectRecord(entity),
): { readonly plan: BulkUpsertPlan; readonly items: readonly Assignment[] } {
  const { plan, items: rows } = planBulkCreate(items, entity, context, projection);
  const names = new Set(items.flatMap((item) => [...item.keys()]));
  return { plan: { ...plan, kind: 'bulkUpsert', key, changes: getChanges(names, entity, key) }, items: rows };
}

/** How an update is asked for. */
export interface BulkUpdatePlanOptions extends Pick<BulkUpdatePlan, 'guarded'> {
  readonly versions?: boolean;
  readonly projection?: Projection;
}

/** Throws 403 for a record that is given away. */
export function planBulkUpdate(
  items: readonly Assignment[],
  entity: Entity,
  context: PlanContext,
  { guarded, versions = false, projection = projectRecord(entity) }: BulkUpdatePlanOptions,
): BulkUpdatePlan {
  for (const item of items) checkRowRules(entity, context.principal, item);
  const listed = toListColumns(items, entity);
  return {
    kind: 'bulkUpdate',
    scan: scan(entity, context.principal, 'write'),
    projection,
    ...listed,
    references: filterHidden(getListReferences(listed, entity, context)),
    guarded,
    versions,
  };
}

export function planBulkDelete(entity: Entity, context: PlanContext, guarded: boolean): BulkDeletePlan {
  passReferring(entity, context.workspace);
  return { kind: 'bulkDelete', scan: scan(entity, context.principal, 'write'), guarded };
}

export function planFind(entity: Entity, context: PlanContext): FindPlan {
  return { kind: 'find', scan: scan(entity, context.principal, 'read') };
}

/** undefined when the items hold no reference. */
export function planBulkReferences(
  items: readonly Assignment[],
  entity: Entity,
  context: PlanContext,
  isUpdate: boolean,
): BulkReferencesPlan | undefined {
  const listed = toListColumns(items, entity);
  const references = getListReferences(listed, entity, context);
  const record = isUpdate ? scan(entity, context.principal, 'read') : null;
  return references.length === 0 ? undefined : { kind: 'dangling', ...listed, references, record };
}

/**
 * `by`: an entity, and a belongsTo relation of it. undefined when that does not lead to this entity, or the principal does not
 * reach it.
 */
export function planReferred(
  by: { readonly entity: string; readonly relation: string },
  entity: Entity,
  { workspace, principal }: PlanContext,
): ReferredPlan | undefined {
  const other = workspace.entities.get(by.entity);
  const relation = other?.relations.get(by.relation);
  if (other === undefined || relation?.kind !== 'belongsTo' || relation.entity !== entity.name) return undefined;
  const field = other.fields.get(relation.column);
  return field && { kind: 'referred', by: { field, scan: scan(other, principal, 'read') }, entity };
}

/** `fields`: those of a constraint; of a create all of them among what the items give, of an update some. */
export function planUniqueConflicts(
  items: readonly Assignment[],
  fields: readonly Field[],
  entity: Entity,
  context: PlanContext,
  scope: UniqueConflictScope,
): UniqueConflictsPlan {
  return {
    kind: 'taken',
    ...toListColumns(items, entity),
    fields,
    scan: scan(entity, context.principal, 'read'),
    scope,
  };
}

/** The items as lists: one of each column, and where items differ in what they give one of bits that say which. */
export function buildLists(
  items: readonly Assignment[],
  { columns, isSparse }: ListColumns,
): Map<string, readonly (string | null)[]> {
  const lists = new Map<string, readonly (string | null)[]>();
  for (const { name } of columns)
    lists.set(
      name,
      items.map((item) => item.get(name) ?? null),
    );
  if (isSparse)
    lists.set(
      PROVIDED,
      items.map((item) => columns.map(({ name }) => (item.has(name) ? '1' : '0')).join('')),
    );
  return lists;
}

/** What is bound for a plan's columns, in the order of their aliases. */
export function listOperands({ columns, isSparse }: ListColumns): readonly Operand[] {
  return [...columns.map(listOperand), ...(isSparse ? [PROVIDED_LIST] : [])];
}

export const ID_LIST: Operand = { kind: 'list', name: IDS, type: 'int8[]' };
export const VERSION_LIST: Operand = { kind: 'list', name: VERSIONS, type: 'text[]' };
const PROVIDED_LIST: Operand = { kind: 'list', name: PROVIDED, type: 'text[]' };

function toListColumns(items: readonly Assignment[], entity: Entity): ListColumns {
  const names = new Set<string>();
  for (const item of items) for (const name of item.keys()) names.add(name);
  return {
    columns: [...entity.fields.values()].filter(({ name }) => names.has(name)),
    // Records that give nothing are counted by their empty bits.
    isSparse: names.size === 0 || items.some((item) => item.size < names.size),
  };
}

function getListReferences({ columns }: ListColumns, entity: Entity, context: PlanContext): Reference[] {
  return getReferences((field) => columns.includes(field), entity, context);
}

const filterHidden = (references: readonly Reference[]): Reference[] =>
  references.filter((reference) => hidesRows(reference.scan));
