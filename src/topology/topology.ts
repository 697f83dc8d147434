// Topology of the tables of workspaces: in one database, or on nodes that it coordinates. Everything that depends on it
// uses this interface, whose default is one database; src/citus/ is the other implementation and is loaded only where
// the database coordinates a cluster.

import type { NodeStatus } from '../database/executor.ts';
import type { Database, Executor, Session } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import type { Placement, Workspace } from '../model/workspace.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

type Queryable = Pick<Session, 'query'>;

/** All nodes together: unavailable while any of them is silent. */
export interface EveryNode extends NodeStatus {
  /** Names (`host:port`) of the silent nodes. */
  readonly names: () => readonly string[];
}

/** Target of a read on the node of its workspace. */
export interface NodeRead {
  readonly workspace: Workspace;
  readonly entity: Entity;
  readonly executor: Executor;
}

/** Tables of a schema that are to be locked. `exclusive`: readers block it, too. */
export interface TableLocks {
  readonly schema: string;
  readonly tables: readonly string[];
  readonly exclusive: boolean;
}

/** A session of PostgreSQL that holds a lock. */
export interface LockHolder {
  /** Process id, or null for a prepared transaction, which has no process. */
  readonly pid: number | null;
  /** `application_name` of the session. */
  readonly application: string;
  /** Start of its transaction, or null if the database hides it. */
  readonly since: string | null;
}

/** Sizes of tables as reported by nodes, and the workspaces whose nodes did not respond. */
export interface NodeSizes {
  /** Joins `place` of the statistics with the sizes, as columns of `measured`. */
  readonly measured: Fragment;
  /** Ids of workspaces whose sizes are unknown. */
  readonly unavailable: ReadonlySet<string>;
}

export interface Topology {
  /** Finds the node of a workspace by its PostgreSQL schema, or undefined if it lies in the database itself. */
  readonly locate: (databaseSchema: string) => Promise<Placement | undefined>;
  /** Returns the status of the workspace's node, or undefined if it lies in the database itself. */
  readonly getNode: (workspace: Pick<Workspace, 'placement'>) => NodeStatus | undefined;
  /** Status for statements that reach all nodes, such as each change of a table. */
  readonly everyNode: EveryNode | undefined;
  /** Names (`host:port`) of nodes that do not respond. */
  readonly listUnavailableNodes: () => readonly string[];
  /** Requests a prompt check of the nodes after a suspiciously slow statement. */
  readonly checkSoon: () => void;
  /** Returns the target of reads that bypass the coordinator, or undefined if they go through it. */
  readonly routeRead: (workspace: Workspace, entity: Entity) => NodeRead | undefined;
  /** True when the total of the entity is maintained on a node, or cannot be maintained from here. */
  readonly maintainTotal: (entity: Pick<Entity, 'table' | 'statementForms'>) => boolean;
  /** Forms of statements about records (sql/statement-forms.ts), or undefined for the standard ones. */
  readonly statementForms: object | undefined;
  /** Reason why tables of workspaces cannot have triggers, as a suffix of a step's description, or undefined. */
  readonly triggersMissing: string | undefined;
  /** Whether entities may keep changes of their records. */
  readonly keepsChanges: boolean;
  /** SQL for the bytes of the table `c.oid`. */
  readonly tableBytes: Fragment;
  /** Statements that make a transaction take locks locally, and not on every node. */
  readonly localLockStatements: readonly Fragment[];
  /** Prepares the schema of a new workspace with tables of these names, in its transaction. */
  readonly prepareSchema: (session: Queryable, tables: readonly string[]) => Promise<void>;
  /** Finds the session on a node that holds the tables and started first. */
  readonly findLockHolder: (session: Queryable, locks: TableLocks) => Promise<LockHolder | undefined>;
  /** Finds the session on a node that blocks a session of the database. */
  readonly findBlocker: (session: Queryable, pid: number) => Promise<LockHolder | undefined>;
  /** Cancels autovacuums on nodes that hold the tables. */
  readonly endVacuums: (session: Queryable, locks: TableLocks) => Promise<void>;
  /** Finds the built share, 0 to 1, of an index on nodes for a session of the database. `progress`: column for it. */
  readonly findIndexProgress: (session: Queryable, pid: number, progress: Fragment) => Promise<number | undefined>;
  /** Measures table sizes of some workspaces on their nodes, or returns undefined if the database itself knows them. */
  readonly measureSizes: (db: Database, workspaceIds: readonly string[]) => Promise<NodeSizes | undefined>;
}

const findNothing = async (): Promise<undefined> => undefined;

/** Topology of a single PostgreSQL. */
export const ONE_DATABASE: Topology = {
  locate: findNothing,
  getNode: () => undefined,
  everyNode: undefined,
  listUnavailableNodes: () => [],
  checkSoon: () => undefined,
  routeRead: () => undefined,
  maintainTotal: () => false,
  statementForms: undefined,
  triggersMissing: undefined,
  keepsChanges: true,
  tableBytes: sql`pg_relation_size(c.oid)`,
  localLockStatements: [],
  prepareSchema: findNothing,
  findLockHolder: findNothing,
  findBlocker: findNothing,
  endVacuums: findNothing,
  findIndexProgress: findNothing,
  measureSizes: findNothing,
};

/** True when the database coordinates a cluster of Citus, the only supported kind. */
export async function coordinatesNodes(db: Queryable): Promise<boolean> {
  const rows = await db.query(toQuery(sql`select from pg_extension where extname = 'citus'`));
  return rows.length > 0;
}
