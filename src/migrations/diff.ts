// Compares the document in force with the requested document. Returns the operations that lead from one to the other in
// a safe order, or the changes that cannot be made, each with its path.

import type { Detail } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import { describeGrant } from '../model/grant-words.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import type { EntityDocument, SchemaDocument } from '../schema/format.ts';
import { buildGrants } from '../schema/grants.ts';
import { member, type Renames } from '../schema/renames.ts';
import { buildTable, type Check, constraintNames, hasTextIndex, type Reference, type Table } from '../schema/tables.ts';
import type { KeptChanges } from '../workspace-schema/record-changes.ts';
import { dropUnusedSearchFunction, type Extensions } from './ddl.ts';
import {
  assignConstraintNames,
  assignNames,
  isSameCheck,
  isSameReference,
  type Origins,
  toCanonicalValue,
} from './names.ts';
import { buildOperation, inSharedTransaction, type Operation, type OperationKind } from './operation.ts';
import {
  changeCheck,
  changeReference,
  dropCheck,
  liftRequired,
  loosenReference,
  requireField,
} from './operations/constraint.ts';
import { createEntity, dropEntity } from './operations/entity.ts';
import { addField, addRelation, type ChangedTable, changeDefault, dropField, pathOfField } from './operations/field.ts';
import { addIndex, removeIndex } from './operations/indexing.ts';
import { startChanges, stopChanges, toKeptChanges } from './operations/record-changes.ts';
import { changeType } from './operations/type.ts';

export interface ChangeRequest {
  readonly inForce: SchemaDocument;
  readonly names: PhysicalNames;
  readonly requested: SchemaDocument;
  readonly renames: Renames;
  readonly databaseSchema: string;
  /** Entities in force that have no records. */
  readonly empty: ReadonlySet<string>;
  readonly strategy: 'online' | 'blocking';
  /** Names of tables and columns, `orders` or `orders.total`, that no other object may get yet. */
  readonly reserved: ReadonlySet<string>;
  /** Number that no earlier change of the workspace has used; names of new columns end with it. */
  readonly change: string;
  readonly extensions: Extensions;
}

export type Change =
  | { readonly ok: true; readonly operations: readonly Operation[]; readonly names: PhysicalNames }
  | { readonly ok: false; readonly details: readonly Detail[] };

export function diffDocuments(request: ChangeRequest): Change {
  const { inForce, requested, renames, databaseSchema, empty, strategy, extensions } = request;
  const entities = buildEntities(inForce, databaseSchema, request.names);
  const assignment = assignNames(entities, requested, renames, request.reserved, request.change);
  const { origins } = assignment;
  const before = buildSides(inForce, entities, request.names);
  const derived = buildSides(requested, buildEntities(requested, databaseSchema, assignment.names), assignment.names);
  const after = withConstraintNames(derived, before, origins, request.change);
  const names = { ...assignment.names, ...constraintNames(getTables(after), getTables(derived)) };
  const isNew = (entity: string): boolean => !origins.entities.has(entity);
  const errors: Detail[] = [];
  const operations: Operation[] = [];
  const remainingEntities = new Set<string>();
  for (const [name, side] of after) {
    const origin = origins.entities.get(name);
    const old = origin === undefined ? undefined : before.get(origin.name);
    if (old === undefined) {
      operations.push(createEntity(side.table, isNew, extensions));
      if (side.keptChanges !== null) operations.push(startChanges(side.table, side.keptChanges, true));
      continue;
    }
    remainingEntities.add(old.table.entity);
    const isEmpty = empty.has(old.table.entity);
    const changedTable = { table: side.table, isEmpty, isBlocking: isEmpty || strategy === 'blocking', extensions };
    const fields = origins.fields.get(name) ?? new Map<string, Field>();
    compareEntities({ changedTable, old, side, fields, isNew, renames, operations, errors });
  }
  for (const [name, side] of before) if (!remainingEntities.has(name)) operations.push(dropEntity(side.table));
  if (differs(inForce.roles, requested.roles))
    operations.push(changeMetadata('changeRoles', '', 'roles', 'change the roles'));
  const last = operations.at(-1);
  if (last !== undefined && isSearched(before) && !isSearched(after)) {
    // The function has no users once the operation that drops its last index is done.
    const statements = [...last.statements, inSharedTransaction('attach', dropUnusedSearchFunction(databaseSchema))];
    operations[operations.length - 1] = { ...last, statements };
  }
  return errors.length > 0 ? { ok: false, details: errors } : { ok: true, operations, names };
}

interface Side {
  readonly document: EntityDocument;
  readonly table: Table;
  readonly keptChanges: KeptChanges | null;
}

const isSearched = (sides: ReadonlyMap<string, Side>): boolean =>
  [...sides.values()].some(({ table }) => hasTextIndex(table));

/** Adds the names of checks and foreign keys. */
function withConstraintNames(
  derived: ReadonlyMap<string, Side>,
  before: ReadonlyMap<string, Side>,
  origins: Origins,
  change: string,
): ReadonlyMap<string, Side> {
  const sides = [...derived].map(([name, side]) => {
    const old = before.get(origins.entities.get(name)?.name ?? '')?.table;
    if (old === undefined) return [name, side] as const;
    const fields = origins.fields.get(name) ?? new Map();
    return [name, { ...side, table: assignConstraintNames(side.table, { old, fields, change }) }] as const;
  });
  return new Map(sides);
}

const getTables = (sides: ReadonlyMap<string, Side>): ReadonlyMap<string, Table> =>
  new Map([...sides].map(([name, { table }]) => [name, table]));

function buildSides(
  document: SchemaDocument,
  entities: ReadonlyMap<string, Entity>,
  names: PhysicalNames,
): ReadonlyMap<string, Side> {
  const sides = new Map<string, Side>();
  for (const entity of entities.values()) {
    const entityDocument = member(document.entities, entity.name) ?? {};
    sides.set(entity.name, {
      document: entityDocument,
      table: buildTable(entity, entityDocument, entities, names),
      keptChanges: toKeptChanges(entity),
    });
  }
  return sides;
}

interface Comparison {
  readonly changedTable: ChangedTable;
  readonly old: Side;
  readonly side: Side;
  /** Previous definition of each field by its new name. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly isNew: (entity: string) => boolean;
  readonly renames: Renames;
  readonly operations: Operation[];
  readonly errors: Detail[];
}

function compareEntities(comparison: Comparison): void {
  const { old, side, operations } = comparison;
  const start = operations.length;
  if (old.table.entity !== side.table.entity) {
    const { entity } = side.table;
    operations.push(
      changeMetadata('renameEntity', entity, `entities.${entity}`, `rename entity ${old.table.entity} to ${entity}`),
    );
  }
  compareColumns(comparison);
  announceFields(comparison, start);
  compareIndexes(comparison);
  compareMetadata(comparison);
}

/** Lets the operations from `start` on tell readers of the entity's changes what they do to its fields. */
function announceFields({ old, side, fields, operations }: Comparison, start: number): void {
  const last = operations.at(-1);
  if (old.keptChanges === null || last === undefined || operations.length === start) return;
  const renamed: Record<string, string> = {};
  const added: string[] = [];
  const retyped: string[] = [];
  for (const [name, next] of side.table.columns) {
    const previous = fields.get(name);
    if (previous === undefined) added.push(name);
    else {
      if (previous.name !== name) renamed[previous.name] = name;
      if (changesType(previous, next)) retyped.push(name);
    }
  }
  const remaining = new Set(fields.values());
  const dropped = [...old.table.columns.values()].filter((field) => !remaining.has(field)).map(({ name }) => name);
  const isRenamed = old.table.entity !== side.table.entity;
  if (!isRenamed && Object.keys(renamed).length + added.length + dropped.length + retyped.length === 0) return;
  const note = { ...(isRenamed ? { entityBefore: old.table.entity } : {}), renamed, added, dropped, retyped };
  const { name: table } = old.table;
  const changeNotes = [...last.changeNotes, { kind: 'changeFields', table, fields: JSON.stringify(note) } as const];
  operations[operations.length - 1] = { ...last, changeNotes };
}

function compareColumns(comparison: Comparison): void {
  const { changedTable, old, side, fields, isNew, operations } = comparison;
  for (const [name, field] of side.table.columns) {
    const previous = fields.get(name);
    const reference = findReference(side.table, field);
    if (previous !== undefined) compareFields(comparison, previous, field);
    else if (reference === undefined) operations.push(addField(changedTable, field));
    else operations.push(addRelation(changedTable, field, reference, isNew(reference.relation.entity)));
  }
  const remainingFields = new Set(fields.values());
  for (const field of old.table.columns.values()) {
    if (remainingFields.has(field)) continue;
    // A dropped field is addressed by the table and column names in force.
    const table = { ...old.table, entity: side.table.entity };
    operations.push(dropField(table, field, findReference(old.table, field)));
  }
}

const TYPE_PARTS = ['type', 'precision', 'scale'] as const;

const changesType = (previous: Field, next: Field): boolean =>
  previous.column !== next.column || TYPE_PARTS.some((part) => previous[part] !== next[part]);

function compareFields(comparison: Comparison, previous: Field, next: Field): void {
  const { changedTable, old, side, isNew, operations, errors } = comparison;
  if (previous.role === 'id') return;
  compareNames(comparison, previous, next);
  const [from, to] = [findReference(old.table, previous), findReference(side.table, next)];
  const targetIsNew = to !== undefined && isNew(to.relation.entity);
  const isReplaced = previous.column !== next.column;
  if (changesType(previous, next)) {
    const change = changeType({
      changedTable,
      old: old.table,
      previous,
      next,
      reference: to,
      targetIsNew,
      keptChanges: old.keptChanges,
    });
    if (change !== undefined) operations.push(change);
    else if (isReplaced) errors.push(buildUnsupportedChange(side.table, previous, next));
  }
  if (isReplaced) return;
  const constraintOperations: Operation[] = [];
  if (previous.required !== next.required)
    constraintOperations.push((next.required ? requireField : liftRequired)(changedTable, next));
  compareChecks(changedTable, getChecks(old.table, previous), getChecks(side.table, next), next, constraintOperations);
  if (toComparableDefault(previous) !== toComparableDefault(next)) {
    operations.push(
      changeDefault(
        changedTable,
        next,
        previous,
        next.default !== undefined && constraintOperations.some(({ runsBeforeSwitch }) => runsBeforeSwitch),
      ),
    );
  }
  operations.push(...constraintOperations);
  if (to !== undefined && (from === undefined || !isSameReference(from, to))) {
    operations.push(changeReference(changedTable, to, from, targetIsNew));
  } else if (to === undefined && from !== undefined) operations.push(loosenReference(changedTable, next, from));
}

function compareNames({ side, operations }: Comparison, previous: Field, next: Field): void {
  const { entity } = side.table;
  const path = pathOfField(side.table, next);
  if (previous.relation !== undefined && next.relation !== undefined && previous.relation !== next.relation) {
    const description = `rename relation ${previous.relation} of ${entity} to ${next.relation}`;
    operations.push(changeMetadata('renameRelation', entity, path, description));
  }
  if (previous.name !== next.name) {
    operations.push(
      changeMetadata('renameField', entity, path, `rename field ${previous.name} of ${entity} to ${next.name}`),
    );
  }
}

function compareChecks(
  changedTable: ChangedTable,
  old: readonly Check[],
  requested: readonly Check[],
  field: Field,
  operations: Operation[],
): void {
  for (const check of requested) {
    const previous = old.find(({ kind }) => kind === check.kind);
    if (previous === undefined || !isSameCheck(previous, check))
      operations.push(changeCheck(changedTable, check, previous));
  }
  for (const check of old) {
    if (!requested.some(({ kind }) => kind === check.kind)) operations.push(dropCheck(changedTable, check, field));
  }
}

/** Returns the default for comparison: numbers by their value, texts literally ("1" and "1.0" are different texts). */
function toComparableDefault({ type, default: value }: Field): string | undefined {
  const isNumber = fieldType(type).attributes.includes('min');
  return isNumber ? toCanonicalValue(value) : JSON.stringify(value);
}

const getChecks = (table: Table, field: Field): readonly Check[] =>
  table.checks.filter((check) => check.field === field);

const findReference = (table: Table, field: Field): Reference | undefined =>
  table.references.find((reference) => reference.field === field);

function buildUnsupportedChange(table: Table, previous: Field, next: Field): Detail {
  return {
    field: `${pathOfField(table, next)}.type`,
    code: 'UNSUPPORTED_CHANGE',
    message: `no value of type ${previous.type} is one of type ${next.type}: add a new field, or change the type while ${table.entity} has no records`,
  };
}

function compareIndexes({ changedTable, old, side, fields, operations }: Comparison): void {
  for (const [name, index] of side.table.indexes) {
    if (old.table.indexes.has(name)) continue;
    const columnsExist = index.fields.every((field) => fields.get(field.name)?.column === field.column);
    operations.push(addIndex(changedTable, index, columnsExist));
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
  const formerNames = new Set(renamed.values());
  const path = `entities.${entity}`;
  const [from, to] = [old.document, side.document];
  for (const [name, relation] of Object.entries(to.relations ?? {})) {
    if (relation.kind === 'belongsTo') continue;
    const before = renamed.get(name);
    const previous = member(from.relations, before ?? name);
    const at = `${path}.relations.${name}`;
    if (previous === undefined || previous.kind === 'belongsTo') {
      operations.push(changeMetadata('addRelation', entity, at, `add relation ${name} to ${entity}`));
      continue;
    }
    if (before !== undefined) {
      const description = `rename relation ${before} of ${entity} to ${name}`;
      operations.push(changeMetadata('renameRelation', entity, at, description));
    }
    if (differs(withoutDescription(previous), withoutDescription(relation))) {
      operations.push(changeMetadata('changeRelation', entity, at, `change relation ${name} of ${entity}`));
    }
  }
  for (const [name, relation] of Object.entries(from.relations ?? {})) {
    if (relation.kind === 'belongsTo' || member(to.relations, name) !== undefined || formerNames.has(name)) continue;
    // Without a column no data is lost, but requests that follow the relation are refused from then on.
    const drop = changeMetadata(
      'dropRelation',
      entity,
      `${path}.relations.${name}`,
      `drop relation ${name} of ${entity}`,
    );
    operations.push({ ...drop, destructive: true });
  }
  if (differs(collectDescriptions(from), collectDescriptions(to))) {
    operations.push(changeMetadata('changeDescription', entity, path, `change descriptions of ${entity}`));
  }
  if (differs(from.settings, to.settings)) {
    operations.push(changeMetadata('changeSettings', entity, `${path}.settings`, `change the settings of ${entity}`));
  }
  if (differs(old.keptChanges, side.keptChanges)) {
    operations.push(
      side.keptChanges === null ? stopChanges(side.table) : startChanges(side.table, side.keptChanges, false),
    );
  }
  if (differs(from.rowRules, to.rowRules)) {
    operations.push(changeMetadata('changeRowRules', entity, `${path}.rowRules`, `change the row rules of ${entity}`));
  }
  if (differs(from.grants, to.grants)) {
    const opens = to.grants === undefined;
    const description = opens
      ? `remove the grants of ${entity}: every user may use it`
      : `change the grants of ${entity}`;
    const grants = buildGrants(to)?.map((grant) => describeGrant(grant, entity)) ?? [];
    operations.push({ ...changeMetadata('changeGrants', entity, `${path}.grants`, description), opens, grants });
  }
}

/** Builds a change that needs no statement in PostgreSQL: it is in force with the new document. */
const changeMetadata = (kind: OperationKind, entity: string, path: string, description: string): Operation =>
  buildOperation({ kind, entity, path, description });

/** Returns whether two JSON values differ, ignoring the order of their members. */
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

function collectDescriptions(entity: EntityDocument): unknown {
  const descriptions = (all: Readonly<Record<string, { readonly description?: string }>> | undefined) =>
    Object.entries(all ?? {}).flatMap(([name, { description }]) => (description ? [[name, description]] : []));
  return [entity.description ?? '', descriptions(entity.fields).sort(), descriptions(entity.relations).sort()];
}
