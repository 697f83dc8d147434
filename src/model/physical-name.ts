// Names of all objects in PostgreSQL. A table or column keeps the name of its creation: that of the document, unless it
// was taken; renaming in the document does not change it. Derived names hold a `$`, which no name of a document may, so
// the two never meet.
import { hash32 } from './hash.ts';

export type DerivedKind =
  | 'pk'
  | 'uq'
  | 'fk'
  | 'ix'
  | 'words'
  | 'parts'
  | 'ck_range'
  | 'ck_length'
  | 'ck_enum'
  | 'ck_null'
  | 'cast'
  | 'sync';

/** Tables and columns whose names are not those of the document, by the names of the document. */
export interface PhysicalNames {
  readonly tables: Readonly<Record<string, string>>;
  readonly columns: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Checks and foreign keys whose names are not derived from those of their table and column, by entity and slot
   * (constraintSlot). They keep the names of their creation: a cluster renames no constraint.
   */
  readonly constraints?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const NO_NAMES: PhysicalNames = { tables: {}, columns: {} };

export function physicalTable(names: PhysicalNames, entity: string): string {
  return Object.hasOwn(names.tables, entity) ? (names.tables[entity] as string) : entity;
}

export function physicalColumn(names: PhysicalNames, entity: string, field: string): string {
  const columns = Object.hasOwn(names.columns, entity) ? names.columns[entity] : undefined;
  return columns !== undefined && Object.hasOwn(columns, field) ? (columns[field] as string) : field;
}

/** Returns the slot of a check or foreign key of an entity: `total$ck_range`. */
export const constraintSlot = (field: string, kind: DerivedKind): string => `${field}$${kind}`;

export function physicalConstraint(names: PhysicalNames, entity: string, slot: string): string | undefined {
  const { constraints = {} } = names;
  const own = Object.hasOwn(constraints, entity) ? constraints[entity] : undefined;
  return own !== undefined && Object.hasOwn(own, slot) ? own[slot] : undefined;
}

/** Returns another name for a table or column whose own is taken; `change` is a number that no other change has. */
export function freshName(name: string, change: string): string {
  return fit(`${name}$${change}`);
}

/** Returns the name of a constraint while another one has this name. */
export const nextName = (name: string): string => freshName(name, 'next');

// PostgreSQL cuts names at 63 bytes; all our names are ASCII.
const MAX_NAME = 63;

/**
 * Derives a name from a table and columns: `orders$status$ix`; too long ones are cut and end in a hash of the whole.
 */
export function derivedName(table: string, parts: readonly string[], kind: DerivedKind): string {
  return fit([table, ...parts, kind].join('$'));
}

/** Returns the PostgreSQL schema of a workspace: readable in psql, unique by its id. */
export function databaseSchemaName(workspaceId: string, slug: string): string {
  return fit(`ws${workspaceId}_${slug.replaceAll('-', '_')}`);
}

function fit(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 9)}$${hash(name)}`;
}

/** Hashes to eight characters; the readable part in front makes a collision harmless in practice. */
const hash = (text: string): string => hash32(text).toString(16).padStart(8, '0');
