// Where on a cluster the tables of a workspace lie, and the snapshot as it is on that node: the same entities, whose tables
// have other names there. Reads that go straight to the node are planned by it.
import type { Entity } from './entity.ts';
import type { Placement, Workspace } from './workspace.ts';

/** The table of kept totals; its shard has its number behind this name. */
const TOTAL = '$total';

/** The snapshot for the node that holds the workspace; undefined while a table is not known to lie there. */
export function nearOf(workspace: Workspace): Workspace | undefined {
  const { placement } = workspace;
  if (placement === null || placement === undefined) return undefined;
  const shard = placement.tables.get(TOTAL)?.slice(TOTAL.length + 1);
  if (shard === undefined) return undefined;
  const total = { shard, group: placement.node.group };
  const entities = new Map<string, Entity>();
  for (const [name, entity] of workspace.entities) {
    const table = placement.tables.get(entity.table.name);
    if (table === undefined) return undefined;
    entities.set(name, { ...entity, table: { schema: entity.table.schema, name: table, total } });
  }
  return { ...workspace, entities };
}

/**
 * The entity of a snapshot for a node, as the root of a statement: it is read only while it lies there. Whatever else the
 * statement reads lies in the same place.
 */
export function rootOn({ node, shard }: Placement, near: Entity): Entity {
  return { ...near, table: { ...near.table, lies: { shard, group: node.group } } };
}

/** Of the root of a statement: a text that tells its place from all others; '' for one that goes the common way. */
export const placeOf = ({ table: { lies } }: Pick<Entity, 'table'>): string =>
  lies === undefined ? '' : `${lies.group}:${lies.shard}`;
