// The part of a process that carries out jobs of writes by filter: takes leases, writes batch after batch with the rights that
// the sender has now, and gives the leases back at its end. A batch and its place in the job are one transaction, so every
// record has its turn once, whatever happens to the process.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FindCurrentPrincipal } from '../auth/current-principal.ts';
import { translateStatementError } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { type ApiError, conflict, forbidden, notFound } from '../errors.ts';
import type { Metric } from '../metric.ts';
import { parseExact } from '../model/exact-json.ts';
import { narrowScope, type Principal } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { type Call, makeCall } from '../request/call.ts';
import { PREFIX } from '../request/record-path.ts';
import { errorText, toApiError } from '../response/error-body.ts';
import type { Databases } from '../store/databases.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import {
  type ClaimedWriteJob,
  claimWriteJobs,
  endWriteJob,
  loadWriteJobBatch,
  releaseWriteJob,
  removeWriteJobs,
  renewWriteJobs,
  storeWriteJobBatch,
  type WriteJobBatch,
} from '../store/write-jobs.ts';
import {
  buildStatementOptions,
  type ContextDeps,
  type EntityContext,
  impersonate,
  type RequestContext,
} from './context.ts';
import { BETWEEN_REQUESTS, makeRequest, NEVER } from './internal-request.ts';
import type { JobBatch } from './matching.ts';
import type { SnapshotRetry } from './retry.ts';
import type { JobSender } from './write-jobs.ts';

export interface WriteJobWorker {
  /** Starts turns of jobs that are due. Called every few seconds, and when a request has made a job. */
  readonly poll: () => Promise<void>;
  /** Prolongs the leases of this process. Called every few seconds. */
  readonly renew: () => Promise<void>;
  /** Removes jobs whose time is over. */
  readonly sweep: () => Promise<void>;
  /** Ends all turns after their batch. */
  readonly close: (graceMs: number) => Promise<void>;
  readonly metrics: readonly Metric[];
}

export interface WriteJobWorkerDeps extends ContextDeps {
  readonly cache: WorkspaceCache;
  readonly databases: Databases;
  readonly retry: SnapshotRetry;
  readonly findPrincipal: FindCurrentPrincipal;
  /** Writes a batch as the sender of the context. */
  readonly writeBatch: (context: RequestContext, call: Call, executor: Executor, batch: JobBatch) => Promise<number>;
  /** Called after each batch. */
  readonly onWrite: (context: RequestContext) => void;
  readonly onError: (message: string, error: unknown) => void;
}

// Jobs of one process at once, each of another workspace.
const PARALLEL = 2;
// A job lets those of other workspaces have its place after this time.
const TURN_MS = 5000;
// A batch that fails for now is tried again after a second, then two, four, …
const PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
// A batch that takes too long as often as this will not be quicker the next time.
const MAX_TIMEOUTS = 5;
const MAX_HOURS = 24;

/* ---- what ends a job, as its error ---- */

/** Error of a job whose entity was removed. */
const jobEntityGone = (): ApiError => notFound('UNKNOWN_ENTITY', 'The entity of the job was removed from the schema');

/** Error of a job that has not ended in time. */
const jobTooLong = (hours: number): ApiError =>
  conflict(
    'JOB_TOO_LONG',
    `The job was not done within ${hours} hours. The records that were processed stay as they are`,
  );

/** Error of a job of an agent, where agents may not write any more. */
const agentJobRefused = (): ApiError =>
  forbidden('AGENTS_READ_ONLY', 'Agents may not write in this workspace any more');

/** Tells a batch that this process does not hold the lease any more, or that the job was cancelled: it is undone. */
const LEASE_LOST = new Error('the lease of a job is lost');
/** Tells that the workspace has another name meanwhile, is gone, or takes no writes. */
const WORKSPACE_CLOSED = new Error('the workspace of a job takes no writes');
/** Tells that the entity has another name since the batch began. */
const NAME_CHANGED = new Error('the entity of a job has another name');
// Its state may change between two looks.
const CLOSED: readonly string[] = ['WORKSPACE_READ_ONLY', 'WORKSPACE_SUSPENDED'];

export function makeWriteJobWorker(deps: WriteJobWorkerDeps): WriteJobWorker {
  const db = deps.databases.directory;
  const running = new Map<string, { readonly job: ClaimedWriteJob; readonly end: Promise<void> }>();
  const records = { update: 0, delete: 0 };
  const ended = { succeeded: 0, failed: 0 };
  let isEnding = false;
  let polling: Promise<void> | undefined;

  async function end(job: ClaimedWriteJob, state: keyof typeof ended, error: ApiError | null): Promise<void> {
    const text = error === null ? null : JSON.stringify(JSON.parse(errorText(error)).error);
    await endWriteJob(db, job, state, text);
    ended[state]++;
  }

  /** Works on a job until it has ended, the lease is given back or lost. Does not reject. */
  async function runTurn(job: ClaimedWriteJob): Promise<void> {
    const until = performance.now() + TURN_MS;
    try {
      if (job.ageSeconds > MAX_HOURS * 3600) return await end(job, 'failed', jobTooLong(MAX_HOURS));
      for (let isFirst = true; ; isFirst = false) {
        if (isEnding || (!isFirst && performance.now() > until))
          return await releaseWriteJob(db, job, { pauseMs: 0, hasFailed: false });
        const batch = await loadWriteJobBatch(db, job.id);
        if (batch === undefined) return await end(job, 'succeeded', null);
        records[job.operation] += await writeBatch(deps, job, batch);
      }
    } catch (error) {
      await stop(job, error).catch(() => undefined);
    }
  }

  /** Lets a job wait after an error that may pass, or ends it. */
  async function stop(job: ClaimedWriteJob, error: unknown): Promise<void> {
    if (error === LEASE_LOST) return;
    const apiError =
      error === WORKSPACE_CLOSED || error === NAME_CHANGED ? undefined : toApiError(translateStatementError(error));
    const isTimedOut = apiError?.code === 'QUERY_TIMEOUT' && job.attempts + 1 >= MAX_TIMEOUTS;
    const mayPass = apiError?.status === 503 || CLOSED.includes(apiError?.code ?? '');
    if (apiError === undefined || (mayPass && !isTimedOut)) {
      const pauseMs = isEnding ? 0 : Math.min(PAUSE_MS * 2 ** job.attempts, MAX_PAUSE_MS);
      return releaseWriteJob(db, job, { pauseMs, hasFailed: true });
    }
    if (apiError.status === 500) deps.onError('a job failed', error);
    await end(job, 'failed', apiError);
  }

  async function claim(): Promise<void> {
    const limit = PARALLEL - running.size;
    if (isEnding || limit <= 0) return;
    for (const job of await claimWriteJobs(db, { limit, busy: [...running.keys()] })) {
      const end = runTurn(job).finally(() => {
        running.delete(job.id);
        // Others may wait for the place.
        void poll().catch(() => undefined);
      });
      running.set(job.id, { job, end });
    }
  }

  function poll(): Promise<void> {
    polling = (polling ?? Promise.resolve()).catch(() => undefined).then(claim);
    return polling;
  }

  return {
    poll,
    async renew() {
      const held = [...running.values()].map(({ job }) => job);
      if (held.length > 0) await renewWriteJobs(db, held);
    },
    sweep: () => removeWriteJobs(db),
    async close(graceMs) {
      isEnding = true;
      await polling?.catch(() => undefined);
      const all = Promise.all([...running.values()].map(({ end }) => end));
      await Promise.race([all, sleep(graceMs, undefined, { ref: false })]);
    },
    metrics: [
      {
        name: 'wda_write_job_records_total',
        help: 'Records that jobs of writes by filter have changed, by operation',
        label: 'operation',
        read: () => ({ ...records }),
      },
      {
        name: 'wda_write_jobs_ended_total',
        help: 'Jobs of writes by filter that this process has ended, by their state',
        label: 'state',
        read: () => ({ ...ended }),
      },
      {
        name: 'wda_write_job_leases',
        help: 'Jobs of writes by filter that this process works on',
        read: () => running.size,
      },
    ],
  };
}

/** Writes a batch as its sender; returns the number of changed records. */
async function writeBatch(deps: WriteJobWorkerDeps, job: ClaimedWriteJob, batch: WriteJobBatch): Promise<number> {
  const current = await loadWorkspace(deps, job);
  const entity = findEntityName(current, job);
  try {
    return await writeAs(deps, job, { batch, current, entity });
  } catch (error) {
    // A name that was read before it changed is refused, as any unknown one.
    if (findEntityName(await loadWorkspace(deps, job), job) !== entity) throw NAME_CHANGED;
    throw error;
  }
}

async function loadWorkspace({ cache }: WriteJobWorkerDeps, job: ClaimedWriteJob): Promise<Workspace> {
  const current = await cache.get(job.organization, job.workspace);
  if (current?.id !== job.workspaceId || current.state !== 'active') throw WORKSPACE_CLOSED;
  return current;
}

interface Batch {
  readonly batch: WriteJobBatch;
  readonly current: Workspace;
  /** Name of the entity. */
  readonly entity: string;
}

async function writeAs(
  deps: WriteJobWorkerDeps,
  job: ClaimedWriteJob,
  { batch, current, entity }: Batch,
): Promise<number> {
  const sender = parseExact(job.sender) as JobSender;
  const address = { organization: job.organization, workspace: job.workspace };
  const { writes, enabled, entities } = current.agents;
  if (sender.via === 'mcp' && !(enabled && writes !== 'off')) throw agentJobRefused();
  const scopes = [sender.scope, sender.via === 'mcp' ? entities : null].filter((scope) => scope !== null);
  const principal = scopes.reduce<Principal>(narrowScope, await deps.findPrincipal(current, sender));
  const tail = job.operation === 'update' ? '_update' : '_delete';
  const request = makeRequest(
    { method: 'POST', path: `${PREFIX}${job.organization}/${job.workspace}/${entity}/${tail}` },
    { id: sender.requestId, arrivedAt: performance.now(), signal: NEVER, slices: BETWEEN_REQUESTS },
  );
  const context = await impersonate(deps, request, address, principal, {
    selectPart: (workspace) => requireSame(workspace, job),
    via: sender.via,
  });
  const body = parseExact(job.body);
  const call = makeCall('POST', entity, tail, { query: '', conditions: {}, body: () => Promise.resolve(body) });
  const executor = deps.databases.forWorkspace(context.workspace);
  const finish = async (inBatch: EntityContext, written: number): Promise<void> => {
    const options = buildStatementOptions(inBatch, 'quick');
    const { number, ids } = batch;
    const isStored = await storeWriteJobBatch(
      inBatch.executor,
      job,
      { number, processed: ids.length, written },
      options,
    );
    if (!isStored) throw LEASE_LOST;
  };
  const { operation } = job;
  const written = await deps.retry.run(context, { call, executor }, (now) =>
    deps.writeBatch(now, call, executor, { operation, body, ids: batch.ids, finish }),
  );
  deps.onWrite(context);
  return written;
}

/** Throws where another workspace has the name meanwhile. */
function requireSame(workspace: Workspace, { workspaceId }: ClaimedWriteJob): Workspace {
  if (workspace.id !== workspaceId) throw WORKSPACE_CLOSED;
  return workspace;
}

function findEntityName(workspace: Workspace, { entity: id }: ClaimedWriteJob): string {
  for (const [name, entityId] of getUnrestricted(workspace).entityIds) if (entityId === id) return name;
  throw jobEntityGone();
}
