// Names of tables, columns and constraints in PostgreSQL after a change. Pure functions.
//
// A change renames nothing: an object that stays, or is renamed in the document, keeps its name, and a new one, or one
// that changes its type, gets a name that no object has or had recently. An unchanged constraint keeps its name for
// good; one that is created again gets a name that its table does not use, as both exist for a while. Soon afterwards
// rename-finalizer.ts gives tables and columns the names of the document, in as many steps as that takes.

import { formatDecimal, parseDecimal } from '../model/decimal.ts';
import type { Entity, Field } from '../model/entity.ts';
import { freshName, nextName, type PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import type { Renames } from '../schema/renames.ts';
import { buildTables, type Check, constraintNames, type Reference, type Table } from '../schema/tables.ts';
import type { ReleasedName, ReleasedNames } from '../store/documents.ts';
import { findCast } from './cast.ts';

/* ---- keys of names ---- */

/** Returns the keys of tables and columns as `wda.workspace.freed` has them: `orders`, `orders.total`. */
function collectKeys(entities: ReadonlyMap<string, Entity>): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { table, fields } of entities.values()) {
    keys.add(table.name);
    for (const { column } of fields.values()) keys.add(toColumnKey(table.name, column));
  }
  return keys;
}

const toColumnKey = (table: string, column: string): string => `${table}.${column}`;

/** Returns the names that are used in `before` and not in `after`. */
export function findReleasedKeys(
  before: ReadonlyMap<string, Entity>,
  after: ReadonlyMap<string, Entity>,
): readonly string[] {
  const keysAfter = collectKeys(after);
  return [...collectKeys(before)].filter((key) => !keysAfter.has(key));
}

/**
 * Returns names that had another meaning recently, and may still have it in a request in flight. After
 * `forgottenAfterMs` all such requests have ended. Imports and exports may take an hour: once they hold the locks of
 * their tables, they compare the version in force and are planned again when it has changed.
 */
export function findReservedNames({ names, now }: ReleasedNames, forgottenAfterMs: number): ReadonlySet<string> {
  return new Set(Object.keys(names).filter((key) => now - (names[key] as ReleasedName).at < forgottenAfterMs));
}

/* ---- names of a change ---- */

/** Previous definition of each entity and field of the new document; a new one is missing. */
export interface Origins {
  readonly entities: ReadonlyMap<string, Entity>;
  /** Fields by the new name of the entity, then of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, Field>>;
}

export interface NameAssignment {
  readonly names: PhysicalNames;
  readonly origins: Origins;
}

/**
 * Assigns the names. `change` is a number that no earlier change of the workspace has used. `reserved`: names that had
 * another meaning recently, such as `orders` or `orders.total`.
 */
export function assignNames(
  before: ReadonlyMap<string, Entity>,
  requested: SchemaDocument,
  renames: Renames,
  reserved: ReadonlySet<string>,
  change: string,
): NameAssignment {
  const origins = { entities: new Map<string, Entity>(), fields: new Map<string, Map<string, Field>>() };
  const names = { tables: {} as Record<string, string>, columns: {} as Record<string, Record<string, string>> };
  const usedNames = new Set([...reserved, ...[...before.values()].map((entity) => entity.table.name)]);
  for (const entity of buildEntities(requested, '').values()) {
    const { name } = entity;
    const old = before.get(renames.entities.get(name) ?? name);
    const table = old?.table.name ?? chooseName(name, usedNames, change);
    if (table !== name) names.tables[name] = table;
    if (old === undefined) continue;
    origins.entities.set(name, old);
    const fields = findOrigins(entity, old, renames);
    origins.fields.set(name, fields);
    const columns = assignColumns(entity, old, fields, reserved, change);
    if (Object.keys(columns).length > 0) names.columns[name] = columns;
  }
  return { names, origins };
}

function assignColumns(
  entity: Entity,
  old: Entity,
  fields: ReadonlyMap<string, Field>,
  reserved: ReadonlySet<string>,
  change: string,
): Record<string, string> {
  const usedNames = new Set([...old.fields.values()].map((field) => field.column));
  const columns: Record<string, string> = {};
  for (const field of entity.fields.values()) {
    if (reserved.has(toColumnKey(old.table.name, field.name))) usedNames.add(field.name);
    const previous = fields.get(field.name);
    const column =
      previous === undefined
        ? chooseName(field.name, usedNames, change)
        : isReplaced(previous, field)
          ? freshName(field.name, change)
          : previous.column;
    if (column !== field.name) columns[field.name] = column;
  }
  return columns;
}

const chooseName = (name: string, usedNames: ReadonlySet<string>, change: string): string =>
  usedNames.has(name) ? freshName(name, change) : name;

/** Returns whether the change of type needs another column. */
function isReplaced(previous: Field, next: Field): boolean {
  const { kind } = findCast(previous, next);
  return kind === 'convert' || kind === 'never';
}

/**
 * Finds the previous definition of each field by its name, or by that of its relation. For a field that becomes a
 * relation, or the reverse, it uses the name of the field.
 */
function findOrigins(entity: Entity, old: Entity, renames: Renames): Map<string, Field> {
  const renamedFields = renames.fields.get(entity.name);
  const renamedRelations = renames.relations.get(entity.name);
  const keys = new Map<string, Field>();
  for (const field of old.fields.values()) if (field.relation !== undefined) keys.set(field.relation, field);
  const origins = new Map<string, Field>();
  const usedFields = new Set<Field>();
  const claim = (field: Field, previous: Field | undefined): void => {
    if (previous === undefined || usedFields.has(previous)) return;
    usedFields.add(previous);
    origins.set(field.name, previous);
  };
  const all = [...entity.fields.values()];
  if (renames.columns !== undefined) {
    const former = renames.columns.get(entity.name);
    for (const field of all) claim(field, old.fields.get(former?.get(field.name) ?? ''));
    return origins;
  }
  for (const field of all) {
    if (field.relation !== undefined) {
      claim(field, keys.get(renamedRelations?.get(field.relation) ?? field.relation));
    } else {
      const previous = old.fields.get(renamedFields?.get(field.name) ?? field.name);
      if (previous?.relation === undefined) claim(field, previous);
    }
  }
  // A field that becomes a relation, or the reverse, keeps its values.
  for (const field of all) if (!origins.has(field.name)) claim(field, old.fields.get(field.name));
  return origins;
}

/** The table before a change, and the previous definition of its fields by their new names. */
export interface Before {
  readonly old: Table;
  readonly fields: ReadonlyMap<string, Field>;
  /** Number that no earlier change of the workspace has used. */
  readonly change: string;
}

/** Returns `table` with the existing names of its unchanged constraints and free names for the others. */
export function assignConstraintNames(table: Table, { old, fields, change }: Before): Table {
  const usedNames = new Set([...old.checks, ...old.references].map(({ name }) => name));
  const assign = <T extends Check | Reference>(
    next: T,
    olds: readonly T[],
    isSame: (one: T, other: T) => boolean,
  ): T => {
    const previous = olds.find(
      (one) => fields.get(next.field.name) === one.field && one.field.column === next.field.column && isSame(one, next),
    );
    const free = [next.name, nextName(next.name)].find((name) => !usedNames.has(name));
    return { ...next, name: previous?.name ?? free ?? freshName(next.name, change) };
  };
  return {
    ...table,
    checks: table.checks.map((check) => assign(check, old.checks, isSameCheck)),
    references: table.references.map((reference) => assign(reference, old.references, isSameReference)),
  };
}

/** Returns whether two checks of one column have the same condition. */
export const isSameCheck = (previous: Check, next: Check): boolean =>
  previous.kind === next.kind && serializeLimits(previous) === serializeLimits(next);

/** Returns whether two foreign keys of one column are the same. */
export const isSameReference = (previous: Reference, next: Reference): boolean =>
  previous.target === next.target && previous.relation.onDelete === next.relation.onDelete;

function serializeLimits({ kind, field }: Check): string {
  switch (kind) {
    case 'length':
      return String(field.maxLength);
    case 'range':
      return `${toCanonicalValue(field.min)} ${toCanonicalValue(field.max)}`;
    case 'enum':
      return JSON.stringify([...(field.values ?? [])].sort());
    default:
      return kind satisfies never;
  }
}

/** Returns the text of a number by its value: 0 and "0.00" are the same bound. */
export function toCanonicalValue(value: Field['default']): string | undefined {
  const number = typeof value === 'string' ? parseDecimal(value) : undefined;
  return number === undefined ? JSON.stringify(value) : formatDecimal(number);
}

/* ---- the way back to the names of the document ---- */

/**
 * Computes the next names, or the same names when no renaming is possible yet. An object gets a name only when no other
 * object has it and it is not `reserved`, that is used with another meaning by a statement in flight. Two objects that
 * swap names need an intermediate name; it ends with `change`, a number that no earlier change has used.
 */
export function finalizeNames(
  document: SchemaDocument,
  names: PhysicalNames,
  reserved: ReadonlySet<string>,
  change: string,
): PhysicalNames {
  const entities = buildEntities(document, '', names);
  const tables: Record<string, string> = {};
  const columns: Record<string, Record<string, string>> = {};
  const present = new Map([...entities.values()].map(({ name, table }) => [name, table.name]));
  for (const [name, table] of computeNames(present, reserved, change)) if (table !== name) tables[name] = table;
  for (const { name, table, fields } of entities.values()) {
    const columnsByField = new Map([...fields.values()].map((field) => [field.name, field.column]));
    const reservedFields = new Set(
      [...columnsByField.keys()].filter((field) => reserved.has(toColumnKey(table.name, field))),
    );
    const next = [...computeNames(columnsByField, reservedFields, change)].filter(
      ([field, column]) => field !== column,
    );
    if (next.length > 0) columns[name] = Object.fromEntries(next);
  }
  const constraints = constraintNames(buildTables(document, '', names), buildTables(document, '', { tables, columns }));
  const next = { tables, columns, ...constraints };
  return JSON.stringify(next) === JSON.stringify(names) ? names : next;
}

/** `present`: current names by final names. */
function computeNames(
  present: ReadonlyMap<string, string>,
  reserved: ReadonlySet<string>,
  change: string,
): ReadonlyMap<string, string> {
  const owners = new Map([...present].map(([name, now]) => [now, name]));
  const next = new Map(present);
  const inRing = new Set<string>();
  for (const [name, now] of present) {
    if (now === name) continue;
    if (!owners.has(name)) {
      if (!reserved.has(name)) next.set(name, name);
      continue;
    }
    // The owner of the name may itself wait for another name, and so on, in a cycle back to this one.
    const ring = [name];
    for (let at = owners.get(name); at !== undefined && !ring.includes(at); at = owners.get(at)) ring.push(at);
    const last = ring.at(-1) as string;
    if (owners.get(last) !== name || ring.some((each) => inRing.has(each))) continue;
    for (const each of ring) inRing.add(each);
    next.set(name, freshName(name, change));
  }
  return next;
}

/** A table, column, index or sequence whose name changes. */
export interface Renaming {
  readonly kind: 'table' | 'column' | 'index' | 'sequence';
  readonly from: string;
  readonly to: string;
}

export interface RenamedTable {
  /** Name of the table before the renaming. */
  readonly table: string;
  readonly renamings: readonly Renaming[];
}

/**
 * Returns the renamings of tables, columns and all objects named after them except checks and foreign keys, which keep
 * their names.
 */
export function findRenamings(
  document: SchemaDocument,
  databaseSchema: string,
  before: PhysicalNames,
  after: PhysicalNames,
): readonly RenamedTable[] {
  const later = buildTables(document, databaseSchema, after);
  return [...buildTables(document, databaseSchema, before).values()].flatMap((table) => {
    const renamings = pairNames(table, later.get(table.entity) as Table).filter(({ from, to }) => from !== to);
    return renamings.length === 0 ? [] : [{ table: table.name, renamings }];
  });
}

function pairNames(from: Table, to: Table): readonly Renaming[] {
  const pairs = <T>(kind: Renaming['kind'], left: Iterable<T>, right: Iterable<T>, getName: (one: T) => string) => {
    const others = [...right];
    return [...left].map((one, index): Renaming => ({ kind, from: getName(one), to: getName(others[index] as T) }));
  };
  const indexes = (table: Table, unique: boolean) =>
    [...table.indexes.values()].filter((index) => index.unique === unique);
  const byName = ({ name }: { readonly name: string }): string => name;
  return [
    ...pairs('column', from.columns.values(), to.columns.values(), ({ column }) => column),
    { kind: 'index', from: from.primaryKey, to: to.primaryKey },
    { kind: 'sequence', from: from.sequence, to: to.sequence },
    ...pairs('index', indexes(from, true), indexes(to, true), byName),
    ...pairs('index', indexes(from, false), indexes(to, false), byName),
    { kind: 'table', from: from.name, to: to.name },
  ];
}
