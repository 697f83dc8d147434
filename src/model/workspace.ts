// The snapshot of a workspace that a request works with: immutable, replaced as a whole when anything in it changes.
import type { AgentSettings } from './agent-settings.ts';
import type { Claims } from './claim.ts';
import type { Entity } from './entity.ts';
import type { Limits } from './limits.ts';

/** Field or relation of a constraint or index of a table. */
export interface ConstraintOwner {
  readonly entity: string;
  readonly kind: 'unique' | 'reference' | 'check' | 'primaryKey';
  /** Names of the fields; several for a constraint over several columns. */
  readonly fields: readonly string[];
  /** For a reference: the belongsTo relation. */
  readonly relation: string | undefined;
}

/** Identity provider whose users may use the workspace (OpenID Connect Discovery, RFC 7519). */
export interface IdentityProvider {
  /** Issuer, equal to the tokens' `iss` to the byte. */
  readonly issuerUrl: string;
  /** URL of the key set, or null to discover it from the issuer. */
  readonly jwksUri: string | null;
  /** Audience, or null if `aud` is not checked. */
  readonly audience: string | null;
  readonly defaultPermissions: 'READ_ONLY' | 'READ_WRITE';
  /** Claim with the roles of a user, or null: then no user has one. */
  readonly roleClaim: string | null;
  /** Claims that a token must carry with these values (model/claim.ts), or null if none is required. */
  readonly requiredClaims: Claims | null;
  readonly enabled: boolean;
}

export interface ClusterNode {
  /** Number in the cluster, which stays when the node's address changes. */
  readonly group: string;
  readonly host: string;
  readonly port: number;
}

/** Node of a workspace; all its tables lie together, on one node at a time. */
export interface Placement {
  readonly node: ClusterNode;
  /** Shard number of one of its tables in the cluster; the others lie on the same node. */
  readonly shard: string;
  /** Names of tables -> their names on the node. */
  readonly tables: ReadonlyMap<string, string>;
}

/** Whether the data API reads and writes, only reads, or does neither. The admin API works in every state. */
export const WORKSPACE_STATES = ['active', 'readOnly', 'suspended'] as const;
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

export interface Workspace {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  readonly slug: string;
  /** Name for people. */
  readonly name: string;
  /** Version that grows with every change of schema, settings, credentials or rules. */
  readonly version: string;
  /** PostgreSQL schema that holds the tables. */
  readonly databaseSchema: string;
  readonly entities: ReadonlyMap<string, Entity>;
  /** Roles that the schema document declares. */
  readonly roles: readonly string[];
  readonly identityProvider: IdentityProvider | null;
  readonly agents: AgentSettings;
  readonly state: WorkspaceState;
  readonly limits: Limits;
  /** Origins whose pages may use the workspace (CORS), or null for those of the server. */
  readonly corsOrigins: readonly string[] | null;
  /**
   * Names of entities -> their ids, which stay when an entity is renamed and never name another one. An entity without
   * an id is in no scope.
   */
  readonly entityIds: ReadonlyMap<string, string>;
  /** Names of constraints in the database -> their fields, to explain a refusal by the database. */
  readonly constraints: ReadonlyMap<string, ConstraintOwner>;
  /** Location on a cluster; null or missing in the one database, or if unknown. */
  readonly placement?: Placement | null;
  /** Source of a part (restricted.ts): the whole snapshot, and a key of this part alone. Null if it is whole. */
  readonly part: {
    readonly of: Workspace;
    readonly key: string;
    /** Part that grants limit further (granted.ts); missing without grants. */
    readonly beforeGrants?: Workspace;
  } | null;
}

/** Returns the entity that a relation leads to. Snapshots are closed: every relation of a snapshot resolves. */
export function getEntity(workspace: Pick<Workspace, 'entities' | 'slug'>, name: string): Entity {
  const entity = workspace.entities.get(name);
  if (entity === undefined) throw new TypeError(`snapshot of ${workspace.slug} lacks entity ${name}`);
  return entity;
}

/** Returns the epoch of the workspace, which each entity has: positions of changes of another one mean nothing. */
export const getEpoch = ({ entities }: Pick<Workspace, 'entities'>): string =>
  entities.values().next().value?.epoch ?? '';
