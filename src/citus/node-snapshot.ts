// The snapshot of a workspace as it is on its node: the same entities, whose tables have other names there. Reads that go straight
// to the node are planned by it.
import type { Entity } from '../model/entity.ts';
import type { Placement, Workspace } from '../model/workspace.ts';
import { integerLiteral, sql } from '../sql/fragment.ts';

/** The table of kept totals; its shard has its number behind this name. */
const TOTAL = '$total';

/** The snapshot for the node that holds the workspace; undefined while a table is not known to lie there. */
export function buildNodeSnapshot(workspace: Workspace): Workspace | undefined {
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
 * statement reads lies in the same place. What is left of a table that was moved away is of the past, so the condition fails
 * then (22012). It is asked once a statement, of the same snapshot as the records: 5 % of a read by id.
 */
export function buildNodeRoot({ node: { group }, shard }: Placement, entity: Entity): Entity {
  const [number, node] = [shard, group].map((digits) => integerLiteral(Number(digits)));
  const guard = sql`(select 1 / count(*) > 0 from pg_catalog.pg_dist_placement where shardid = ${number} and groupid = ${node})`;
  return { ...entity, table: { ...entity.table, node: { key: `${group}:${shard}`, guard } } };
}

/** The snapshot and the entity for a read, each made once for as long as the snapshot lives. */
export function makeSnapshotsOnNodes() {
  const snapshots = new WeakMap<Workspace, Workspace>();
  const roots = new WeakMap<Entity, Entity>();
  return (workspace: Workspace, { name }: Entity): { workspace: Workspace; entity: Entity } | undefined => {
    const onNode = snapshots.get(workspace) ?? buildNodeSnapshot(workspace);
    const entity = onNode?.entities.get(name);
    if (onNode === undefined || entity === undefined) return undefined;
    const root = roots.get(entity) ?? buildNodeRoot(workspace.placement as Placement, entity);
    snapshots.set(workspace, onNode);
    roots.set(entity, root);
    return { workspace: onNode, entity: root };
  };
}
