// Paths for filters: fields of the entity, and those of entities one relation away.
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import { listColumns, type RecordColumn } from './fields.ts';

export interface PathGroup {
  /** Name of the entity or the relation. */
  readonly name: string;
  readonly paths: readonly { readonly path: string; readonly column: RecordColumn }[];
}

// Limit of the relations in the menu: an entity has up to 500, each to up to 500 fields. Longer paths are typed as
// text.
const MOST_RELATIONS = 40;

export function listFilterPaths(schema: WorkspaceSchema, entity: EntityDocument): readonly PathGroup[] {
  const own: PathGroup = {
    name: entity.name,
    paths: listColumns(entity).map((column) => ({ path: column.name, column })),
  };
  const related = [...entity.relations.values()].slice(0, MOST_RELATIONS).flatMap((relation): readonly PathGroup[] => {
    const target = schema.entities.get(relation.entity);
    if (target === undefined) return [];
    const paths = listColumns(target).map((column) => ({ path: `${relation.name}.${column.name}`, column }));
    return [{ name: relation.name, paths }];
  });
  return [own, ...related];
}

/**
 * Lists the paths that may follow a typed one: the columns of the entity that its relations lead to, and those relations
 * with a dot. `company.na` gives `company.id`, `company.name`, `company.country.`.
 */
export function listPathsAfter(schema: WorkspaceSchema, entity: EntityDocument, typed: string): readonly string[] {
  const names = typed.split('.').slice(0, -1);
  let at: EntityDocument | undefined = entity;
  for (const name of names) at = schema.entities.get(at?.relations.get(name)?.entity ?? '');
  if (at === undefined) return [];
  const prefix = names.map((name) => `${name}.`).join('');
  const columns = listColumns(at).map(({ name }) => prefix + name);
  return [...new Set([...columns, ...[...at.relations.keys()].map((name) => `${prefix}${name}.`)])];
}

/** Returns the column at the end of a path through any relations, or undefined if the schema has none. */
export function findColumn(schema: WorkspaceSchema, entity: EntityDocument, path: string): RecordColumn | undefined {
  const names = path.split('.');
  let at: EntityDocument | undefined = entity;
  for (const name of names.slice(0, -1)) at = schema.entities.get(at?.relations.get(name)?.entity ?? '');
  return at === undefined ? undefined : listColumns(at).find(({ name }) => name === names.at(-1));
}
