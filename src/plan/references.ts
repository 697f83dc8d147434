// Where the records of an entity lead, and who leads to them.

import type { Entity, Field } from '../model/entity.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { deletesOutside } from './errors.ts';
import { getTarget, type PlanContext } from './link.ts';
import { passGate, type Scan, scan } from './scan.ts';

/** A column that refers to a record, and the records that it may refer to. */
export interface Reference {
  readonly field: Field;
  readonly scan: Scan;
}

/** The references of an entity in the columns that `isGiven` names, each with the records that it may lead to. */
export function getReferences(
  isProvided: (field: Field) => boolean,
  entity: Entity,
  context: PlanContext,
): Reference[] {
  const references: Reference[] = [];
  for (const relation of entity.relations.values()) {
    if (relation.kind !== 'belongsTo') continue;
    const field = entity.fields.get(relation.column);
    if (field === undefined || !isProvided(field)) continue;
    references.push({ field, scan: scan(getTarget(relation, context), context.principal, 'read') });
  }
  return references;
}

/**
 * Deleting looks for records that refer to the one deleted, and where a relation says so writes them: 503 while a migration
 * holds them, 403 when they are of an entity that the principal does not reach.
 */
export function passReferring(entity: Entity, workspace: Workspace, visited = new Set<string>()): void {
  visited.add(entity.name);
  for (const other of getUnrestricted(workspace).entities.values()) {
    const isReached = workspace.entities.has(other.name);
    for (const relation of other.relations.values()) {
      if (relation.kind !== 'belongsTo' || relation.entity !== entity.name) continue;
      if (!isReached && relation.onDelete !== 'restrict') throw deletesOutside(entity.name);
      // The gate of an entity that is not reached is told as one of this.
      passGate(
        isReached ? other : { ...entity, gate: other.gate },
        relation.onDelete === 'restrict' ? 'read' : 'write',
      );
      if (relation.onDelete === 'cascade' && !visited.has(other.name)) passReferring(other, workspace, visited);
    }
  }
}
