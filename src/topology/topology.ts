// Where the tables of workspaces lie: in the one database, or on nodes that it coordinates. Everything that depends on it
// asks this interface, which says "here" by default; src/citus/ is the other answer, and is loaded only where the database
// coordinates a cluster.

import type { NodeStatus } from '../database/executor.ts';
import type { Database, Executor, Session } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import type { Placement, Workspace } from '../model/workspace.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

type Queryable = Pick<Session, 'query'>;

/** All nodes together: unavailable while any of them is silent. */
export interface EveryNode extends NodeStatus {
  /** `host:port` of those that are silent. */
  readonly names: () => readonly string[];
}

/** What a read works with on the node of its workspace. */
export interface NodeRead {
  readonly workspace: Workspace;
  readonly entity: Entity;
  readonly executor: Executor;
}

/** Tables of a schema that somebody waits for; `exclusive`: readers are in the way, too. */
export interface TableLocks {
  readonly schema: string;
  readonly tables: readonly string[];
  readonly exclusive: boolean;
}

/** A session of PostgreSQL that holds a lock. */
export interface LockHolder {
  /** Null for a prepared transaction, which has no process. */
  readonly pid: number | null;
  /** `application_name` of the session. */
  readonly application: string;
  /** Begin of its transaction; null when the database does not let us see it. */
  readonly since: string | null;
}

/** What nodes say of tables, as rows of (schema, name, last_pages, …) in a query, and whose nodes did not answer. */
export interface NodeSizes {
  /** Joins `place` of the statistics with what the nodes said, in the columns of `measured`. */
  readonly measured: Fragment;
  /** Ids of workspaces of which nothing is known. */
  readonly unavailable: ReadonlySet<string>;
}

export interface Topology {
  /** The node of a workspace by its PostgreSQL schema; undefined for one that lies in the database itself. */
  readonly locate: (databaseSchema: string) => Promise<Placement | undefined>;
  /** The node as statements wait for it; undefined as above. */
  readonly getNode: (workspace: Pick<Workspace, 'placement'>) => NodeStatus | undefined;
  /** For what all nodes are told, such as each change of a table. */
  readonly everyNode: EveryNode | undefined;
  /** `host:port` of nodes that do not answer. */
  readonly listUnavailableNodes: () => readonly string[];
  /** A statement took suspiciously long: looks after the nodes soon. */
  readonly checkSoon: () => void;
  /** Reads past the coordinator; undefined while they go the common way. */
  readonly routeRead: (workspace: Workspace, entity: Entity) => NodeRead | undefined;
  /** True when the total of the entity is kept on a node, or cannot be kept from here. */
  readonly maintainTotal: (entity: Pick<Entity, 'table' | 'statementForms'>) => boolean;
  /** How statements about records are written (sql/statement-forms.ts); undefined: as anywhere. */
  readonly statementForms: object | undefined;
  /** Why tables of workspaces can have no triggers, as words behind the description of a step; undefined: they can. */
  readonly triggersMissing: string | undefined;
  /** Bytes of the table `c.oid`, as SQL. */
  readonly tableBytes: Fragment;
  /** Statements by which a transaction takes locks where it is, and not on every node. */
  readonly localLockStatements: readonly Fragment[];
  /** Before the schema of a workspace with tables of these names is made, in its transaction. */
  readonly prepareSchema: (session: Queryable, tables: readonly string[]) => Promise<void>;
  /** The session on a node that holds the tables and began first. */
  readonly findLockHolder: (session: Queryable, locks: TableLocks) => Promise<LockHolder | undefined>;
  /** For whom a session of the database waits on nodes. */
  readonly findBlocker: (session: Queryable, pid: number) => Promise<LockHolder | undefined>;
  /** Ends autovacuums on nodes that hold the tables. */
  readonly endVacuums: (session: Queryable, locks: TableLocks) => Promise<void>;
  /** The share, 0 to 1, that is built of an index on nodes for a session of the database; `share`: of the view that tells it. */
  readonly findIndexProgress: (session: Queryable, pid: number, progress: Fragment) => Promise<number | undefined>;
  /** Sizes of the tables of some workspaces, as nodes have them; undefined: the database itself knows. */
  readonly measureSizes: (db: Database, workspaceIds: readonly string[]) => Promise<NodeSizes | undefined>;
}

const findNothing = async (): Promise<undefined> => undefined;

/** One PostgreSQL. */
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
  tableBytes: sql`pg_relation_size(c.oid)`,
  localLockStatements: [],
  prepareSchema: findNothing,
  findLockHolder: findNothing,
  findBlocker: findNothing,
  endVacuums: findNothing,
  findIndexProgress: findNothing,
  measureSizes: findNothing,
};

/** Whether the database coordinates a cluster of Citus, the one kind that there is. */
export async function coordinatesNodes(db: Queryable): Promise<boolean> {
  const rows = await db.query(toQuery(sql`select from pg_extension where extname = 'citus'`));
  return rows.length > 0;
}
