// A part of a snapshot: some of its entities, as if there were no others.
import { type Entity, type EntitySettings, EVERY_COLUMN, type Field } from './entity.ts';
import type { Relation } from './relation.ts';
import type { Workspace } from './workspace.ts';

/**
 * Returns the snapshot with the entities of these names alone; unknown names are ignored. Relations to entities outside
 * are removed, also from the settings; the columns that store their keys stay, as numbers. From a part it makes a
 * smaller part, never a larger one.
 */
export function restrictWorkspace(workspace: Workspace, names: ReadonlySet<string>): Workspace {
  const visible = [...workspace.entities.values()].filter(({ name }) => names.has(name));
  const related = new Map(
    visible.map((entity) => [entity.name, { ...entity, relations: relationsWithin(entity, names) }]),
  );
  const entities = new Map<string, Entity>();
  for (const [name, entity] of related) {
    entities.set(name, { ...entity, fields: restrictFields(entity), settings: restrictSettings(entity, related) });
  }
  return {
    ...workspace,
    entities,
    entityIds: new Map([...workspace.entityIds].filter(([name]) => entities.has(name))),
    constraints: new Map([...workspace.constraints].filter(([, { entity }]) => entities.has(entity))),
    part: { of: getUnrestricted(workspace), key: [...entities.keys()].join() },
  };
}

/** Returns the snapshot that a part was made of, or the snapshot itself if it is whole. */
export function getUnrestricted(workspace: Workspace): Workspace {
  return workspace.part === null ? workspace : workspace.part.of;
}

function relationsWithin({ relations }: Entity, names: ReadonlySet<string>): ReadonlyMap<string, Relation> {
  return new Map(
    [...relations].filter(
      ([, relation]) => names.has(relation.entity) && (relation.kind !== 'manyToMany' || names.has(relation.through)),
    ),
  );
}

function restrictFields({ fields, relations }: Entity): ReadonlyMap<string, Field> {
  const isBare = ({ relation }: Field): boolean => relation !== undefined && !relations.has(relation);
  if (![...fields.values()].some(isBare)) return fields;
  return new Map([...fields].map(([name, field]) => [name, isBare(field) ? { ...field, relation: undefined } : field]));
}

type Entities = ReadonlyMap<string, Entity>;

/** Returns the settings without the names that do not exist in the part. */
export function restrictSettings(entity: Entity, entities: Entities): EntitySettings {
  const { defaultExpand, expandable, defaultFields, changesOmit, ...rest } = entity.settings;
  return {
    // Cuts a path before the first relation that leads out.
    defaultExpand:
      defaultExpand?.map((path) => keepKnownNames(path, entity, entities).join('.')).filter((path) => path !== '') ??
      null,
    expandable: expandable?.filter((name) => entity.relations.has(name)) ?? null,
    defaultFields:
      defaultFields?.filter((path) => keepKnownNames(path, entity, entities).length === path.split('.').length) ?? null,
    changesOmit: changesOmit?.filter((name) => entity.fields.has(name)) ?? null,
    ...rest,
  };
}

/** Returns the names of a path up to the first unknown one. */
function keepKnownNames(path: string, root: Entity, entities: Entities): readonly string[] {
  const names = path.split('.');
  let at: Entity | undefined = root;
  for (const [index, name] of names.entries()) {
    const relation: Relation | undefined = at?.relations.get(name);
    const isColumn = at !== undefined && (name === EVERY_COLUMN || at.fields.has(name));
    if (relation === undefined && !isColumn) return names.slice(0, index);
    at = relation === undefined ? undefined : entities.get(relation.entity);
  }
  return names;
}
