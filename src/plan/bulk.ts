// Many checked records of one entity -> plan of the one statement that writes all of them or none. Its text depends on
// the columns, not on the number of records.
import type { Entity, Field } from '../model/entity.ts';
import type { Assignment } from './assignment.ts';
import { type ConflictKey, getChanges } from './conflict-key.ts';
import type { Link, PlanContext } from './link.ts';
import { listOperand, type Operand } from './operand.ts';
import { type Projection, projectRecord } from './projection.ts';
import { getReferences, passReferring, type Reference } from './references.ts';
import { applyRowRules, applyToEach, checkRowRules } from './row-rules.ts';
import { hidesRows, type Predicate, type Scan, scan, scanAll } from './scan.ts';

/** Columns that are bound as one list each, with an entry for each record. */
export interface ListColumns {
  /** Columns in the order of the entity. */
  readonly columns: readonly Field[];
  /** Whether some records give fewer columns than others; a list of bits then says which. */
  readonly isSparse: boolean;
}

export interface BulkCreatePlan extends ListColumns {
  readonly kind: 'bulkCreate';
  readonly scan: Scan;
  readonly projection: Projection;
  /** References that the writing statement checks. */
  readonly references: readonly Reference[];
}

export interface BulkUpsertPlan extends Omit<BulkCreatePlan, 'kind'> {
  readonly kind: 'bulkUpsert';
  readonly key: ConflictKey;
  /** Fields to change in existing records, or none to leave these as they are. */
  readonly changes: readonly Field[];
}

export interface BulkUpdatePlan extends ListColumns {
  readonly kind: 'bulkUpdate';
  readonly scan: Scan;
  readonly projection: Projection;
  /** References that the writing statement checks, except in records that stay as they are. */
  readonly references: readonly Reference[];
  /** Whether some records must have a given version. */
  readonly guarded: boolean;
  /** Whether the response contains the version of each record. */
  readonly versions: boolean;
}

export interface BulkDeletePlan {
  readonly kind: 'bulkDelete';
  readonly scan: Scan;
  readonly guarded: boolean;
}

/** Finds the records that the principal can see, and their versions. */
export interface FindPlan {
  readonly kind: 'find';
  readonly scan: Scan;
}

/** Locks records that the principal can see, and reads what they hold in some fields. */
export interface LockPlan {
  readonly kind: 'lock';
  readonly scan: Scan;
  readonly fields: readonly Field[];
  /** Values of other fields that some fields take. */
  readonly copies: readonly Copy[];
  /** Condition that must hold still, or undefined for none. */
  readonly predicate: Predicate | undefined;
  /** Kind of the write that follows. */
  readonly strength: 'update' | 'delete';
}

/** A field that takes the value of another one of its type: of the record, or across to-one relations. */
export interface Copy {
  readonly field: Field;
  readonly links: readonly Link[];
  readonly source: Field;
}

/** Finds the ids of the records that match, in their order, and counts them when there are more than `max`. */
export interface MatchPlan {
  readonly kind: 'match';
  readonly scan: Scan;
  readonly predicate: Predicate | undefined;
  readonly max: number;
}

/** Finds the ids of the records that match, in their order, `max` at most, as lists of `size` ids. */
export interface MatchBatchesPlan extends Omit<MatchPlan, 'kind'> {
  readonly kind: 'matchBatches';
  readonly size: number;
}

/** References of records that lead to no record that the principal can see. */
export interface BulkReferencesPlan extends ListColumns {
  readonly kind: 'dangling';
  readonly references: readonly Reference[];
  /** Records of an update, whose references may stay as they are; null for creates. */
  readonly record: Scan | null;
}

/** Values that the records of a write will have in the fields of a unique index, and those that they have. */
interface UniqueValuesPlan extends ListColumns {
  readonly fields: readonly Field[];
  /** Records that the write changes. */
  readonly scan: Scan;
  readonly scope: UniqueScope;
}

/** Records whose values another record will have after the write, in the table or in the request. */
export interface UniqueConflictsPlan extends UniqueValuesPlan {
  readonly kind: 'uniqueConflict';
  /** All records, hidden ones included. */
  readonly all: Scan;
}

/** Records that give up values which another record of the request takes over. */
export interface HeldValuesPlan extends UniqueValuesPlan {
  readonly kind: 'heldValue';
}

/** Records that a reference points to, from another entity or their own. */
export interface ReferredPlan {
  readonly kind: 'referred';
  readonly by: Reference;
  /** Entity of the records. */
  readonly entity: Entity;
}

/** Records that a write changes: none, those with the ids, or those with the values of a key. */
export type UniqueScope =
  | { readonly kind: 'create' }
  | { readonly kind: 'update' }
  | { readonly kind: 'upsert'; readonly key: ConflictKey };

export type BulkPlan =
  | BulkCreatePlan
  | BulkUpsertPlan
  | BulkUpdatePlan
  | BulkDeletePlan
  | FindPlan
  | LockPlan
  | MatchPlan
  | MatchBatchesPlan
  | BulkReferencesPlan
  | UniqueConflictsPlan
  | HeldValuesPlan
  | ReferredPlan;

/** Texts by the name of the list, with an entry for each record; see listOperand(). */
export type Lists = ReadonlyMap<string, readonly (string | null)[]>;

/** Names of the lists that are not columns; no field can have such a name. */
export const IDS = '$id';
export const VERSIONS = '$version';
export const PROVIDED = '$given';

/** Plans a bulk create of `items` from planAssignment. Throws 403 for a record of another user by the row rules. */
export function planBulkCreate(
  items: readonly Assignment[],
  entity: Entity,
  context: PlanContext,
  projection = projectRecord(entity),
): { readonly plan: BulkCreatePlan; readonly items: readonly Assignment[] } {
  const rows = applyToEach(items, (item) => applyRowRules(entity, context.principal, item));
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

/** Plans a bulk upsert of `items` that planUpsertAssignment checked; otherwise as planBulkCreate(). */
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

/** Options of a bulk update. */
export interface BulkUpdatePlanOptions extends Pick<BulkUpdatePlan, 'guarded'> {
  readonly versions?: boolean;
  readonly projection?: Projection;
}

/** Throws 403 for a record that the update would give to another user. */
export function planBulkUpdate(
  items: readonly Assignment[],
  entity: Entity,
  context: PlanContext,
  { guarded, versions = false, projection = projectRecord(entity) }: BulkUpdatePlanOptions,
): BulkUpdatePlan {
  applyToEach(items, (item) => checkRowRules(entity, context.principal, item));
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

export const planLock = (fields: readonly Field[], entity: Entity, context: PlanContext): LockPlan => ({
  kind: 'lock',
  scan: scan(entity, context.principal, 'read'),
  fields,
  copies: [],
  predicate: undefined,
  strength: 'update',
});

/** Returns the plan, or undefined if the items hold no reference. */
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
 * Plans the search for referring records. `by`: an entity and a belongsTo relation of it. Returns undefined if the
 * relation does not lead to this entity, or the principal has no access.
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

/** Plans the search for conflicts in `fields` of a unique index. */
export function planUniqueConflicts(
  items: readonly Assignment[],
  fields: readonly Field[],
  entity: Entity,
  context: PlanContext,
  scope: UniqueScope,
): UniqueConflictsPlan {
  const values = planUniqueValues(items, fields, entity, context, scope);
  return { kind: 'uniqueConflict', ...values, all: scanAll(entity) };
}

/** Plans the search for records of a write that have to give up values of `fields` first. */
export function planHeldValues(
  items: readonly Assignment[],
  fields: readonly Field[],
  entity: Entity,
  context: PlanContext,
  scope: UniqueScope,
): HeldValuesPlan {
  return { kind: 'heldValue', ...planUniqueValues(items, fields, entity, context, scope) };
}

const planUniqueValues = (
  items: readonly Assignment[],
  fields: readonly Field[],
  entity: Entity,
  context: PlanContext,
  scope: UniqueScope,
): UniqueValuesPlan => ({
  ...toListColumns(items, entity),
  fields,
  scan: scan(entity, context.principal, 'read'),
  scope,
});

/** Builds a list for each column, and a list of bits for the given columns where items differ in them. */
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

/** Returns the operands of a plan's columns, in the order of their aliases. */
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
    // Records without any column are counted by their empty bits.
    isSparse: names.size === 0 || items.some((item) => item.size < names.size),
  };
}

function getListReferences({ columns }: ListColumns, entity: Entity, context: PlanContext): Reference[] {
  return getReferences((field) => columns.includes(field), entity, context);
}

const filterHidden = (references: readonly Reference[]): Reference[] =>
  references.filter((reference) => hidesRows(reference.scan));
