// Finds the node of a workspace, for work that starts without its snapshot.
import type { NodeStatus } from '../database/executor.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from './databases.ts';

/**
 * Returns the node, or undefined for a workspace in the database itself and for one that does not exist. Sends nothing
 * to a node.
 */
export async function findNode(databases: Databases, id: string): Promise<NodeStatus | undefined> {
  const [row] = await databases
    .forWorkspace({ id })
    .query<{ schema: string }>(
      toQuery(sql`select database_schema as schema from wda.workspace where id = ${id}::bigint`),
    );
  const placement = row === undefined ? undefined : await databases.topology.locate(row.schema);
  return databases.topology.getNode({ placement: placement ?? null });
}
