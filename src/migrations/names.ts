// Which table and column of PostgreSQL carries which entity and field after a change. What stays or is renamed keeps its
// name; what is new, or changes its type, gets a name that nothing has or had lately. Soon afterwards settle.ts gives all of
// them the names of the document.

import type { Entity, Field } from '../model/entity.ts';
import { freshName, type PhysicalNames } from '../model/physical-name.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import type { Renames } from '../schema/renames.ts';
import { findCast } from './cast.ts';
import { toColumnKey } from './final-names.ts';

/** What each entity and field of the new document was before; one that is missing is new. */
export interface Origins {
  readonly entities: ReadonlyMap<string, Entity>;
  /** By the new name of the entity, then of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, Field>>;
}

export interface NameAssignment {
  readonly names: PhysicalNames;
  readonly origins: Origins;
}

/**
 * `change` is a number that no change of the workspace has had before. `held` has the names that meant something else
 * lately: `orders` or `orders.total`.
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

/** Whether the change of type needs another column. */
function isReplaced(previous: Field, next: Field): boolean {
  const { kind } = findCast(previous, next);
  return kind === 'convert' || kind === 'never';
}

/**
 * What each field was before: looked for by its name, or by that of its relation. A field that becomes a relation, or the
 * other way round, is looked for by the name of the field.
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
  // A field that becomes a relation, or the other way round, keeps its values.
  for (const field of all) if (!origins.has(field.name)) claim(field, old.fields.get(field.name));
  return origins;
}
