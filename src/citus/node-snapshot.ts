// Builds the snapshot of a workspace for its node: the same entities with the names of their shards. Reads that bypass
// the coordinator are planned with it.
import type { Entity } from '../model/entity.ts';
import type { Placement, Workspace } from '../model/workspace.ts';
import { integerLiteral, sql } from '../sql/fragment.ts';

/** Table of stored totals; its shard has its number after this name. */
const TOTAL = '$total';

/** Builds the snapshot for the node of the workspace, or returns undefined if a table has no known placement. */
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
 * Returns the entity of a node's snapshot as the root of a statement, with a condition that the table still lies there;
 * all other tables of the statement lie on the same node. A table that remains after a move is outdated, so the
 * condition fails then (22012). It is evaluated once a statement, in the same snapshot as the records: 5 % of a read by
 * id.
 */
export function buildNodeRoot({ node: { group }, shard }: Placement, entity: Entity): Entity {
  const [number, node] = [shard, group].map((digits) => integerLiteral(Number(digits)));
  const guard = sql`(select 1 / count(*) > 0 from pg_catalog.pg_dist_placement where shardid = ${number} and groupid = ${node})`;
  return { ...entity, table: { ...entity.table, node: { key: `${group}:${shard}`, guard } } };
}

/** Caches the snapshots and entities of nodes for as long as their snapshots live. */
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
