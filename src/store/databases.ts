// Maps data to databases. There is one today, and it holds everything. Code that asks here rather than for "the"
// database keeps working when workspaces lie in several: a workspace's control rows and its tables always share one, as
// the switch of a migration is one transaction over both.
import type { Database } from '../database/pool.ts';
import { ONE_DATABASE, type Topology } from '../topology/topology.ts';

export interface Databases {
  /** The database of organizations, workspaces by their slugs, credentials, signing keys and processes. */
  readonly directory: Database;
  /** Returns the database with the schema document, the migrations and the tables of the workspace. */
  forWorkspace(workspace: { readonly id: string }): Database;
  /** Whether the tables lie in the database itself, or on nodes that it coordinates. Detected at the start. */
  readonly topology: Topology;
  /** Returns each database that holds workspaces, without duplicates. */
  all(): readonly Database[];
}

/** Uses one database for everything. */
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
