// Whether a move can be done, before it is noted: the node that it names, and what the nodes need.
import { isMigrating } from '../catalog/migrations.ts';
import { askNodes, type ClusterNode } from '../cluster/nodes.ts';
import type { Database } from '../db/pool.ts';
import { anotherMigrationRuns, conflict, listed, nodesAway, unknownNode, workspaceMoves } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { openMoveOf } from './store.ts';

/** The node of a name, `host:port`, or the host alone where it has one node. 400 with those that there are. */
export function nodeNamed(nodes: readonly ClusterNode[], name: string): ClusterNode {
  const fit = nodes.filter((node) => node.isActive && node.takesWorkspaces);
  const exact = fit.filter((node) => node.name === name);
  const [only, ...others] = exact.length > 0 ? exact : fit.filter(({ host }) => host === name);
  if (only !== undefined && others.length === 0) return only;
  const known = fit.map((node) => node.name);
  throw unknownNode(name, closest(name, known), known);
}

/** Citus tells every node where tables lie, and copies by logical replication, which the source must be able to send. */
export async function checkNodes(db: Database, sources: ReadonlySet<string>): Promise<void> {
  const answers = await askNodes<string>(db, "select to_json(current_setting('wal_level'))");
  const away = answers.filter(({ node, answer }) => node.isActive && answer === undefined);
  if (away.length > 0) throw nodesAway(away.map(({ node }) => node.name));
  const unprepared = answers.filter(({ node, answer }) => sources.has(node.name) && answer !== 'logical');
  if (unprepared.length > 0) {
    throw conflict(
      `Moves need wal_level=logical in PostgreSQL, which is not so on ${listed(unprepared.map(({ node }) => node.name))}`,
    );
  }
}

/** 409 while its schema is being changed or it is being moved, also before that has begun. */
export async function refuseBusy(db: Pick<Database, 'query'>, workspaceId: string): Promise<void> {
  const [row] = await db.query<{ migrating: boolean }>(toQuery(sql`select ${isMigrating(workspaceId)} as migrating`));
  if (row?.migrating === true) throw anotherMigrationRuns();
  if ((await openMoveOf(db, workspaceId)) !== undefined) throw workspaceMoves();
}
