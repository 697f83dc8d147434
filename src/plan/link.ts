// Join condition of a relation. Takes a relation, returns the columns that must be equal, with a Scan for every table
// on the way (many-to-many has one more).
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { type Link, scan } from './scan.ts';

export type { Link } from './scan.ts';

/** Input of planning besides the request: the snapshot and the principal. */
export interface PlanContext {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

export function buildLink(relation: Relation, context: PlanContext): Link {
  const target = getTarget(relation, context);
  const targetScan = scan(target, context.principal, 'read');
  switch (relation.kind) {
    case 'belongsTo':
      return { kind: 'key', scan: targetScan, relatedColumn: 'id', parentColumn: relation.key };
    case 'hasMany':
    case 'hasOne':
      return { kind: 'key', scan: targetScan, relatedColumn: relation.key, parentColumn: 'id' };
    case 'manyToMany':
      return {
        kind: 'through',
        scan: targetScan,
        through: scan(getEntity(context.workspace, relation.through), context.principal, 'read'),
        from: relation.fromKey,
        to: relation.toKey,
      };
    default:
      return relation satisfies never;
  }
}

export function getTarget(relation: Relation, context: PlanContext): Entity {
  return getEntity(context.workspace, relation.entity);
}
