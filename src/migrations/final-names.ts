// Computes the next names of tables and columns on the way back to the names of the document, from the document, the
// names in PostgreSQL, and the names that are reserved.

import type { Entity } from '../model/entity.ts';
import { freshName, type PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { buildTables, constraintNames, type Table } from '../schema/tables.ts';
import type { ReleasedName, ReleasedNames } from '../store/documents.ts';

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

/** Returns the keys of tables and columns as `wda.workspace.freed` has them: `orders`, `orders.total`. */
export function collectKeys(entities: ReadonlyMap<string, Entity>): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { table, fields } of entities.values()) {
    keys.add(table.name);
    for (const { column } of fields.values()) keys.add(toColumnKey(table.name, column));
  }
  return keys;
}

export const toColumnKey = (table: string, column: string): string => `${table}.${column}`;

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
  return { tables, columns, ...constraints };
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
