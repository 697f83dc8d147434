// Join condition of a relation. Takes a relation, returns the columns that must be equal, with a Scan for every table
// on the way (many-to-many has one more).
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Relation } from '../model/relation.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { type Link, makeLink, scan } from './scan.ts';

export type { Link } from './scan.ts';

/** Input of planning besides the request: the snapshot and the principal. */
export interface PlanContext {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

/** Returns the link of a relation to the records that the principal sees. */
export function buildLink(relation: Relation, { workspace, principal }: PlanContext): Link {
  return makeLink(relation, workspace, (entity) => scan(entity, principal, 'read'));
}

export function getTarget(relation: Relation, context: PlanContext): Entity {
  return getEntity(context.workspace, relation.entity);
}
