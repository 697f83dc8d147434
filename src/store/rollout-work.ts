// Statements of the processes that work on rollouts. A process works on a workspace of a rollout while it holds its lease: a
// result is stored under the lease alone, so a process that was stopped and has lost it changes nothing any more. Times are
// those of PostgreSQL, so no clock of another machine counts.
import type { Session } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { MigrationError } from './migrations.ts';
import type { FollowerConflict, LockedRollout, RolloutWorkspaceState } from './rollouts.ts';

type Queryable = Pick<Session, 'query'>;

/** A workspace of a rollout whose lease this process holds. */
export interface Assignment {
  readonly rolloutId: string;
  readonly workspaceId: string;
  readonly lease: string;
  /** Slugs. */
  readonly organization: string;
  readonly workspace: string;
  /** Name of the shared schema. */
  readonly schema: string;
  /** Times that it was taken, this one included. */
  readonly attempts: number;
  /** Whether an attempt before this one has started a migration, and no result of it is stored. */
  readonly hasMigration: boolean;
}

export type Held = Pick<Assignment, 'rolloutId' | 'workspaceId' | 'lease'>;

/** How the work on a workspace has ended. */
export interface Result {
  /** `waiting`: it is tried again after `dueMs`. */
  readonly state: Exclude<RolloutWorkspaceState, 'running'>;
  readonly dueMs?: number;
  /** Whether this was no attempt: others were in the way. */
  readonly isVoid?: boolean;
  readonly migration?: string;
  readonly error?: MigrationError;
  /** The result of a plan. */
  readonly conflicts?: readonly FollowerConflict[];
  readonly destructive?: boolean;
}

export interface HeldResult extends Result {
  readonly assignment: Held;
}

// A process that is killed gives its workspaces to others after this time, and the next poll. A process that only waits that
// long for its turn loses nothing: the other one finds the lock of the workspace taken, or the work done.
const LEASE = sql`clock_timestamp() + interval '4 s'`;

/** Returns the rollouts and plans that something is to be done for: they run, or have lost the process of a workspace. */
export async function loadOpenRollouts(db: Queryable): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    toQuery(sql`select id from wda.rollout where state in ('planning', 'running')
union select rollout_id from wda.rollout_workspace where state = 'running' and lease_until < clock_timestamp()`),
  );
  return rows.map(({ id }) => id);
}

/** Stores results under their leases, and gives the leases back. Returns how many workspaces have failed. */
export async function storeResults(
  session: Queryable,
  rolloutId: string,
  results: readonly HeldResult[],
): Promise<number> {
  const values = results.map(({ assignment: { workspaceId, lease }, ...result }) => ({
    workspaceId,
    lease,
    ...result,
  }));
  const [row] = await session.query<{ failed: number }>(
    toQuery(sql`with stored as (
  update wda.rollout_workspace w set state = v.state, lease = null, lease_until = null,
    migration_id = case when v.state <> 'waiting' or v."isVoid" then coalesce(v.migration, w.migration_id) end, error = v.error, conflicts = v.conflicts,
    destructive = coalesce(v.destructive, false), attempts = w.attempts - case when v."isVoid" then 1 else 0 end,
    due_at = clock_timestamp() + make_interval(secs => v."dueMs" / 1000)
  from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) v ("workspaceId" bigint, lease uuid, state text, "dueMs" float8, "isVoid" boolean,
    migration bigint, error jsonb, conflicts jsonb, destructive boolean)
  where w.rollout_id = ${rolloutId} and w.workspace_id = v."workspaceId" and w.lease = v.lease
  returning w.state
) select count(*) filter (where state = 'failed')::int4 as failed from stored`),
  );
  return (row as { failed: number }).failed;
}

/** Takes leases of the next workspaces of a locked rollout. `busy`: ids of workspaces that this process still works on. */
export function claimWorkspaces(
  session: Queryable,
  { id, wave, concurrency }: Pick<LockedRollout, 'id' | 'wave' | 'concurrency'>,
  { limit, busy }: { readonly limit: number; readonly busy: readonly string[] },
): Promise<readonly Assignment[]> {
  return session.query<Assignment>(
    toQuery(sql`with due as (
  select w.workspace_id from wda.rollout_workspace w
  where w.rollout_id = ${id} and w.state in ('waiting', 'running') and w.wave <= ${wave} and w.workspace_id <> all(${busy}::bigint[])
    and case w.state when 'waiting' then coalesce(w.due_at <= clock_timestamp(), true) else w.lease_until < clock_timestamp() end
  order by w.position
  limit greatest(0, least(${limit}::int8, ${concurrency}::int8 - (
    select count(*) from wda.rollout_workspace h where h.rollout_id = ${id} and h.state = 'running' and h.lease_until >= clock_timestamp())))
  for no key update skip locked
), w as (
  update wda.rollout_workspace w set state = 'running', lease = gen_random_uuid(), lease_until = ${LEASE}, attempts = w.attempts + 1,
    due_at = null, error = null
  from due where w.rollout_id = ${id} and w.workspace_id = due.workspace_id returning w.*
)
select w.rollout_id as "rolloutId", w.workspace_id as "workspaceId", w.lease, o.slug as organization, s.slug as workspace,
  c.name as schema, w.attempts, w.migration_id is not null as "hasMigration"
from w join wda.workspace s on s.id = w.workspace_id join wda.organization o on o.id = s.organization_id
  join wda.rollout r on r.id = w.rollout_id join wda.shared_schema c on c.id = r.shared_schema_id
order by w.position`),
  );
}

/**
 * Gives up leases of processes that are gone, for a locked rollout that is paused or has ended. A workspace that has the version
 * was finished; another waits, or is left out.
 */
export async function releaseLost(
  session: Queryable,
  { id, version, state }: Pick<LockedRollout, 'id' | 'version' | 'state'>,
): Promise<void> {
  await session.query(
    toQuery(sql`update wda.rollout_workspace w set lease = null, lease_until = null, state = case
  when s.shared_schema_version >= ${version} then 'succeeded' when ${state} = 'paused' then 'waiting' else 'skipped' end
from wda.workspace s
where w.rollout_id = ${id} and w.state = 'running' and w.lease_until < clock_timestamp() and s.id = w.workspace_id`),
  );
}

/**
 * Adds workspaces to a locked rollout that follow the schema since its start, with an older version, or that were restored
 * with one; returns how many.
 */
export async function takeInFollowers(
  session: Queryable,
  { id, sharedSchemaId, version, lastWave }: Pick<LockedRollout, 'id' | 'sharedSchemaId' | 'version' | 'lastWave'>,
): Promise<number> {
  const rows = await session.query(
    toQuery(sql`insert into wda.rollout_workspace as w (rollout_id, workspace_id, position, wave, state)
select ${id}, s.id, row_number() over (order by s.slug) + coalesce(
  (select max(position) from wda.rollout_workspace where rollout_id = ${id}), 0), ${lastWave}, 'waiting'
from wda.workspace s left join wda.rollout_workspace h on h.rollout_id = ${id} and h.workspace_id = s.id
where s.shared_schema_id = ${sharedSchemaId} and s.shared_schema_version < ${version}
  and (h.workspace_id is null or h.state in ('succeeded', 'unchanged'))
on conflict (rollout_id, workspace_id) do update set state = 'waiting', wave = ${lastWave}, migration_id = null, attempts = 0
returning 1`),
  );
  return rows.length;
}

/** Prolongs leases. */
export async function renewRolloutLeases(db: Queryable, held: readonly Held[]): Promise<void> {
  await db.query(
    toQuery(sql`update wda.rollout_workspace w set lease_until = ${LEASE}
from unnest(${held.map((one) => one.rolloutId)}::bigint[], ${held.map((one) => one.workspaceId)}::bigint[],
  ${held.map(({ lease }) => lease)}::uuid[]) h (rollout_id, workspace_id, lease)
where w.rollout_id = h.rollout_id and w.workspace_id = h.workspace_id and w.lease = h.lease`),
  );
}

/** Stores which migration works on a workspace. */
export async function storeMigration(
  db: Queryable,
  { rolloutId, workspaceId, lease }: Held,
  migrationId: string,
): Promise<void> {
  await db.query(
    toQuery(sql`update wda.rollout_workspace set migration_id = ${migrationId}
where rollout_id = ${rolloutId} and workspace_id = ${workspaceId} and lease = ${lease}::uuid`),
  );
}
