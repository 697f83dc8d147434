// Reads of a workspace of a cluster go straight to the node that holds it: planned by the names that its tables have there,
// and run there. What else is asked goes through the coordinator, which alone keeps a change and its copies together.
import type { Executor } from '../db/pool.ts';
import type { Databases } from '../directory/databases.ts';
import type { Entity } from '../model/entity.ts';
import { nearOf, rootOn } from '../model/placement.ts';
import type { Workspace } from '../model/workspace.ts';

export interface Near {
  readonly workspace: Workspace;
  readonly entity: Entity;
  readonly executor: Executor;
}

export type NodeReads = ReturnType<typeof makeNear>;

/** What a read of the entity works with on the node of its workspace; undefined while it goes the common way. */
export function makeNear({ reader }: Pick<Databases, 'reader'>) {
  // One for each snapshot or part of one, and for each entity of it, as long as they live.
  const snapshots = new WeakMap<Workspace, Workspace>();
  const roots = new WeakMap<Entity, Entity>();
  return (workspace: Workspace, entity: Entity): Near | undefined => {
    const { placement } = workspace;
    if (placement === null || placement === undefined) return undefined;
    const executor = reader(placement);
    if (executor === undefined) return undefined;
    const known = snapshots.get(workspace) ?? nearOf(workspace);
    const near = known?.entities.get(entity.name);
    if (known === undefined || near === undefined) return undefined;
    const root = roots.get(near) ?? rootOn(placement, near);
    snapshots.set(workspace, known);
    roots.set(near, root);
    return { workspace: known, entity: root, executor };
  };
}
