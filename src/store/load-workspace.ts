// Builds the Workspace snapshot that requests use from rows of the control tables. No other file does.
import type { Row, Session } from '../database/pool.ts';
import { type AgentSettings, DEFAULT_AGENT_SETTINGS } from '../model/agent-settings.ts';
import type { Field, MigrationGate } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import { completeLimits, type StoredLimits } from '../model/limits.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import type { ConstraintOwner, IdentityProvider, Workspace, WorkspaceState } from '../model/workspace.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { member } from '../schema/renames.ts';
import { buildTable, type Table } from '../schema/tables.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from './databases.ts';
import { parseRequiredClaims } from './identity-provider.ts';
import { isUpToDate, upgradeWorkspaceIn } from './workspace-files.ts';
import { WORKSPACES } from './workspaces.ts';

/** Row of a workspace in the control tables; `document` is the result of parseSchemaDocument(). */
export interface WorkspaceRow {
  readonly id: string;
  readonly organizationId?: string;
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly version: string;
  readonly databaseSchema: string;
  readonly document: SchemaDocument;
  readonly names: PhysicalNames;
  readonly entityIds: Readonly<Record<string, number>>;
  /** Random value that differs from that of every other workspace, including the one that a backup was made of. */
  readonly epoch?: string;
  /** Statement forms of the topology. */
  readonly statementForms?: object | undefined;
  /** Number of moves between nodes of a cluster that have started plus those that have ended. */
  readonly moves?: number;
  readonly corsOrigins?: readonly string[] | null;
  readonly state?: WorkspaceState;
  readonly limits?: StoredLimits;
  /** Requests that a running migration refuses, by entity. */
  readonly gates: Readonly<Record<string, MigrationGate>>;
}

export function makeWorkspace(
  row: WorkspaceRow,
  identityProvider: IdentityProvider | null = null,
  agents: AgentSettings = DEFAULT_AGENT_SETTINGS,
): Workspace {
  const ungated = buildEntities(row.document, row.databaseSchema, row.names);
  const { epoch = '', moves = 0, statementForms } = row;
  const entities = new Map(
    [...ungated].map(([name, entity]) => [
      name,
      { ...entity, epoch, moves, statementForms, gate: member(row.gates, name) ?? null },
    ]),
  );
  const constraints = new Map<string, ConstraintOwner>();
  for (const entity of entities.values()) {
    const table = buildTable(entity, member(row.document.entities, entity.name) ?? {}, entities, row.names);
    for (const [name, owner] of collectOwners(table)) constraints.set(name, owner);
  }
  return {
    id: row.id,
    organizationId: row.organizationId ?? '',
    organization: row.organization,
    slug: row.slug,
    name: row.name,
    version: row.version,
    databaseSchema: row.databaseSchema,
    entities,
    roles: row.document.roles ?? [],
    identityProvider,
    agents,
    state: row.state ?? 'active',
    limits: completeLimits(row.limits ?? {}),
    corsOrigins: row.corsOrigins ?? null,
    entityIds: new Map(
      Object.entries(row.entityIds).flatMap(([name, id]) => (entities.has(name) ? [[name, String(id)]] : [])),
    ),
    constraints,
    part: null,
  };
}

function* collectOwners(table: Table): Iterable<readonly [string, ConstraintOwner]> {
  const makeOwner = (kind: ConstraintOwner['kind'], fields: readonly Field[], relation?: string): ConstraintOwner => ({
    entity: table.entity,
    kind,
    fields: fields.map((field) => field.name),
    relation,
  });
  yield [table.primaryKey, { ...makeOwner('primaryKey', []), fields: ['id'] }];
  for (const check of table.checks) yield [check.name, makeOwner('check', [check.field])];
  for (const { name, field, relation } of table.references) {
    yield [name, makeOwner('reference', [field], relation.name)];
  }
  for (const index of table.indexes.values()) {
    if (index.unique) yield [index.name, makeOwner('unique', index.fields)];
  }
}

const COLUMNS =
  (): Fragment => sql`w.id, o.id::text, o.slug, w.slug, w.name, w.version::text, w.database_schema, w.document::text, w.names::text, w.gates::text, w.entity_ids::text, w.epoch, w.moves::text, w.cors_origins::text, w.state, (o.limits || w.limits)::text,
  ${isUpToDate()}, a.enabled, a.writes, a.entities::text[]::text, p.issuer_url, p.jwks_uri, p.audience, p.default_permissions, p.enabled, p.role_claim, p.required_claims::text`;

/**
 * Loads the snapshot of a workspace by its slugs, or undefined if there is none. Uses one statement, as the directory
 * and the workspace lie in one database. A workspace that lacks files of install/workspace gets them first.
 */
export async function loadWorkspace(
  databases: Databases,
  organization: string,
  slug: string,
): Promise<Workspace | undefined> {
  const { topology } = databases;
  const rows = await databases.directory.run(
    toQuery(
      sql`select ${COLUMNS()} from ${WORKSPACES}
left join wda.identity_provider p on p.workspace_id = w.id
left join wda.agent_settings a on a.workspace_id = w.id
where o.slug = ${organization} and w.slug = ${slug}`,
      'load-workspace',
    ),
    'read',
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const [
    id,
    organizationId,
    org,
    workspaceSlug,
    name,
    version,
    databaseSchema,
    document,
    names,
    gates,
    entityIds,
    epoch,
    moves,
    corsOrigins,
    state,
    limits,
    isCurrent,
    ...settings
  ] = row as readonly string[];
  // During a move all requests use the coordinator: the old node sees the end of the move a moment after it.
  const isRelocating = Number(moves) % 2 === 1;
  const placement = isRelocating ? undefined : await topology.locate(databaseSchema as string);
  if (isCurrent === 'f') await upgradeWorkspaceIn(databases, id as string);
  const workspace = makeWorkspace(
    {
      id: id as string,
      organizationId: organizationId as string,
      organization: org as string,
      slug: workspaceSlug as string,
      name: name as string,
      version: version as string,
      databaseSchema: databaseSchema as string,
      document: parseDocument(document as string),
      names: JSON.parse(names as string),
      gates: JSON.parse(gates as string),
      entityIds: JSON.parse(entityIds as string),
      epoch: epoch as string,
      statementForms: topology.statementForms,
      moves: Number(moves),
      corsOrigins: JSON.parse(corsOrigins ?? 'null'),
      state: state as WorkspaceState,
      limits: JSON.parse(limits as string),
    },
    parseIdentityProvider(settings.slice(3)),
    parseAgentSettings(settings),
  );
  return placement === undefined ? workspace : { ...workspace, placement };
}

/** Parses a row of settings; `entities` is a PostgreSQL array of numbers: `{1,2}`. */
function parseAgentSettings([enabled, writes, entities]: Row): AgentSettings {
  if (enabled === undefined || enabled === null) return DEFAULT_AGENT_SETTINGS;
  const ids = entities?.slice(1, -1).split(',') ?? null;
  return { enabled: enabled === 't', writes: writes as AgentSettings['writes'], entities: ids };
}

function parseIdentityProvider([
  issuerUrl,
  jwksUri,
  audience,
  permissions,
  enabled,
  roleClaim,
  requiredClaims,
]: Row): IdentityProvider | null {
  if (issuerUrl === undefined || issuerUrl === null) return null;
  return {
    issuerUrl,
    jwksUri: jwksUri ?? null,
    audience: audience ?? null,
    defaultPermissions: permissions as IdentityProvider['defaultPermissions'],
    enabled: enabled === 't',
    roleClaim: roleClaim ?? null,
    requiredClaims: parseRequiredClaims(requiredClaims),
  };
}

/** Parses a stored document: numbers with all digits, members in their order. */
export function parseDocument(text: string): SchemaDocument {
  return parseExact(text) as SchemaDocument;
}

/**
 * Returns the version in force as the session sees it in its transaction, or undefined if the workspace does not exist.
 */
export async function loadCurrentVersion(session: Pick<Session, 'query'>, id: string): Promise<string | undefined> {
  const [row] = await session.query<{ version: string }>(
    toQuery(sql`select version::text as version from wda.workspace where id = ${id}::bigint`),
  );
  return row?.version;
}
