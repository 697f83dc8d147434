// The node on which a workspace lies, for work that begins without its snapshot.
import type { NodeStatus } from '../database/executor.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from './databases.ts';

/** Undefined for a workspace that lies in the database itself, or is gone. No node is asked. */
export async function findNode(databases: Databases, id: string): Promise<NodeStatus | undefined> {
  const [row] = await databases
    .forWorkspace({ id })
    .query<{ schema: string }>(
      toQuery(sql`select database_schema as schema from wda.workspace where id = ${id}::bigint`),
    );
  const placement = row === undefined ? undefined : await databases.topology.locate(row.schema);
  return databases.topology.getNode({ placement: placement ?? null });
}
