// Which database holds what. There is one today, and it holds everything. Code that asks here rather than for "the"
// database keeps working when workspaces lie in several: a workspace's control rows and its tables always lie in one,
// as the switch of a migration is one transaction over both.
import type { Nodes } from '../cluster/node-reads.ts';
import type { EveryNode, NodeWatch } from '../cluster/watch.ts';
import type { Database, Executor } from '../db/pool.ts';
import type { Place } from '../db/work.ts';
import type { Placement, Workspace } from '../model/workspace.ts';

export interface Databases {
  /** Holds what this room reads: organizations, workspaces by their slugs, credentials, signing keys, processes. */
  readonly directory: Database;
  /** Holds the schema document, the migrations and the tables of the workspace. */
  of(workspace: { readonly id: string }): Database;
  /** Where a workspace lies on a cluster of databases; undefined for one that lies in this one. */
  place(databaseSchema: string): Promise<Placement | undefined>;
  /** Runs reads where the workspace lies on a cluster; undefined when they go through the database as all else does. */
  reader(placement: Placement): Executor | undefined;
  /** The node of the cluster on which the workspace lies; undefined for one that lies in this database. */
  nodeOf(workspace: Pick<Workspace, 'placement'>): Place | undefined;
  /** All nodes of the cluster together, for what each of them is told; away while one of them is silent. */
  readonly everyNode: EveryNode | undefined;
  /** Each database that holds workspaces, once. */
  all(): readonly Database[];
}

/** One database for all; `nodes`: those of the cluster that it may coordinate. */
export function makeDatabases(
  database: Database,
  nodes?: Pick<Nodes, 'place' | 'reader'> & Pick<NodeWatch, 'nodeOf' | 'everyNode'>,
): Databases {
  const all = [database];
  return {
    directory: database,
    of: () => database,
    place: async (databaseSchema) => nodes?.place(databaseSchema),
    reader: (placement) => nodes?.reader(placement),
    nodeOf: ({ placement }) => (placement == null ? undefined : nodes?.nodeOf(placement)),
    everyNode: nodes?.everyNode,
    all: () => all,
  };
}
