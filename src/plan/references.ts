// References of an entity to other records, and from other records to it.

import type { Entity, Field } from '../model/entity.ts';
import { getUnrestricted } from '../model/restricted.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { deletesOutside } from './errors.ts';
import type { PlanContext } from './link.ts';
import { passGate, type Scan, scan, scanNothing } from './scan.ts';

/** A column that refers to a record, and the records that it may refer to. */
export interface Reference {
  readonly field: Field;
  readonly scan: Scan;
}

/**
 * Returns the references in the columns that `isProvided` accepts, each with the records that it may point to: none of
 * an entity that grants hide, whose foreign key would tell which ids exist.
 */
export function getReferences(
  isProvided: (field: Field) => boolean,
  entity: Entity,
  { workspace, principal }: PlanContext,
): Reference[] {
  const whole = getUnrestricted(workspace);
  const { relations } = workspace.part?.beforeGrants === undefined ? entity : getEntity(whole, entity.name);
  const references: Reference[] = [];
  for (const relation of relations.values()) {
    if (relation.kind !== 'belongsTo') continue;
    const field = entity.fields.get(relation.column);
    if (field === undefined || !isProvided(field)) continue;
    const target = workspace.entities.get(relation.entity);
    references.push({
      field,
      scan: target === undefined ? scanNothing(getEntity(whole, relation.entity)) : scan(target, principal, 'read'),
    });
  }
  return references;
}

/**
 * Checks a delete, which reads the records that refer to the deleted one, and changes them if the relation says so:
 * throws 503 while a migration blocks them, 403 when the principal has no access to their entity.
 */
export function passReferring(entity: Entity, workspace: Workspace, visited = new Set<string>()): void {
  visited.add(entity.name);
  for (const other of getUnrestricted(workspace).entities.values()) {
    const isReached = workspace.entities.has(other.name);
    // Grants hide entities and no cascades: these happen as the schema says.
    const mayChange = isReached || workspace.part?.beforeGrants?.entities.has(other.name) === true;
    for (const relation of other.relations.values()) {
      if (relation.kind !== 'belongsTo' || relation.entity !== entity.name) continue;
      if (!mayChange && relation.onDelete !== 'restrict') throw deletesOutside(entity.name);
      // Reports the gate of an inaccessible entity under the name of this one.
      passGate(
        isReached ? other : { ...entity, gate: other.gate },
        relation.onDelete === 'restrict' ? 'read' : 'write',
      );
      if (relation.onDelete === 'cascade' && !visited.has(other.name)) passReferring(other, workspace, visited);
    }
  }
}
