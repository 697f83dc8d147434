// Rollouts of shared schemas, and plans of them, in the control tables: made, listed, and moved from state to state.
// rollout-work.ts has the statements of the processes that work on them.
import type { Session } from '../database/pool.ts';
import { rolloutInProgress } from '../errors.ts';
import { type Fragment, join, literal, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { isViolation } from './control-error.ts';
import type { MigrationError } from './migrations.ts';
import { loadPage, type PageOf } from './pages.ts';

type Queryable = Pick<Session, 'query'>;

export type StoredRolloutState = 'planning' | 'running' | 'paused' | 'succeeded' | 'finishedWithFailures' | 'cancelled';

export const WORKSPACE_STATES = ['waiting', 'running', 'succeeded', 'unchanged', 'failed', 'skipped'] as const;
export type RolloutWorkspaceState = (typeof WORKSPACE_STATES)[number];

/** Number of workspaces by state. */
export type RolloutCounts = { readonly [State in RolloutWorkspaceState]: number };

/** Records of a workspace that a step cannot be made with. */
export interface FollowerConflict {
  readonly entity: string;
  readonly field: string | null;
  readonly count: number;
  readonly sampleIds: readonly number[];
}

export interface Rollout {
  readonly id: string;
  readonly version: number;
  readonly state: StoredRolloutState;
  readonly wave: number;
  readonly counts: RolloutCounts;
  /** Counts of each wave, from the first. */
  readonly waves: readonly RolloutCounts[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** A row with what its next state follows from. */
export interface LockedRollout {
  readonly id: string;
  readonly sharedSchemaId: string;
  readonly version: number;
  readonly isPlan: boolean;
  readonly state: StoredRolloutState;
  readonly wave: number;
  readonly lastWave: number;
  readonly isConfirmed: boolean;
  readonly failures: number;
  readonly maxFailures: number;
  readonly concurrency: number;
  readonly allowDestructive: boolean;
  readonly skipConflicts: boolean;
  readonly takesAll: boolean;
  readonly createdBy: Actor | null;
}

const COUNT_STATES = sql`json_build_object(${join(
  WORKSPACE_STATES.map((state) => sql`${literal(state)}, count(*) filter (where n.state = ${literal(state)})`),
  ', ',
)})`;

const COUNTS = sql`(select ${COUNT_STATES} from wda.rollout_workspace n where n.rollout_id = r.id)`;

const WAVES = sql`(select json_agg(c.counts order by c.wave) from (
  select g.wave, ${COUNT_STATES} as counts from generate_series(1, r.last_wave) g (wave)
  left join wda.rollout_workspace n on n.rollout_id = r.id and n.wave = g.wave group by g.wave) c)`;

const COLUMNS = sql`r.id, r.version, r.state, r.wave, ${COUNTS} as counts, ${WAVES} as waves, r.created_at as "createdAt", r.started_at as "startedAt",
  r.finished_at as "finishedAt"`;

/** Selects a LockedRollout. */
const LOCKED = sql`r.id, r.shared_schema_id as "sharedSchemaId", r.version, r.is_plan as "isPlan", r.state, r.wave, r.last_wave as "lastWave",
  r.confirms as "isConfirmed", r.failures, r.max_failures as "maxFailures", r.concurrency, r.allow_destructive as "allowDestructive",
  r.skip_conflicts as "skipConflicts", r.takes_all as "takesAll", r.created_by as "createdBy"`;

/* ---- make ---- */

/** Workspaces that a rollout is for: slugs in their order, or null for all that follow. */
export interface Choice {
  readonly sharedSchemaId: string;
  readonly slugs: readonly string[] | null;
}

const buildChoice = ({ sharedSchemaId, slugs }: Choice): Fragment => sql`(
  select s.id, s.slug, s.shared_schema_version as version, c.n from wda.workspace s
  left join unnest(${slugs}::text[]) with ordinality c (slug, n) on c.slug = s.slug
  where s.shared_schema_id = ${sharedSchemaId} and (${slugs}::text[] is null or c.n is not null))`;

/** Returns those of these slugs whose workspaces do not follow the schema. */
export async function findStrangers(db: Queryable, { sharedSchemaId, slugs }: Choice): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ slug: string }>(
    toQuery(sql`select c.slug from unnest(${slugs}::text[]) c (slug)
where not exists (select from wda.workspace s where s.shared_schema_id = ${sharedSchemaId} and s.slug = c.slug)`),
  );
  return new Set(rows.map(({ slug }) => slug));
}

/** A version that workspaces of a rollout have. */
export interface VersionInUse {
  readonly version: number;
  /** Id of one of these workspaces. */
  readonly workspaceId: string;
}

/** Returns the versions before `version` that the workspaces have, of which a version on the way to it drops something. */
export function loadLossyVersions(db: Queryable, choice: Choice, version: number): Promise<readonly VersionInUse[]> {
  const { sharedSchemaId } = choice;
  return db.query<VersionInUse>(
    toQuery(sql`select c.version, min(c.id)::text as "workspaceId" from ${buildChoice(choice)} c
where c.version < (
  select max(v.version) from wda.shared_schema_version v, json_array_elements(v.steps) step
  where v.shared_schema_id = ${sharedSchemaId} and v.version <= ${version} and (step->>'destructive')::bool
) and c.version < ${version} group by c.version order by c.version`),
  );
}

/** Counts the workspaces, and those of them that are not at the version yet. */
export async function countFollowers(
  db: Queryable,
  choice: Choice,
  version: number,
): Promise<{ readonly total: number; readonly changing: number }> {
  const [row] = await db.query<{ total: number; changing: number }>(
    toQuery(sql`select count(*)::int4 as total, (count(*) filter (where version < ${version}))::int4 as changing
from ${buildChoice(choice)} c`),
  );
  return row as { total: number; changing: number };
}

export interface RolloutToStore {
  readonly choice: Choice;
  readonly version: number;
  readonly isPlan: boolean;
  /** After how many of the workspaces that change each wave ends. */
  readonly waveEnds: readonly number[];
  readonly isConfirmed: boolean;
  readonly maxFailures: number;
  readonly concurrency: number;
  readonly allowDestructive: boolean;
  readonly skipConflicts: boolean;
  readonly createdBy: Actor;
}

// Limit for each shared schema: a rollout has a row for each workspace.
const MAX_ENDED = 50;
// Limit for each shared schema, of one day.
const MAX_PLANS = 20;

/** Stores a rollout, or a plan, with its workspaces; returns its id. 409 while a rollout of the schema has not ended. */
export async function insertRollout(session: Queryable, rollout: RolloutToStore): Promise<string> {
  const { choice, version, isPlan, waveEnds, isConfirmed, maxFailures, concurrency } = rollout;
  const { sharedSchemaId, slugs } = choice;
  await session.query(
    toQuery(sql`delete from wda.rollout where id in (
  select id from wda.rollout where shared_schema_id = ${sharedSchemaId} and is_plan = ${isPlan}
    and (is_plan or state not in ('planning', 'running', 'paused'))
  order by id desc offset ${(isPlan ? MAX_PLANS : MAX_ENDED) - 1})`),
  );
  const [row] = await session
    .query<{ id: string }>(
      toQuery(sql`insert into wda.rollout (shared_schema_id, version, is_plan, last_wave, confirms, max_failures, concurrency,
  allow_destructive, skip_conflicts, takes_all, created_by)
values (${sharedSchemaId}, ${version}, ${isPlan}, ${waveEnds.length}, ${isConfirmed}, ${maxFailures}, ${concurrency},
  ${rollout.allowDestructive}, ${rollout.skipConflicts}, ${slugs === null && !isPlan}, ${JSON.stringify(rollout.createdBy)}::jsonb)
returning id`),
    )
    .catch((error) => {
      throw isViolation(error, 'rollout_active') ? rolloutInProgress(error) : error;
    });
  const { id } = row as { id: string };
  await session.query(
    toQuery(sql`insert into wda.rollout_workspace (rollout_id, workspace_id, position, wave, state)
select ${id}, c.id, c.position, case when c.changes
  then least(${waveEnds.length}::int8, 1 + (select count(*) from unnest(${waveEnds}::int4[]) e where e < c.turn)) else 1 end,
  case when c.changes then 'waiting' else 'unchanged' end
from (select c.id, c.version < ${version} as changes, row_number() over (order by c.n, c.slug) as position,
    row_number() over (partition by c.version < ${version} order by c.n, c.slug) as turn from ${buildChoice(choice)} c) c`),
  );
  return id;
}

/* ---- read ---- */

/** Loads the rollouts of a schema, newest first. */
export function loadRollouts(
  db: Queryable,
  sharedSchemaId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Rollout>> {
  return loadPage(
    db,
    sql`select ${COLUMNS} from wda.rollout r where r.shared_schema_id = ${sharedSchemaId} and not r.is_plan`,
    page,
    true,
  );
}

export const findRollout = (db: Queryable, sharedSchemaId: string, id: string): Promise<Rollout | undefined> =>
  findOne(db, sharedSchemaId, sql`not r.is_plan and r.id = ${id}`);

/** Returns a plan; `id`: null for the newest. */
export const findPlan = (db: Queryable, sharedSchemaId: string, id: string | null): Promise<Rollout | undefined> =>
  findOne(db, sharedSchemaId, sql`r.is_plan and (${id}::bigint is null or r.id = ${id}::bigint)`);

async function findOne(db: Queryable, sharedSchemaId: string, condition: Fragment): Promise<Rollout | undefined> {
  const rows = await db.query<Rollout>(
    toQuery(sql`select ${COLUMNS} from wda.rollout r where r.shared_schema_id = ${sharedSchemaId} and ${condition}
order by r.id desc limit 1`),
  );
  return rows[0];
}

/** Returns the version to which a rollout takes the workspaces of a schema; undefined if all have ended. */
export async function findRolloutVersion(db: Queryable, sharedSchemaId: string): Promise<number | undefined> {
  const rows = await db.query<{ version: number }>(
    toQuery(sql`select version from wda.rollout
where shared_schema_id = ${sharedSchemaId} and not is_plan and state in ('planning', 'running', 'paused')`),
  );
  return rows[0]?.version;
}

export interface RolloutWorkspace {
  readonly workspace: string;
  readonly state: RolloutWorkspaceState;
  readonly migration: string | null;
  readonly error: MigrationError | null;
  readonly conflicts: readonly FollowerConflict[] | null;
}

/** Loads the workspaces of a rollout in their order. `state`: those in this state; null for all. */
export function loadRolloutWorkspaces(
  db: Queryable,
  rolloutId: string,
  state: RolloutWorkspaceState | null,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<RolloutWorkspace>> {
  return loadPage(
    db,
    sql`select w.position as id, s.slug as workspace, w.state, w.migration_id as migration, w.error, w.conflicts
from wda.rollout_workspace w join wda.workspace s on s.id = w.workspace_id
where w.rollout_id = ${rolloutId} and (${state}::text is null or w.state = ${state})`,
    page,
  );
}

/** Counts the workspaces of a plan that would lose something. */
export async function countDestructive(db: Queryable, rolloutId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    toQuery(
      sql`select count(*)::int4 as count from wda.rollout_workspace where rollout_id = ${rolloutId} and destructive`,
    ),
  );
  return (row as { count: number }).count;
}

/** Deletes plans that are older than a day. */
export async function removeRolloutPlans(session: Queryable): Promise<void> {
  await session.query(toQuery(sql`delete from wda.rollout where is_plan and created_at < now() - interval '1 day'`));
}

/* ---- states ---- */

/** Locks a rollout, or a plan; undefined if there is none, or, with `skipLocked`, if another process works on its state. */
export async function lockRollout(
  session: Queryable,
  id: string,
  { skipLocked = false }: { readonly skipLocked?: boolean } = {},
): Promise<LockedRollout | undefined> {
  const [row] = await session.query<LockedRollout>(
    toQuery(
      sql`select ${LOCKED} from wda.rollout r where r.id = ${id} for no key update${skipLocked ? sql` skip locked` : sql``}`,
    ),
  );
  return row;
}

/** Returns what is left of a locked rollout. */
export async function loadRemainder(
  session: Queryable,
  { id, wave }: Pick<LockedRollout, 'id' | 'wave'>,
): Promise<{ readonly isWaveOpen: boolean; readonly hasFailed: boolean }> {
  const [row] = await session.query<{ isWaveOpen: boolean; hasFailed: boolean }>(
    toQuery(sql`select exists (
  select from wda.rollout_workspace where rollout_id = ${id} and state in ('waiting', 'running') and wave <= ${wave}
) as "isWaveOpen", exists (
  select from wda.rollout_workspace where rollout_id = ${id} and state = 'failed'
) as "hasFailed"`),
  );
  return row as { isWaveOpen: boolean; hasFailed: boolean };
}

/** Stores the state of a locked rollout. 409 when a rollout that had ended would run together with another. */
export async function storeRolloutState(
  session: Queryable,
  id: string,
  { state, wave, failures }: Pick<LockedRollout, 'state' | 'wave' | 'failures'>,
): Promise<void> {
  await session
    .query(
      toQuery(sql`update wda.rollout set state = ${state}, wave = ${wave}, failures = ${failures},
  started_at = case when ${state} in ('planning', 'cancelled') then started_at else coalesce(started_at, clock_timestamp()) end,
  finished_at = case when ${state} in ('planning', 'running', 'paused') then null else coalesce(finished_at, clock_timestamp()) end
where id = ${id}`),
    )
    .catch((error) => {
      throw isViolation(error, 'rollout_active') ? rolloutInProgress(error) : error;
    });
}

/** Lets the failed workspaces of a locked rollout wait again. */
export async function retryFailed(session: Queryable, rolloutId: string): Promise<void> {
  await session.query(
    toQuery(sql`update wda.rollout_workspace set state = 'waiting', migration_id = null, error = null, attempts = 0, due_at = null
where rollout_id = ${rolloutId} and state = 'failed'`),
  );
}

/** Leaves out the workspaces of a locked rollout that wait. */
export async function skipWaiting(session: Queryable, rolloutId: string): Promise<void> {
  await session.query(
    toQuery(
      sql`update wda.rollout_workspace set state = 'skipped' where rollout_id = ${rolloutId} and state = 'waiting'`,
    ),
  );
}
