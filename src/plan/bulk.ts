// Many records of one entity, checked -> plan of the one statement that writes all of them or none. Its text depends on
// the columns that are given, not on how many records give them.
import type { Entity, Field } from '../model/entity.ts';
import type { Assignment } from './assignment.ts';
import { type ConflictKey, changesOf } from './conflict-key.ts';
import type { Viewpoint } from './link.ts';
import { listOperand, type Operand } from './operand.ts';
import { type Projection, wholeRecord } from './projection.ts';
import { passReferring, type Reference, referencesOf } from './references.ts';
import { keepRow, stampRow } from './row-policy.ts';
import { hidesRows, type Scan, scan } from './scan.ts';

/** What is bound as one list a column: an entry for each record. */
export interface Listed {
  /** In the order of the entity. */
  readonly columns: readonly Field[];
  /** Some records give fewer columns than others: which, is told beside them. */
  readonly isSparse: boolean;
}

export interface BulkCreatePlan extends Listed {
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

export interface BulkUpdatePlan extends Listed {
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
export interface DanglingPlan extends Listed {
  readonly kind: 'dangling';
  readonly references: readonly Reference[];
  /** The records of an update, whose references may stay as they are; null for creates. */
  readonly record: Scan | null;
}

/** Records whose values of some unique fields another record has, in the table or in the request. */
export interface TakenPlan extends Listed {
  readonly kind: 'taken';
  readonly fields: readonly Field[];
  readonly scan: Scan;
  readonly whose: TakenBy;
}

/** Records that others refer to: by the reference of another entity, or of their own. */
export interface ReferredPlan {
  readonly kind: 'referred';
  readonly by: Reference;
  /** That of the records. */
  readonly entity: Entity;
}

/** Whose values they may be: those of the record with the same id, or with the same key, are its own. */
export type TakenBy =
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
  | DanglingPlan
  | TakenPlan
  | ReferredPlan;

/** Texts by the name of the list, an entry for each record; see listOperand(). */
export type Lists = ReadonlyMap<string, readonly (string | null)[]>;

/** Lists beside those of the columns, under names that no field can have. */
export const IDS = '$id';
export const VERSIONS = '$version';
export const GIVEN = '$given';

/** `items` come from planAssignment, checked. Throws 403 for a record of somebody else. */
export function planBulkCreate(
  items: readonly Assignment[],
  entity: Entity,
  viewpoint: Viewpoint,
  projection = wholeRecord(entity),
): { readonly plan: BulkCreatePlan; readonly items: readonly Assignment[] } {
  const stamped = items.map((item) => stampRow(entity, viewpoint.principal, item));
  const listed = listedOf(stamped, entity);
  const plan: BulkCreatePlan = {
    kind: 'bulkCreate',
    scan: scan(entity, viewpoint.principal, 'write'),
    projection,
    ...listed,
    references: hidden(referencesIn(listed, entity, viewpoint)),
  };
  return { plan, items: stamped };
}

/** As planBulkCreate(); `items` come from planUpsertAssignment. */
export function planBulkUpsert(
  items: readonly Assignment[],
  key: ConflictKey,
  entity: Entity,
  viewpoint: Viewpoint,
  projection = wholeRecord(entity),
): { readonly plan: BulkUpsertPlan; readonly items: readonly Assignment[] } {
  const { plan, items: stamped } = planBulkCreate(items, entity, viewpoint, projection);
  const given = new Set(items.flatMap((item) => [...item.keys()]));
  return { plan: { ...plan, kind: 'bulkUpsert', key, changes: changesOf(given, entity, key) }, items: stamped };
}

/** How an update is asked for. */
export interface BulkUpdateWish extends Pick<BulkUpdatePlan, 'guarded'> {
  readonly versions?: boolean;
  readonly projection?: Projection;
}

/** Throws 403 for a record that is given away. */
export function planBulkUpdate(
  items: readonly Assignment[],
  entity: Entity,
  viewpoint: Viewpoint,
  { guarded, versions = false, projection = wholeRecord(entity) }: BulkUpdateWish,
): BulkUpdatePlan {
  for (const item of items) keepRow(entity, viewpoint.principal, item);
  const listed = listedOf(items, entity);
  return {
    kind: 'bulkUpdate',
    scan: scan(entity, viewpoint.principal, 'write'),
    projection,
    ...listed,
    references: hidden(referencesIn(listed, entity, viewpoint)),
    guarded,
    versions,
  };
}

export function planBulkDelete(entity: Entity, viewpoint: Viewpoint, guarded: boolean): BulkDeletePlan {
  passReferring(entity, viewpoint.workspace);
  return { kind: 'bulkDelete', scan: scan(entity, viewpoint.principal, 'write'), guarded };
}

export function planFind(entity: Entity, viewpoint: Viewpoint): FindPlan {
  return { kind: 'find', scan: scan(entity, viewpoint.principal, 'read') };
}

/** undefined when the items hold no reference. */
export function planDangling(
  items: readonly Assignment[],
  entity: Entity,
  viewpoint: Viewpoint,
  isUpdate: boolean,
): DanglingPlan | undefined {
  const listed = listedOf(items, entity);
  const references = referencesIn(listed, entity, viewpoint);
  const record = isUpdate ? scan(entity, viewpoint.principal, 'read') : null;
  return references.length === 0 ? undefined : { kind: 'dangling', ...listed, references, record };
}

/**
 * `by`: an entity, and a belongsTo relation of it. undefined when that does not lead to this entity, or the principal does not
 * reach it.
 */
export function planReferred(
  by: { readonly entity: string; readonly relation: string },
  entity: Entity,
  { workspace, principal }: Viewpoint,
): ReferredPlan | undefined {
  const other = workspace.entities.get(by.entity);
  const relation = other?.relations.get(by.relation);
  if (other === undefined || relation?.kind !== 'belongsTo' || relation.entity !== entity.name) return undefined;
  const field = other.fields.get(relation.column);
  return field && { kind: 'referred', by: { field, scan: scan(other, principal, 'read') }, entity };
}

/** `fields`: those of a constraint; of a create all of them among what the items give, of an update some. */
export function planTaken(
  items: readonly Assignment[],
  fields: readonly Field[],
  entity: Entity,
  viewpoint: Viewpoint,
  whose: TakenBy,
): TakenPlan {
  return {
    kind: 'taken',
    ...listedOf(items, entity),
    fields,
    scan: scan(entity, viewpoint.principal, 'read'),
    whose,
  };
}

/** The items as lists: one of each column, and where items differ in what they give one of bits that say which. */
export function listsOf(
  items: readonly Assignment[],
  { columns, isSparse }: Listed,
): Map<string, readonly (string | null)[]> {
  const lists = new Map<string, readonly (string | null)[]>();
  for (const { name } of columns)
    lists.set(
      name,
      items.map((item) => item.get(name) ?? null),
    );
  if (isSparse)
    lists.set(
      GIVEN,
      items.map((item) => columns.map(({ name }) => (item.has(name) ? '1' : '0')).join('')),
    );
  return lists;
}

/** What is bound for a plan's columns, in the order of their aliases. */
export function listOperands({ columns, isSparse }: Listed): readonly Operand[] {
  return [...columns.map(listOperand), ...(isSparse ? [GIVEN_LIST] : [])];
}

export const ID_LIST: Operand = { kind: 'list', name: IDS, type: 'int8[]' };
export const VERSION_LIST: Operand = { kind: 'list', name: VERSIONS, type: 'text[]' };
const GIVEN_LIST: Operand = { kind: 'list', name: GIVEN, type: 'text[]' };

function listedOf(items: readonly Assignment[], entity: Entity): Listed {
  const given = new Set<string>();
  for (const item of items) for (const name of item.keys()) given.add(name);
  return {
    columns: [...entity.fields.values()].filter(({ name }) => given.has(name)),
    // Records that give nothing are counted by their empty bits.
    isSparse: given.size === 0 || items.some((item) => item.size < given.size),
  };
}

function referencesIn({ columns }: Listed, entity: Entity, viewpoint: Viewpoint): Reference[] {
  return referencesOf((field) => columns.includes(field), entity, viewpoint);
}

const hidden = (references: readonly Reference[]): Reference[] =>
  references.filter((reference) => hidesRows(reference.scan));
