// Migrations in the control tables: their request, progress and outcome.
import type { Database, Session } from '../database/pool.ts';
import type { Operator, Owner, Person } from '../model/principal.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { LockHolder } from '../topology/topology.ts';
import type { Actor } from './activity.ts';
import { loadPage, type PageOf } from './pages.ts';
import { isAdministeredBy } from './people.ts';
import { WORKSPACES } from './workspaces.ts';

type Queryable = Pick<Session, 'query'>;

export type MigrationState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
export type Strategy = 'online' | 'blocking';

/** Number of records that make a step impossible, and up to ten of their ids. */
export interface Conflicts {
  readonly count: number;
  readonly sampleIds: readonly number[];
}

export interface PlannedStep {
  readonly entity: string;
  readonly kind: string;
  readonly description: string;
  readonly destructive: boolean;
  /** For a change of grants: whether it opens the entity to every user. */
  readonly opens?: boolean;
  /** For a change of grants: the new ones as sentences. */
  readonly grants?: readonly string[];
  readonly blocksReads: boolean;
  readonly blocksWrites: boolean;
  readonly estimatedSeconds: number;
  readonly conflicts: Conflicts | null;
}

export interface MigrationStep extends PlannedStep {
  readonly state: MigrationState;
  /** Progress from 0 to 1. */
  readonly progress: number;
  /** Progress of a backfill: records that are done, and an estimate of all. */
  readonly records?: { readonly done: number; readonly total: number };
}

export interface MigrationError {
  readonly code: string;
  readonly message: string;
  readonly entity: string | null;
  readonly field: string | null;
  readonly count: number | null;
  readonly sampleIds: readonly number[];
}

/** The PostgreSQL session that holds a lock a migration waits for. */
export type Waiting = LockHolder;

export interface Migration {
  readonly id: string;
  readonly state: MigrationState;
  readonly strategy: Strategy;
  readonly steps: readonly MigrationStep[];
  readonly error: MigrationError | null;
  readonly waitingFor: Waiting | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly createdBy: Actor | null;
}

const COLUMNS: Fragment = sql`m.id, m.state, m.strategy, m.steps, m.error, m.waiting as "waitingFor", m.created_at as "createdAt", m.started_at as "startedAt", m.finished_at as "finishedAt", m.created_by as "createdBy"`;

export const isEnded = ({ state }: Pick<Migration, 'state'>): boolean => state !== 'pending' && state !== 'running';

export function loadMigrations(
  db: Database,
  workspaceId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Migration>> {
  return loadPage(db, sql`select ${COLUMNS} from wda.migration m where m.workspace_id = ${workspaceId}`, page, true);
}

export async function findMigration(db: Database, workspaceId: string, id: string): Promise<Migration | undefined> {
  const rows = await db.query<Migration>(
    toQuery(sql`select ${COLUMNS} from wda.migration m where m.workspace_id = ${workspaceId} and m.id = ${id}`),
  );
  return rows[0];
}

/** A migration with the slugs of the workspace whose schema it changes. */
export interface PlacedMigration extends Migration {
  readonly organization: string;
  readonly workspace: string;
}

/**
 * Loads migrations that have not ended, newest first, of the workspaces that the sender administers; each has at most one.
 */
export function loadOpenMigrations(
  db: Database,
  sender: Operator | Owner | Person,
  limit: number,
): Promise<readonly PlacedMigration[]> {
  return db.query<PlacedMigration>(
    toQuery(sql`select ${COLUMNS}, o.slug as organization, w.slug as workspace
from ${WORKSPACES} join wda.migration m on m.workspace_id = w.id
where m.state in ('pending', 'running') and ${isAdministeredBy(sender)}
order by m.id desc limit ${limit}`),
  );
}

/** Requests the cancellation of a migration; returns false if it has ended. */
export async function requestCancel(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`update wda.migration set cancel_requested = true
where workspace_id = ${workspaceId} and id = ${id} and state in ('pending', 'running') returning id`),
  );
  return rows.length > 0;
}

/** Builds a condition: the workspace is moving to another node. */
export const isRelocating = (workspaceId: string): Fragment =>
  sql`exists (select from wda.workspace where id = ${workspaceId} and moves % 2 = 1)`;

/** Builds a condition: the workspace has a migration that has not ended. */
export const isMigrating = (workspaceId: string): Fragment =>
  sql`exists (select from wda.migration where workspace_id = ${workspaceId} and state in ('pending', 'running'))`;

/** Loads the workspaces with an open migration or closed gates, whether or not a process works on them. */
export async function loadMigratingWorkspaces(db: Database): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    toQuery(sql`select workspace_id as id from wda.migration where state in ('pending', 'running')
union select id from wda.workspace where gates <> '{}'`),
  );
  return rows.map((row) => row.id);
}

/* ---- for the runner, which alone changes the state ---- */

// Limit for each workspace: a row contains the requested document, which may be a megabyte.
const MAX_MIGRATIONS = 200;

/** Records a migration and deletes all older ones but the newest 199. */
export async function insertMigration(
  session: Queryable,
  migration: {
    readonly workspaceId: string;
    readonly strategy: Strategy;
    readonly steps: readonly MigrationStep[];
    readonly document: SchemaDocument;
    /** Objects that it creates before the switch, as JSON. */
    readonly temporaryObjects: unknown;
    readonly createdBy: Actor;
  },
): Promise<string> {
  const rows = await session.query<{ id: string }>(
    toQuery(sql`with outlived as (
  delete from wda.migration where workspace_id = ${migration.workspaceId} and id <= (
    select id from wda.migration where workspace_id = ${migration.workspaceId}
    order by id desc limit 1 offset ${MAX_MIGRATIONS - 1}
  )
)
insert into wda.migration (workspace_id, strategy, steps, document, made, created_by)
values (${migration.workspaceId}, ${migration.strategy}, ${JSON.stringify(migration.steps)}::jsonb, ${JSON.stringify(migration.document)}::json,
  ${JSON.stringify(migration.temporaryObjects)}::jsonb, ${JSON.stringify(migration.createdBy)}::jsonb)
returning id`),
  );
  return (rows[0] as { id: string }).id;
}

/**
 * Stores the progress or the outcome of a migration; returns false, without a change, if it has ended. A statement that
 * a slow network delivers late must not open it again: recovery would revert the schema in force.
 * `unlessCancelled`: also returns false after requestCancel(); one of the two waits for the transaction of the other.
 */
export async function updateMigration(
  session: Queryable,
  id: string,
  change: {
    readonly state: MigrationState;
    readonly steps: readonly MigrationStep[];
    readonly error?: MigrationError | null;
    readonly unlessCancelled?: boolean;
  },
): Promise<boolean> {
  const { state, steps, error = null, unlessCancelled = false } = change;
  const rows = await session.query(
    toQuery(sql`update wda.migration set state = ${state}, steps = ${JSON.stringify(steps)}::jsonb,
  error = ${error === null ? null : JSON.stringify(error)}::jsonb,
  waiting = case when ${state} = 'running' then waiting end,
  started_at = case when ${state} = 'pending' then null else coalesce(started_at, now()) end,
  finished_at = case when ${state} in ('pending', 'running') then null else clock_timestamp() end
where id = ${id} and state in ('pending', 'running') and not (cancel_requested and ${unlessCancelled}) returning id`),
  );
  return rows.length > 0;
}

/** Stores the steps of a running migration, and never its state: for connections that do not hold the lock. */
export async function updateSteps(db: Database, id: string, steps: readonly MigrationStep[]): Promise<void> {
  await db.query(
    toQuery(
      sql`update wda.migration set steps = ${JSON.stringify(steps)}::jsonb where id = ${id} and state = 'running'`,
    ),
  );
}

/** Stores the session that a running migration waits for, or null when it no longer waits. */
export async function updateWaiting(session: Queryable, id: string, waiting: Waiting | null): Promise<void> {
  const text = waiting === null ? null : JSON.stringify(waiting);
  await session.query(
    toQuery(sql`update wda.migration set waiting = ${text}::jsonb
where id = ${id} and state = 'running' and waiting is distinct from ${text}::jsonb`),
  );
}

export async function isCancelRequested(session: Queryable, id: string): Promise<boolean> {
  const rows = await session.query<{ isRequested: boolean }>(
    toQuery(sql`select cancel_requested as "isRequested" from wda.migration where id = ${id}`),
  );
  return rows[0]?.isRequested === true;
}

export interface OpenMigration {
  readonly id: string;
  readonly state: 'pending' | 'running';
  readonly steps: readonly MigrationStep[];
  readonly temporaryObjects: unknown;
  readonly cancelRequested: boolean;
  /** Whether the requested document is in force. */
  readonly isInForce: boolean;
}

/** Returns the open migration of a workspace; there is at most one. */
export async function findOpenMigration(session: Queryable, workspaceId: string): Promise<OpenMigration | undefined> {
  const rows = await session.query<OpenMigration>(
    toQuery(sql`select m.id, m.state, m.steps, m.made as "temporaryObjects", m.cancel_requested as "cancelRequested",
  coalesce(m.document::text = w.document::text, false) as "isInForce"
from wda.migration m left join wda.workspace w on w.id = m.workspace_id
where m.workspace_id = ${workspaceId} and m.state in ('pending', 'running')`),
  );
  return rows[0];
}
