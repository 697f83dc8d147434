// Shared schemas of organizations in the control tables: their versions, which never change, and the workspaces that follow them.
import type { Database, Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { SchemaDocument } from '../schema/format.ts';
import type { Identities } from '../schema/identities.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { isViolation, makeNameConflict, toControlError } from './control-error.ts';
import { parseDocument } from './load-workspace.ts';
import type { PlannedStep } from './migrations.ts';
import { loadPage, type PageOf } from './pages.ts';
import { findRolloutVersion } from './rollouts.ts';

type Queryable = Pick<Session, 'query'>;
type PageRequest = { readonly page: number; readonly size: number };

export interface SharedSchema {
  readonly id: string;
  /** A slug, unique in its organization. */
  readonly name: string;
  readonly description: string | null;
  /** The newest version, or null before the first. */
  readonly newest: number | null;
  /** Number of workspaces. */
  readonly followers: number;
  readonly createdAt: Date;
}

const COLUMNS: Fragment = sql`s.id, s.name, s.description, s.created_at as "createdAt",
  (select max(v.version) from wda.shared_schema_version v where v.shared_schema_id = s.id) as newest,
  (select count(*) from wda.workspace w where w.shared_schema_id = s.id)::int4 as followers`;

/** Creates a shared schema without versions; 409 when the organization has one of this name. */
export async function createSharedSchema(
  session: Queryable,
  organizationId: string,
  { name, description }: Pick<SharedSchema, 'name' | 'description'>,
): Promise<SharedSchema> {
  const rows = await session
    .query<{ id: string; createdAt: Date }>(
      toQuery(sql`insert into wda.shared_schema (organization_id, name, description) values (${organizationId}, ${name}, ${description})
returning id, created_at as "createdAt"`),
    )
    .catch((error) => {
      throw isViolation(error, 'shared_schema_name')
        ? makeNameConflict(`Shared schema ${name}`, 'name', error)
        : toControlError(error);
    });
  return { ...(rows[0] as { id: string; createdAt: Date }), name, description, newest: null, followers: 0 };
}

export function loadSharedSchemas(
  db: Database,
  organizationId: string,
  page: PageRequest,
): Promise<PageOf<SharedSchema>> {
  return loadPage(
    db,
    sql`select ${COLUMNS} from wda.shared_schema s where s.organization_id = ${organizationId}`,
    page,
  );
}

export async function findSharedSchema(
  db: Queryable,
  organizationId: string,
  name: string,
): Promise<SharedSchema | undefined> {
  const rows = await db.query<SharedSchema>(
    toQuery(
      sql`select ${COLUMNS} from wda.shared_schema s where s.organization_id = ${organizationId} and s.name = ${name}`,
    ),
  );
  return rows[0];
}

const MAX_NAMES = 1000;

/** Returns the name that was probably meant, or null: one of 1,000 at most. */
export async function suggestSharedSchema(db: Queryable, organizationId: string, name: string): Promise<string | null> {
  const rows = await db.query<{ name: string }>(
    toQuery(
      sql`select s.name from wda.shared_schema s where s.organization_id = ${organizationId} order by s.id limit ${MAX_NAMES}`,
    ),
  );
  return closest(
    name,
    rows.map((row) => row.name),
  );
}

/** Deletes a shared schema with its versions; false if it does not exist, 409 while workspaces follow it. */
export async function deleteSharedSchema(session: Queryable, { id, name }: SharedSchema): Promise<boolean> {
  const rows = await session
    .query(toQuery(sql`delete from wda.shared_schema where id = ${id} returning id`))
    .catch((error) => {
      if (!isViolation(error, 'workspace_shared_schema')) throw toControlError(error);
      throw conflict(
        'SHARED_SCHEMA_FOLLOWED',
        `Workspaces follow shared schema ${name}: end that first, by \`follows: null\` of each`,
        undefined,
        error,
      );
    });
  return rows.length > 0;
}

/* ---- versions ---- */

/** A step from the version before, without what depends on the records of a workspace. */
export type VersionStep = Pick<PlannedStep, 'entity' | 'kind' | 'description' | 'destructive' | 'opens' | 'grants'>;

export interface SharedSchemaVersion {
  readonly version: number;
  readonly document: SchemaDocument;
  readonly identities: Identities;
  readonly steps: readonly VersionStep[];
  readonly createdAt: Date;
}

export type VersionSummary = Pick<SharedSchemaVersion, 'version' | 'createdAt'>;

/** Loads versions, newest first. */
export function loadSharedSchemaVersions(
  db: Database,
  schemaId: string,
  page: PageRequest,
): Promise<PageOf<VersionSummary>> {
  return loadPage(
    db,
    sql`select v.version as id, v.version, v.created_at as "createdAt" from wda.shared_schema_version v where v.shared_schema_id = ${schemaId}`,
    page,
    true,
  );
}

/** Loads a version; undefined if the schema has none of this number. `version`: the newest if it is undefined. */
export async function findSharedSchemaVersion(
  db: Queryable,
  schemaId: string,
  version?: number,
): Promise<SharedSchemaVersion | undefined> {
  const rows = await db.query<Omit<SharedSchemaVersion, 'document'> & { document: string }>(
    toQuery(sql`select v.version, v.document::text as document, v.identities, v.steps, v.created_at as "createdAt"
from wda.shared_schema_version v where v.shared_schema_id = ${schemaId}
  and (${version === undefined}::bool or v.version = ${version ?? 0}::int4) order by v.version desc limit 1`),
  );
  return rows[0] && { ...rows[0], document: parseDocument(rows[0].document) };
}

/** Locks a shared schema until the end of the transaction: its versions are made one after the other. */
export async function lockSharedSchema(session: Queryable, schemaId: string): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`select from wda.shared_schema where id = ${schemaId} for no key update`),
  );
  return rows.length > 0;
}

/** Stores a version, whose number is the next one, under the lock of its schema. */
export async function insertSharedSchemaVersion(
  session: Queryable,
  schemaId: string,
  { version, document, identities, steps }: Omit<SharedSchemaVersion, 'createdAt'>,
  createdBy: Actor,
): Promise<void> {
  await session.query(
    toQuery(sql`insert into wda.shared_schema_version (shared_schema_id, version, document, identities, steps, created_by)
values (${schemaId}, ${version}::int4, ${JSON.stringify(document)}::json, ${JSON.stringify(identities)}::json, ${JSON.stringify(steps)}::json,
  ${JSON.stringify(createdBy)}::jsonb)`),
  );
}

/**
 * Chooses the version that a new workspace gets, in its transaction: by default that of the rollout that has not ended, else the
 * newest. Undefined if there is none.
 */
export async function chooseVersion(
  session: Queryable,
  schemaId: string,
  version?: number,
): Promise<SharedSchemaVersion | undefined> {
  // Versions are not made meanwhile.
  await session.query(toQuery(sql`select from wda.shared_schema where id = ${schemaId} for share`));
  return findSharedSchemaVersion(session, schemaId, version ?? (await findRolloutVersion(session, schemaId)));
}

/* ---- workspaces that follow ---- */

/** A version of a shared schema, which a workspace has or will have. */
export interface Target {
  readonly schemaId: string;
  readonly version: number;
}

/** Stores which version a workspace follows, in the transaction that gives it the document; null ends it. */
export async function storeTarget(session: Queryable, workspaceId: string, target: Target | null): Promise<void> {
  await session.query(
    toQuery(sql`update wda.workspace set shared_schema_id = ${target?.schemaId ?? null}::bigint,
  shared_schema_version = ${target?.version ?? null}::int4 where id = ${workspaceId}::bigint`),
  );
}

/**
 * Stores the version to which a workspace was migrated, unless it has ceased to follow the schema meanwhile. For the
 * transaction of the switch.
 */
export async function advanceTarget(session: Queryable, workspaceId: string, target: Target): Promise<void> {
  await session.query(
    toQuery(sql`update wda.workspace set shared_schema_version = ${target.version}::int4
where id = ${workspaceId}::bigint and shared_schema_id = ${target.schemaId}::bigint`),
  );
}
