// Jobs of writes by filter in the control tables: created with the ids that matched, carried out batch by batch by the process
// that holds the lease. Every statement of a process says so, hence one that was stopped and has lost it changes nothing.
import type { Database, Executor, StatementOptions } from '../database/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { isFree, LEASE } from './lease.ts';

export type WriteJobState = 'running' | 'succeeded' | 'failed' | 'cancelled';
export type WriteJobOperation = 'update' | 'delete';

/** A job as it is shown. */
export interface WriteJob {
  readonly id: string;
  readonly operation: WriteJobOperation;
  /** Name of the entity, or null if it was removed. */
  readonly entity: string | null;
  readonly state: WriteJobState;
  /** Records: found at the start, those whose turn is over, and those that were changed or deleted. */
  readonly matched: number;
  readonly processed: number;
  readonly written: number;
  /** JSON text of the refusal that ended it, or null. */
  readonly error: string | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

export interface WriteJobToStore {
  readonly workspaceId: string;
  /** Id of the entity. */
  readonly entity: string;
  readonly operation: WriteJobOperation;
  readonly owner: string;
  /** JSON texts. */
  readonly sender: string;
  readonly body: string;
  readonly matched: number;
  /** Ids in the order of the batches, each a list as PostgreSQL writes it. */
  readonly batches: readonly string[];
}

/** A job whose lease this process holds. */
export interface ClaimedWriteJob {
  readonly id: string;
  readonly lease: string;
  readonly workspaceId: string;
  /** Slugs. */
  readonly organization: string;
  readonly workspace: string;
  readonly entity: string;
  readonly operation: WriteJobOperation;
  readonly sender: string;
  readonly body: string;
  readonly attempts: number;
  readonly ageSeconds: number;
}

type HeldJob = Pick<ClaimedWriteJob, 'id' | 'lease'>;

export interface WriteJobBatch {
  readonly number: number;
  readonly ids: readonly string[];
}

/** Jobs of a workspace that have not ended. */
export const MAX_OPEN_JOBS = 10;
/** Jobs that have ended stay for so many days, the last ones of a workspace. */
export const JOB_DAYS = 7;
export const MAX_ENDED_JOBS = 1000;
// Batches that one statement stores.
const STORED_BATCHES = 100;
const LISTED_JOBS = 100;

/** Stores a job in the transaction of its request; returns undefined where the workspace has as many as it may have. */
export async function storeWriteJob(
  executor: Executor,
  job: WriteJobToStore,
  options: StatementOptions,
): Promise<WriteJob | undefined> {
  const { workspaceId, entity, operation, owner, sender, body, matched, batches } = job;
  const [row] = await executor.run(
    toQuery(sql`insert into wda.write_job (workspace_id, entity, operation, owner, sender, body, matched)
select ${workspaceId}::int8, ${entity}::int8, ${operation}, ${owner}, ${sender}, ${body}, ${String(matched)}::int4
where (select count(*) from wda.write_job where workspace_id = ${workspaceId}::int8 and state = 'running') < ${String(MAX_OPEN_JOBS)}::int8
returning id, created_at::text`),
    'write',
    options,
  );
  if (row === undefined) return undefined;
  const [id = '', createdAt = ''] = row as readonly string[];
  for (let from = 0; from < batches.length; from += STORED_BATCHES) {
    const some = batches.slice(from, from + STORED_BATCHES);
    await executor.run(
      toQuery(sql`insert into wda.write_job_batch (job_id, number, ids)
select ${id}::int8, ${String(from)}::int4 + b.number, b.ids::int8[] from unnest(${some}::text[]) with ordinality b (ids, number)`),
      'write',
      options,
    );
  }
  return {
    id,
    operation,
    entity: null,
    state: 'running',
    matched,
    processed: 0,
    written: 0,
    error: null,
    createdAt: new Date(createdAt),
    endedAt: null,
  };
}

const SHOWN = sql`j.id::text as id, j.operation,
  (select e.key from wda.workspace w, jsonb_each_text(w.entity_ids) e where w.id = j.workspace_id and e.value::int8 = j.entity) as entity,
  j.state, j.matched, j.processed, j.written, j.error::text as error, j.created_at as "createdAt", j.ended_at as "endedAt"`;

/** Jobs that may be seen. `owner`: null for those of all. */
export interface JobScope {
  readonly workspaceId: string;
  readonly owner: string | null;
}

const isVisible = ({ workspaceId, owner }: JobScope): Fragment =>
  sql`j.workspace_id = ${workspaceId}::int8 and (${owner}::text is null or j.owner = ${owner})`;

/** Loads the last jobs, the newest first: 100 at most. */
export const loadWriteJobs = (db: Database, scope: JobScope): Promise<readonly WriteJob[]> =>
  db.query<WriteJob>(
    toQuery(
      sql`select ${SHOWN} from wda.write_job j where ${isVisible(scope)} order by j.id desc limit ${LISTED_JOBS}::int4`,
    ),
  );

export async function findWriteJob(db: Database, scope: JobScope, id: string): Promise<WriteJob | undefined> {
  const [job] = await db.query<WriteJob>(
    toQuery(sql`select ${SHOWN} from wda.write_job j where ${isVisible(scope)} and j.id = ${id}::int8`),
  );
  return job;
}

const END = sql`ended_at = now(), sender = null, body = null, lease = null, lease_until = null`;

const removeBatches = sql`b as (delete from wda.write_job_batch where job_id in (select id from j))`;

/** Cancels a job that has not ended: its batch under way, if there is one, is undone. */
export async function cancelWriteJob(db: Database, scope: JobScope, id: string): Promise<void> {
  await db.query(
    toQuery(sql`with j as (
  update wda.write_job j set state = 'cancelled', ${END} where ${isVisible(scope)} and j.id = ${id}::int8 and j.state = 'running' returning j.id
), ${removeBatches} select 1`),
  );
}

/* ---- the processes that carry jobs out ---- */

/** Takes the leases of jobs that are due, of each workspace its oldest. `busy`: ids of jobs that this process works on. */
export const claimWriteJobs = (
  db: Database,
  { limit, busy }: { readonly limit: number; readonly busy: readonly string[] },
): Promise<readonly ClaimedWriteJob[]> =>
  db.query<ClaimedWriteJob>(
    toQuery(sql`with due as materialized (
  select j.id from wda.write_job j where j.state = 'running' and j.due_at <= clock_timestamp() and ${isFree(sql`j`)} and j.id <> all(${busy}::int8[])
    and not exists (select from wda.write_job o where o.workspace_id = j.workspace_id and o.state = 'running' and o.id < j.id)
  order by j.due_at limit ${limit}::int4 for no key update of j skip locked
), j as (
  update wda.write_job j set lease = gen_random_uuid(), lease_until = ${LEASE} from due where j.id = due.id and j.state = 'running' returning j.*
) select j.id::text as id, j.lease::text as lease, j.workspace_id::text as "workspaceId", o.slug as organization, w.slug as workspace,
  j.entity::text as entity, j.operation, j.sender, j.body, j.attempts, extract(epoch from now() - j.created_at)::float8 as "ageSeconds"
from j join wda.workspace w on w.id = j.workspace_id join wda.organization o on o.id = w.organization_id`),
  );

/** Prolongs leases. */
export async function renewWriteJobs(db: Database, held: readonly HeldJob[]): Promise<void> {
  await db.query(
    toQuery(sql`update wda.write_job j set lease_until = ${LEASE}
from unnest(${held.map(({ id }) => id)}::int8[], ${held.map(({ lease }) => lease)}::uuid[]) h (id, lease) where j.id = h.id and j.lease = h.lease`),
  );
}

const isHeld = ({ id, lease }: HeldJob): Fragment => sql`id = ${id}::int8 and lease = ${lease}::uuid`;

/** Gives a lease back. `pauseMs`: until the next turn. `hasFailed`: whether its batch has, for now. */
export async function releaseWriteJob(
  db: Database,
  held: HeldJob,
  { pauseMs, hasFailed }: { readonly pauseMs: number; readonly hasFailed: boolean },
): Promise<void> {
  await db.query(
    toQuery(sql`update wda.write_job set lease = null, lease_until = null, attempts = attempts + ${hasFailed}::bool::int4,
  due_at = clock_timestamp() + make_interval(secs => ${pauseMs / 1000}::float8) where ${isHeld(held)}`),
  );
}

/** Loads the next batch; undefined when all are done. */
export async function loadWriteJobBatch(db: Database, id: string): Promise<WriteJobBatch | undefined> {
  const [row] = await db.query<{ number: number; ids: string }>(
    toQuery(
      sql`select number, array_to_string(ids, ',') as ids from wda.write_job_batch where job_id = ${id}::int8 order by number limit 1`,
    ),
  );
  return row && { number: row.number, ids: row.ids.split(',') };
}

/**
 * Stores that a batch is done, in the transaction that writes its records; returns false when another process has the lease or
 * has done it, or the job was cancelled.
 */
export async function storeWriteJobBatch(
  executor: Executor,
  held: HeldJob,
  { number, processed, written }: { readonly number: number; readonly processed: number; readonly written: number },
  options: StatementOptions,
): Promise<boolean> {
  const rows = await executor.run(
    toQuery(
      sql`with j as (
  update wda.write_job set processed = processed + ${String(processed)}::int4, written = written + ${String(written)}::int4, attempts = 0
  where ${isHeld(held)} and state = 'running' returning id
) delete from wda.write_job_batch b using j where b.job_id = j.id and b.number = ${String(number)}::int4 returning 1`,
      'write-job.batch',
    ),
    'write',
    options,
  );
  return rows.length === 1;
}

/** Ends a job. `error`: JSON text of the refusal. */
export async function endWriteJob(
  db: Database,
  held: HeldJob,
  state: 'succeeded' | 'failed',
  error: string | null,
): Promise<void> {
  await db.query(
    toQuery(sql`with j as (
  update wda.write_job set state = ${state}, error = ${error}::json, ${END} where ${isHeld(held)} and state = 'running' returning id
), ${removeBatches} select 1`),
  );
}

/** Ends all jobs of a workspace, in the transaction that changes what they are about. */
export async function failWriteJobs(
  session: Pick<Database, 'query'>,
  workspaceId: string,
  error: string,
): Promise<void> {
  await session.query(
    toQuery(sql`with j as (
  update wda.write_job set state = 'failed', error = ${error}::json, ${END} where workspace_id = ${workspaceId}::int8 and state = 'running' returning id
), ${removeBatches} select 1`),
  );
}

/** Removes jobs whose time is over. */
export async function removeWriteJobs(session: Pick<Database, 'query'>): Promise<void> {
  await session.query(
    toQuery(sql`delete from wda.write_job where id in (
  select id from (select id, ended_at, row_number() over (partition by workspace_id order by id desc) as place from wda.write_job where ended_at is not null) j
  where ended_at < now() - make_interval(days => ${JOB_DAYS}::int4) or place > ${MAX_ENDED_JOBS}::int8)`),
  );
}
