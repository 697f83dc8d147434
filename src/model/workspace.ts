// The snapshot of a workspace that a request works with: immutable, replaced as a whole when anything in it changes.
import type { AgentSettings } from './agent-settings.ts';
import type { Entity } from './entity.ts';

/** One constraint or index of a table, as the field or relation that it belongs to. */
export interface ConstraintOwner {
  readonly entity: string;
  readonly kind: 'unique' | 'reference' | 'check' | 'primaryKey';
  /** Names of the fields; several for a constraint over several columns. */
  readonly fields: readonly string[];
  /** For a reference: the belongsTo relation. */
  readonly relation: string | undefined;
}

/** The identity provider whose users may use the workspace (OpenID Connect Discovery, RFC 7519). */
export interface IdentityProvider {
  /** Equal to the tokens' `iss` to the byte. */
  readonly issuerUrl: string;
  /** null: discovered from the issuer. */
  readonly jwksUri: string | null;
  /** null: `aud` is not checked. */
  readonly audience: string | null;
  readonly defaultPermissions: 'READ_ONLY' | 'READ_WRITE';
  readonly enabled: boolean;
}

export interface ClusterNode {
  /** Its number in the cluster, which stays when its address changes. */
  readonly group: string;
  readonly host: string;
  readonly port: number;
}

/** All tables of a workspace lie together, on one node at a time. */
export interface Placement {
  readonly node: ClusterNode;
  /** One of its tables, by the number that the cluster knows it by: where this one lies lie all. */
  readonly shard: string;
  /** Names of tables -> what they are called on their node. */
  readonly tables: ReadonlyMap<string, string>;
}

export interface Workspace {
  readonly id: string;
  readonly organization: string;
  readonly slug: string;
  /** For people. */
  readonly name: string;
  /** Grows with every change of schema, settings, credentials or rules. */
  readonly version: string;
  /** PostgreSQL schema that holds the tables. */
  readonly databaseSchema: string;
  readonly entities: ReadonlyMap<string, Entity>;
  readonly identityProvider: IdentityProvider | null;
  readonly agents: AgentSettings;
  /**
   * Names of entities -> their ids, which stay when an entity is renamed and never name another one. An entity without an
   * id is in no scope.
   */
  readonly entityIds: ReadonlyMap<string, string>;
  /** Names of constraints in the database -> what they guard, to explain a refusal by the database. */
  readonly constraints: ReadonlyMap<string, ConstraintOwner>;
  /** Where it lies on a cluster; null or missing: in the one database, or not known. */
  readonly placement?: Placement | null;
  /** Of a part (restricted.ts): the whole snapshot, and a text that no other part of it has. null: it is whole. */
  readonly part: { readonly of: Workspace; readonly key: string } | null;
}

/** The entity that a relation leads to. Snapshots are closed: every relation of a snapshot resolves. */
export function getEntity(workspace: Workspace, name: string): Entity {
  const entity = workspace.entities.get(name);
  if (entity === undefined) throw new TypeError(`snapshot of ${workspace.slug} lacks entity ${name}`);
  return entity;
}
