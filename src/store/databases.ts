// Which database holds what. There is one today, and it holds everything. Code that asks here rather than for "the"
// database keeps working when workspaces lie in several: a workspace's control rows and its tables always lie in one,
// as the switch of a migration is one transaction over both.
import type { Database } from '../database/pool.ts';
import { ONE_DATABASE, type Topology } from '../topology/topology.ts';

export interface Databases {
  /** Holds what this room reads: organizations, workspaces by their slugs, credentials, signing keys, processes. */
  readonly directory: Database;
  /** Holds the schema document, the migrations and the tables of the workspace. */
  forWorkspace(workspace: { readonly id: string }): Database;
  /** Whether their tables lie in it, or on nodes that it coordinates. Found out at the start. */
  readonly topology: Topology;
  /** Each database that holds workspaces, once. */
  all(): readonly Database[];
}

/** One database for all. */
export function makeDatabases(database: Database, topology: () => Topology = () => ONE_DATABASE): Databases {
  const all = [database];
  return {
    directory: database,
    forWorkspace: () => database,
    get topology() {
      return topology();
    },
    all: () => all,
  };
}
