// The difference between the document in force and the document asked for. Takes both, gives the operations that lead
// from one to the other in a safe order, or the changes that cannot be made, each with its path.

import { entitiesOf } from '../document/entities.ts';
import type { EntityDocument, SchemaDocument } from '../document/format.ts';
import { member, type Renames } from '../document/renames.ts';
import { type Check, constraintNames, hasWords, type Reference, type Table, tableOf } from '../document/tables.ts';
import type { Detail } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { isSameCheck, isSameReference, meaningOf, withOwnNames } from './constraint-names.ts';
import { type Extensions, leaveWords } from './ddl.ts';
import { nameChange, type Origins } from './names.ts';
import { type Operation, together } from './operation.ts';
import {
  changeCheck,
  changeReference,
  dropCheck,
  liftRequired,
  loosenReference,
  requireField,
} from './operations/constraint.ts';
import { createEntity, dropEntity } from './operations/entity.ts';
import {
  addField,
  addRelation,
  type ChangedTable,
  changeDefault,
  dropField,
  dropRelation,
  pathOfField,
} from './operations/field.ts';
import { addIndex, removeIndex } from './operations/indexing.ts';
import { changeMetadata, dropVirtualRelation } from './operations/metadata.ts';
import { changeType } from './operations/type.ts';

export interface ChangeRequest {
  readonly inForce: SchemaDocument;
  readonly names: PhysicalNames;
  readonly asked: SchemaDocument;
  readonly renames: Renames;
  readonly databaseSchema: string;
  /** Entities in force without records. */
  readonly empty: ReadonlySet<string>;
  readonly strategy: 'online' | 'blocking';
  /** Names of tables and columns, `orders` or `orders.total`, that nothing else may be given yet. */
  readonly held: ReadonlySet<string>;
  /** For names of new columns: a number that no change of the workspace has had before. */
  readonly change: string;
  readonly extensions: Extensions;
}

export type Change =
  | { readonly ok: true; readonly operations: readonly Operation[]; readonly names: PhysicalNames }
  | { readonly ok: false; readonly details: readonly Detail[] };

export function changeOf(request: ChangeRequest): Change {
  const { inForce, asked, renames, databaseSchema, empty, strategy, extensions } = request;
  const entities = entitiesOf(inForce, databaseSchema, request.names);
  const named = nameChange(entities, asked, renames, request.held, request.change);
  const { origins } = named;
  const before = sidesOf(inForce, entities, request.names);
  const derived = sidesOf(asked, entitiesOf(asked, databaseSchema, named.names), named.names);
  const after = withConstraints(derived, before, origins, request.change);
  const names = { ...named.names, ...constraintNames(tablesOf(after), tablesOf(derived)) };
  const isNew = (entity: string): boolean => !origins.entities.has(entity);
  const refusals: Detail[] = [];
  const operations: Operation[] = [];
  const kept = new Set<string>();
  for (const [name, side] of after) {
    const origin = origins.entities.get(name);
    const old = origin === undefined ? undefined : before.get(origin.name);
    if (old === undefined) {
      operations.push(createEntity(side.table, isNew, extensions));
      continue;
    }
    kept.add(old.table.entity);
    const isEmpty = empty.has(old.table.entity);
    const changed = { table: side.table, isEmpty, atOnce: isEmpty || strategy === 'blocking', extensions };
    const fields = origins.fields.get(name) ?? new Map<string, Field>();
    compareEntities({ changed, old, side, fields, isNew, renames, operations, refusals });
  }
  for (const [name, side] of before) if (!kept.has(name)) operations.push(dropEntity(side.table));
  const last = operations.at(-1);
  if (last !== undefined && isSearched(before) && !isSearched(after)) {
    // Nothing has the function any more, whichever operation was the end of its last index.
    const statements = [...last.statements, together('attach', leaveWords(databaseSchema))];
    operations[operations.length - 1] = { ...last, statements };
  }
  return refusals.length > 0 ? { ok: false, details: refusals } : { ok: true, operations, names };
}

interface Side {
  readonly document: EntityDocument;
  readonly table: Table;
}

const isSearched = (sides: ReadonlyMap<string, Side>): boolean =>
  [...sides.values()].some(({ table }) => hasWords(table));

/** With the names of checks and foreign keys. */
function withConstraints(
  derived: ReadonlyMap<string, Side>,
  before: ReadonlyMap<string, Side>,
  origins: Origins,
  change: string,
): ReadonlyMap<string, Side> {
  const sides = [...derived].map(([name, side]) => {
    const old = before.get(origins.entities.get(name)?.name ?? '')?.table;
    if (old === undefined) return [name, side] as const;
    const fields = origins.fields.get(name) ?? new Map();
    return [name, { ...side, table: withOwnNames(side.table, { old, fields, change }) }] as const;
  });
  return new Map(sides);
}

const tablesOf = (sides: ReadonlyMap<string, Side>): ReadonlyMap<string, Table> =>
  new Map([...sides].map(([name, { table }]) => [name, table]));

function sidesOf(
  document: SchemaDocument,
  entities: ReadonlyMap<string, Entity>,
  names: PhysicalNames,
): ReadonlyMap<string, Side> {
  const sides = new Map<string, Side>();
  for (const entity of entities.values()) {
    const own = member(document.entities, entity.name) ?? {};
    sides.set(entity.name, { document: own, table: tableOf(entity, own, entities, names) });
  }
  return sides;
}

interface Comparison {
  readonly changed: ChangedTable;
  readonly old: Side;
  readonly side: Side;
  /** What each field was before, by its name now. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly isNew: (entity: string) => boolean;
  readonly renames: Renames;
  readonly operations: Operation[];
  readonly refusals: Detail[];
}

function compareEntities(comparison: Comparison): void {
  const { old, side, operations } = comparison;
  if (old.table.entity !== side.table.entity) {
    const { entity } = side.table;
    operations.push(
      changeMetadata('renameEntity', entity, `entities.${entity}`, `rename entity ${old.table.entity} to ${entity}`),
    );
  }
  compareColumns(comparison);
  compareIndexes(comparison);
  compareMetadata(comparison);
}

function compareColumns(comparison: Comparison): void {
  const { changed, old, side, fields, isNew, operations } = comparison;
  for (const [name, field] of side.table.columns) {
    const was = fields.get(name);
    const reference = referenceOf(side.table, field);
    if (was !== undefined) compareFields(comparison, was, field);
    else if (reference === undefined) operations.push(addField(changed, field));
    else operations.push(addRelation(changed, field, reference, isNew(reference.relation.entity)));
  }
  const kept = new Set(fields.values());
  for (const field of old.table.columns.values()) {
    if (kept.has(field)) continue;
    // A dropped field has the names of table and column that are in force.
    const table = { ...old.table, entity: side.table.entity };
    const reference = referenceOf(old.table, field);
    operations.push(reference === undefined ? dropField(table, field) : dropRelation(table, field, reference));
  }
}

function compareFields(comparison: Comparison, was: Field, now: Field): void {
  const { changed, old, side, isNew, operations, refusals } = comparison;
  if (was.role === 'id') return;
  compareNames(comparison, was, now);
  const [from, to] = [referenceOf(old.table, was), referenceOf(side.table, now)];
  const targetIsNew = to !== undefined && isNew(to.relation.entity);
  if (was.column !== now.column) {
    const change = changeType({ changed, old: old.table, was, now, reference: to, targetIsNew });
    if (change === undefined) refusals.push(impossible(side.table, was, now));
    else operations.push(change);
    return;
  }
  if (was.type !== now.type || was.precision !== now.precision || was.scale !== now.scale) {
    const change = changeType({ changed, old: old.table, was, now, reference: to, targetIsNew });
    if (change !== undefined) operations.push(change);
  }
  const demands: Operation[] = [];
  if (was.required !== now.required) demands.push((now.required ? requireField : liftRequired)(changed, now));
  compareChecks(changed, checksOf(old.table, was), checksOf(side.table, now), now, demands);
  if (defaultOf(was) !== defaultOf(now)) {
    operations.push(changeDefault(changed, now, was, now.default !== undefined && demands.some(({ ahead }) => ahead)));
  }
  operations.push(...demands);
  if (to !== undefined && (from === undefined || !isSameReference(from, to))) {
    operations.push(changeReference(changed, to, from, targetIsNew));
  } else if (to === undefined && from !== undefined) operations.push(loosenReference(changed, now, from));
}

function compareNames({ side, operations }: Comparison, was: Field, now: Field): void {
  const { entity } = side.table;
  const path = pathOfField(side.table, now);
  if (was.relation !== undefined && now.relation !== undefined && was.relation !== now.relation) {
    const words = `rename relation ${was.relation} of ${entity} to ${now.relation}`;
    operations.push(changeMetadata('renameRelation', entity, path, words));
  }
  if (was.name !== now.name) {
    operations.push(
      changeMetadata('renameField', entity, path, `rename field ${was.name} of ${entity} to ${now.name}`),
    );
  }
}

function compareChecks(
  changed: ChangedTable,
  old: readonly Check[],
  asked: readonly Check[],
  field: Field,
  operations: Operation[],
): void {
  for (const check of asked) {
    const was = old.find(({ kind }) => kind === check.kind);
    if (was === undefined || !isSameCheck(was, check)) operations.push(changeCheck(changed, check, was));
  }
  for (const check of old) {
    if (!asked.some(({ kind }) => kind === check.kind)) operations.push(dropCheck(changed, check, field));
  }
}

/** Numbers are compared by their value, texts as they are: "1" and "1.0" are different texts. */
function defaultOf({ type, default: value }: Field): string | undefined {
  const isNumber = fieldType(type).attributes.includes('min');
  return isNumber ? meaningOf(value) : JSON.stringify(value);
}

const checksOf = (table: Table, field: Field): readonly Check[] =>
  table.checks.filter((check) => check.field === field);

const referenceOf = (table: Table, field: Field): Reference | undefined =>
  table.references.find((reference) => reference.field === field);

function impossible(table: Table, was: Field, now: Field): Detail {
  return {
    field: `${pathOfField(table, now)}.type`,
    code: 'UNSUPPORTED_CHANGE',
    message: `no value of type ${was.type} is one of type ${now.type}: add a new field, or change the type while ${table.entity} has no records`,
  };
}

function compareIndexes({ changed, old, side, fields, operations }: Comparison): void {
  for (const [name, index] of side.table.indexes) {
    if (old.table.indexes.has(name)) continue;
    const columnsExist = index.fields.every((field) => fields.get(field.name)?.column === field.column);
    operations.push(addIndex(changed, index, columnsExist));
  }
  const columns = new Set([...side.table.columns.values()].map((field) => field.column));
  for (const [name, index] of old.table.indexes) {
    // PostgreSQL drops an index together with its columns.
    if (side.table.indexes.has(name) || !index.fields.every((field) => columns.has(field.column))) continue;
    operations.push(removeIndex({ ...old.table, entity: side.table.entity }, index));
  }
}

function compareMetadata({ old, side, renames, operations }: Comparison): void {
  const { entity } = side.table;
  const renamed = renames.relations.get(entity) ?? new Map<string, string>();
  const kept = new Set(renamed.values());
  const path = `entities.${entity}`;
  const [from, to] = [old.document, side.document];
  for (const [name, relation] of Object.entries(to.relations ?? {})) {
    if (relation.kind === 'belongsTo') continue;
    const before = renamed.get(name);
    const was = member(from.relations, before ?? name);
    const at = `${path}.relations.${name}`;
    if (was === undefined || was.kind === 'belongsTo') {
      operations.push(changeMetadata('addRelation', entity, at, `add relation ${name} to ${entity}`));
      continue;
    }
    if (before !== undefined) {
      const words = `rename relation ${before} of ${entity} to ${name}`;
      operations.push(changeMetadata('renameRelation', entity, at, words));
    }
    if (differs(withoutDescription(was), withoutDescription(relation))) {
      operations.push(changeMetadata('changeRelation', entity, at, `change relation ${name} of ${entity}`));
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

/** Whether the JSON differs, whatever the order of its members. */
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
