// How the records of a relation hang on the record they are reached from. Takes a relation, gives the columns that must
// be equal, with Scans for every table on the way (a many-to-many passes through one more).
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Relation } from '../model/relation.ts';
import { entityOf, type Workspace } from '../model/workspace.ts';
import { type Scan, scan } from './scan.ts';

export type Link =
  /** `scan.near = parent.far` */
  | { readonly kind: 'key'; readonly scan: Scan; readonly near: string; readonly far: string }
  /** `scan.id in (select through.to … where through.from = parent.id)` */
  | {
      readonly kind: 'through';
      readonly scan: Scan;
      readonly through: Scan;
      readonly from: string;
      readonly to: string;
    };

/** What planning needs besides the request: the snapshot and who asks. */
export interface Viewpoint {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

export function linkOf(relation: Relation, viewpoint: Viewpoint): Link {
  const target = targetOf(relation, viewpoint);
  const targetScan = scan(target, viewpoint.principal, 'read');
  switch (relation.kind) {
    case 'belongsTo':
      return { kind: 'key', scan: targetScan, near: 'id', far: relation.key };
    case 'hasMany':
    case 'hasOne':
      return { kind: 'key', scan: targetScan, near: relation.key, far: 'id' };
    case 'manyToMany':
      return {
        kind: 'through',
        scan: targetScan,
        through: scan(entityOf(viewpoint.workspace, relation.through), viewpoint.principal, 'read'),
        from: relation.fromKey,
        to: relation.toKey,
      };
    default:
      return relation satisfies never;
  }
}

export function targetOf(relation: Relation, viewpoint: Viewpoint): Entity {
  return entityOf(viewpoint.workspace, relation.entity);
}
