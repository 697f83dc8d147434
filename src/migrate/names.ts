// Which table and column of PostgreSQL carries which entity and field after a change. What stays or is renamed keeps its
// name; what is new, or changes its type, gets a name that nothing has or had lately. Soon afterwards settle.ts gives all of
// them the names of the document.

import { entitiesOf } from '../document/entities.ts';
import type { SchemaDocument } from '../document/format.ts';
import type { Renames } from '../document/renames.ts';
import type { Entity, Field } from '../model/entity.ts';
import { freshName, type PhysicalNames } from '../model/physical-name.ts';
import { castOf } from './cast.ts';
import { keyOf } from './settled-names.ts';

/** What each entity and field of the new document was before; one that is missing is new. */
export interface Origins {
  readonly entities: ReadonlyMap<string, Entity>;
  /** By the new name of the entity, then of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, Field>>;
}

export interface NamedChange {
  readonly names: PhysicalNames;
  readonly origins: Origins;
}

/**
 * `change` is a number that no change of the workspace has had before. `held` has the names that meant something else
 * lately: `orders` or `orders.total`.
 */
export function nameChange(
  before: ReadonlyMap<string, Entity>,
  asked: SchemaDocument,
  renames: Renames,
  held: ReadonlySet<string>,
  change: string,
): NamedChange {
  const origins = { entities: new Map<string, Entity>(), fields: new Map<string, Map<string, Field>>() };
  const names = { tables: {} as Record<string, string>, columns: {} as Record<string, Record<string, string>> };
  const taken = new Set([...held, ...[...before.values()].map((entity) => entity.table.name)]);
  for (const entity of entitiesOf(asked, '').values()) {
    const { name } = entity;
    const old = before.get(renames.entities.get(name) ?? name);
    const table = old?.table.name ?? unlessTaken(name, taken, change);
    if (table !== name) names.tables[name] = table;
    if (old === undefined) continue;
    origins.entities.set(name, old);
    const fields = originsOf(entity, old, renames);
    origins.fields.set(name, fields);
    const columns = columnsOf(entity, old, fields, held, change);
    if (Object.keys(columns).length > 0) names.columns[name] = columns;
  }
  return { names, origins };
}

function columnsOf(
  entity: Entity,
  old: Entity,
  fields: ReadonlyMap<string, Field>,
  held: ReadonlySet<string>,
  change: string,
): Record<string, string> {
  const taken = new Set([...old.fields.values()].map((field) => field.column));
  const columns: Record<string, string> = {};
  for (const field of entity.fields.values()) {
    if (held.has(keyOf(old.table.name, field.name))) taken.add(field.name);
    const was = fields.get(field.name);
    const column =
      was === undefined
        ? unlessTaken(field.name, taken, change)
        : isReplaced(was, field)
          ? freshName(field.name, change)
          : was.column;
    if (column !== field.name) columns[field.name] = column;
  }
  return columns;
}

const unlessTaken = (name: string, taken: ReadonlySet<string>, change: string): string =>
  taken.has(name) ? freshName(name, change) : name;

/** Whether the change of type needs another column. */
function isReplaced(was: Field, now: Field): boolean {
  const { kind } = castOf(was, now);
  return kind === 'convert' || kind === 'never';
}

/**
 * What each field was before: looked for by its name, or by that of its relation. A field that becomes a relation, or the
 * other way round, is looked for by the name of the field.
 */
function originsOf(entity: Entity, old: Entity, renames: Renames): Map<string, Field> {
  const renamedFields = renames.fields.get(entity.name);
  const renamedRelations = renames.relations.get(entity.name);
  const keys = new Map<string, Field>();
  for (const field of old.fields.values()) if (field.relation !== undefined) keys.set(field.relation, field);
  const found = new Map<string, Field>();
  const used = new Set<Field>();
  const claim = (field: Field, was: Field | undefined): void => {
    if (was === undefined || used.has(was)) return;
    used.add(was);
    found.set(field.name, was);
  };
  const all = [...entity.fields.values()];
  for (const field of all) {
    if (field.relation !== undefined) {
      claim(field, keys.get(renamedRelations?.get(field.relation) ?? field.relation));
    } else {
      const was = old.fields.get(renamedFields?.get(field.name) ?? field.name);
      if (was?.relation === undefined) claim(field, was);
    }
  }
  // A field that becomes a relation, or the other way round, keeps its values.
  for (const field of all) if (!found.has(field.name)) claim(field, old.fields.get(field.name));
  return found;
}
