// Assigns tables and columns of PostgreSQL to entities and fields after a change. An object that stays or is renamed
// keeps its name; a new one, or one that changes its type, gets a name that no object has or had recently.
// rename-finalizer.ts gives all of them the names of the document soon afterwards.

import type { Entity, Field } from '../model/entity.ts';
import { freshName, type PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import type { Renames } from '../schema/renames.ts';
import { findCast } from './cast.ts';
import { toColumnKey } from './final-names.ts';

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
