// The difference between the document in force and the document asked for. Takes both, gives the operations that lead
// from one to the other in a safe order, or the changes that cannot be made (yet), each with its path.
import type { Detail } from '../errors.ts';
import { formatDecimal, parseDecimal } from '../model/decimal.ts';
import type { Field } from '../model/entity.ts';
import type { BelongsTo } from '../model/relation.ts';
import { entitiesOf } from '../model/schema-entities.ts';
import type { EntityDocument, SchemaDocument } from '../model/schema-format.ts';
import { member, type Renames } from '../model/schema-renames.ts';
import { type Table, tableOf } from '../model/schema-tables.ts';
import type { Operation } from './operation.ts';
import { createEntity, dropEntity } from './operations/entity.ts';
import { addField, addRelation, changeDefault, dropField, dropRelation, type Place } from './operations/field.ts';
import { addIndex, removeIndex } from './operations/indexing.ts';
import { changeMetadata, dropVirtualRelation } from './operations/metadata.ts';

export interface ChangeRequest {
  readonly inForce: SchemaDocument;
  readonly asked: SchemaDocument;
  readonly renames: Renames;
  readonly databaseSchema: string;
  /** Entities in force without records. */
  readonly empty: ReadonlySet<string>;
}

export type Change =
  | { readonly ok: true; readonly operations: readonly Operation[] }
  | { readonly ok: false; readonly details: readonly Detail[] };

export function changeOf({ inForce, asked, renames, databaseSchema, empty }: ChangeRequest): Change {
  const before = sidesOf(inForce, databaseSchema);
  const after = sidesOf(asked, databaseSchema);
  const isNew = (entity: string): boolean => !before.has(entity);
  const refusals: Detail[] = [];
  const operations: Operation[] = [];
  const kept = new Set(renames.entities.values());
  for (const [name, side] of after) {
    const old = before.get(name);
    if (old !== undefined) {
      const place = { table: side.table, isEmpty: empty.has(name) };
      compareEntities({ place, old, side, isNew, renames, operations, refusals });
    } else if (renames.entities.has(name)) {
      refusals.push(unsupported(`entities.${name}.renamedFrom`, 'renaming an entity'));
    } else operations.push(createEntity(side.table, isNew));
  }
  for (const [name, side] of before) {
    if (!after.has(name) && !kept.has(name)) operations.push(dropEntity(side.table));
  }
  return refusals.length > 0 ? { ok: false, details: refusals } : { ok: true, operations };
}

interface Side {
  readonly document: EntityDocument;
  readonly table: Table;
  readonly relations: ReadonlyMap<string, BelongsTo>;
}

function sidesOf(document: SchemaDocument, databaseSchema: string): ReadonlyMap<string, Side> {
  const sides = new Map<string, Side>();
  for (const entity of entitiesOf(document, databaseSchema).values()) {
    const own = member(document.entities, entity.name) ?? {};
    const relations = new Map<string, BelongsTo>();
    for (const relation of entity.relations.values()) {
      if (relation.kind === 'belongsTo') relations.set(relation.name, relation);
    }
    sides.set(entity.name, { document: own, table: tableOf(entity, own), relations });
  }
  return sides;
}

interface Comparison {
  readonly place: Place;
  readonly old: Side;
  readonly side: Side;
  readonly isNew: (entity: string) => boolean;
  readonly renames: Renames;
  readonly operations: Operation[];
  readonly refusals: Detail[];
}

function compareEntities(comparison: Comparison): void {
  compareColumns(comparison);
  compareIndexes(comparison);
  compareMetadata(comparison);
}

function compareColumns({ place, old, side, isNew, renames, operations, refusals }: Comparison): void {
  const entity = side.table.name;
  const renamedFields = renames.fields.get(entity);
  const renamedRelations = renames.relations.get(entity);
  const kept = new Set([...(renamedFields?.values() ?? []), ...(renamedRelations?.values() ?? [])]);
  for (const [name, field] of side.table.columns) {
    const was = old.table.columns.get(name);
    const relation = field.relation;
    if (was !== undefined) compareFields(entity, was, field, old, side, operations, refusals);
    else if (relation === undefined && renamedFields?.has(name)) {
      refusals.push(unsupported(`entities.${entity}.fields.${name}.renamedFrom`, 'renaming a field'));
    } else if (relation === undefined) operations.push(addField(place, field));
    else if (renamedRelations?.has(relation)) {
      refusals.push(unsupported(`entities.${entity}.relations.${relation}.renamedFrom`, 'renaming a relation'));
    } else if (old.relations.has(relation)) {
      refusals.push(unsupported(`entities.${entity}.relations.${relation}.column`, 'changing the field of a relation'));
      kept.add(relation);
    } else {
      const reference = referenceOf(side.table, name);
      operations.push(addRelation(place, field, reference, isNew(reference.relation.entity)));
    }
  }
  for (const [name, field] of old.table.columns) {
    if (side.table.columns.has(name) || kept.has(field.relation ?? name)) continue;
    if (field.relation === undefined) operations.push(dropField(old.table, field));
    else operations.push(dropRelation(old.table, field, referenceOf(old.table, name)));
  }
}

const ATTRIBUTES = ['type', 'required', 'maxLength', 'precision', 'scale', 'min', 'max', 'values'] as const;

function compareFields(
  entity: string,
  was: Field,
  field: Field,
  old: Side,
  side: Side,
  operations: Operation[],
  refusals: Detail[],
): void {
  if (was.role !== field.role || was.relation !== field.relation) {
    refusals.push(unsupported(pathOf(entity, field), `making ${wordsFor(field)} of ${wordsFor(was)}`));
    return;
  }
  if (field.role === 'reference') {
    const path = pathOf(entity, field);
    const [from, to] = [referenceOf(old.table, field.name).relation, referenceOf(side.table, field.name).relation];
    for (const attribute of ['entity', 'required', 'onDelete'] as const) {
      if (from[attribute] === to[attribute]) continue;
      refusals.push(unsupported(`${path}.${attribute}`, `changing ${attribute} of a relation`));
    }
    return;
  }
  const changed = ATTRIBUTES.filter((name) => meaningOf(was[name]) !== meaningOf(field[name]));
  for (const attribute of changed) {
    refusals.push(unsupported(`${pathOf(entity, field)}.${attribute}`, `changing ${attribute} of a field`));
  }
  if (changed.length === 0 && JSON.stringify(was.default) !== JSON.stringify(field.default)) {
    operations.push(changeDefault(side.table, field));
  }
}

/** Numbers by their value: 0 and "0.00" are the same bound. */
function meaningOf(value: Field[(typeof ATTRIBUTES)[number]]): string | undefined {
  const number = typeof value === 'string' ? parseDecimal(value) : undefined;
  return number === undefined ? JSON.stringify(value) : formatDecimal(number);
}

function pathOf(entity: string, field: Field): string {
  if (field.role === 'reference') return `entities.${entity}.relations.${field.relation}`;
  return field.role === 'data' ? `entities.${entity}.fields.${field.name}` : `entities.${entity}.timestamps`;
}

function wordsFor(field: Field): string {
  if (field.role === 'reference') return `relation ${field.relation}`;
  return field.role === 'data' ? `field ${field.name}` : `the time stamp ${field.name}`;
}

function referenceOf(table: Table, column: string): Table['references'][number] {
  const reference = table.references.find((one) => one.column === column);
  if (reference === undefined) throw new TypeError(`table ${table.name} lacks a reference in ${column}`);
  return reference;
}

function compareIndexes({ place, old, side, operations }: Comparison): void {
  for (const [name, index] of side.table.indexes) {
    if (old.table.indexes.has(name)) continue;
    const columnsExist = index.columns.every((column) => old.table.columns.has(column));
    operations.push(addIndex(place, index, columnsExist));
  }
  for (const [name, index] of old.table.indexes) {
    // An index goes with its columns by itself.
    if (side.table.indexes.has(name) || !index.columns.every((column) => side.table.columns.has(column))) continue;
    operations.push(removeIndex(old.table, index));
  }
}

function compareMetadata({ old, side, renames, operations, refusals }: Comparison): void {
  const entity = side.table.name;
  const renamed = renames.relations.get(entity) ?? new Map<string, string>();
  const kept = new Set(renamed.values());
  const path = `entities.${entity}`;
  const [from, to] = [old.document, side.document];
  for (const [name, relation] of Object.entries(to.relations ?? {})) {
    if (relation.kind === 'belongsTo') continue;
    const was = member(from.relations, name);
    const place = `${path}.relations.${name}`;
    if (renamed.has(name)) refusals.push(unsupported(`${place}.renamedFrom`, 'renaming a relation'));
    else if (was === undefined || was.kind === 'belongsTo') {
      operations.push(changeMetadata('addRelation', entity, place, `add relation ${name} to ${entity}`));
    } else if (differs(withoutDescription(was), withoutDescription(relation))) {
      operations.push(changeMetadata('changeRelation', entity, place, `change relation ${name} of ${entity}`));
    }
  }
  for (const [name, relation] of Object.entries(from.relations ?? {})) {
    if (relation.kind === 'belongsTo' || member(to.relations, name) !== undefined || kept.has(name)) continue;
    operations.push(dropVirtualRelation(entity, name));
  }
  if (differs(descriptionsOf(from), descriptionsOf(to))) {
    operations.push(changeMetadata('changeDescription', entity, path, `change descriptions of ${entity}`));
  }
  if (differs(from.settings, to.settings)) {
    operations.push(changeMetadata('changeSettings', entity, `${path}.settings`, `change the settings of ${entity}`));
  }
  if (differs(from.rowRules, to.rowRules)) {
    operations.push(changeMetadata('changeRowRules', entity, `${path}.rowRules`, `change the row rules of ${entity}`));
  }
}

/** Is the JSON different, whatever the order of members? */
function differs(left: unknown, right: unknown): boolean {
  return canonical(left) !== canonical(right);
}

function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member) && !Object.isFrozen(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

function withoutDescription<T extends { readonly description?: unknown }>({
  description: _,
  ...rest
}: T): Omit<T, 'description'> {
  return rest;
}

function descriptionsOf(entity: EntityDocument): unknown {
  const descriptions = (all: Readonly<Record<string, { readonly description?: string }>> | undefined) =>
    Object.entries(all ?? {}).flatMap(([name, { description }]) => (description ? [[name, description]] : []));
  return [entity.description ?? '', descriptions(entity.fields).sort(), descriptions(entity.relations).sort()];
}

function unsupported(field: string, what: string): Detail {
  return { field, code: 'UNSUPPORTED_CHANGE', message: `${what} is not supported yet` };
}
