// Jobs of writes by filter, for their senders: how a request becomes one, and how it is shown and cancelled.
import { hash } from 'node:crypto';
import type { FormerSender } from '../auth/current-principal.ts';
import { malformedId, notFound } from '../errors.ts';
import { mayAdminister, type Principal, type Scope } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { MatchPlan } from '../plan/bulk.ts';
import { parseParameters } from '../request/query-string.ts';
import { PREFIX } from '../request/record-path.ts';
import { json, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { Databases } from '../store/databases.ts';
import {
  cancelWriteJob,
  findWriteJob,
  type JobScope,
  loadWriteJobs,
  MAX_OPEN_JOBS,
  storeWriteJob,
  type WriteJob,
  type WriteJobOperation,
} from '../store/write-jobs.ts';
import { buildStatementOptions, describeVia, type EntityContext, type RequestContext, type Via } from './context.ts';
import { tooManyJobs } from './errors.ts';
import { rethrowControl } from './feed-actors.ts';
import { getClientId } from './idempotency.ts';
import { runRead, type WriteDeps } from './reads.ts';

/** Records that a batch of a job changes, in one transaction. */
export const JOB_BATCH_SIZE = 1000;

/** The sender of a job as it is stored. */
export interface JobSender extends FormerSender {
  /** Entities that the request could reach; never more later. */
  readonly scope: Scope;
  readonly via: Via;
  readonly requestId: string;
}

interface NewJob {
  readonly operation: WriteJobOperation;
  readonly match: MatchPlan;
  readonly body: unknown;
  readonly max: number;
}

/** Stores a job over the ids that match, in the transaction of the context; answers 202 with its place. Throws 409. */
export async function createWriteJob(
  deps: WriteDeps,
  context: EntityContext,
  { operation, match, body, max }: NewJob,
): Promise<Reply> {
  const { workspace, principal, entity, executor, request } = context;
  const plan = { ...match, kind: 'matchBatches', size: JOB_BATCH_SIZE, max } as const;
  const batches = await runRead(context, compile(plan, deps.compileOptions), { principal }, 'write');
  const sender: JobSender = {
    credentialId: principal.credentialId,
    ...(isUser(principal) ? { claims: principal.claims } : {}),
    scope: principal.scope,
    via: describeVia(context),
    requestId: request.id,
  };
  const job = await storeWriteJob(
    executor,
    {
      workspaceId: workspace.id,
      entity: getUnrestricted(workspace).entityIds.get(entity.name) ?? '0',
      operation,
      owner: hashOwner(principal),
      sender: JSON.stringify(sender),
      body: JSON.stringify(body),
      matched: batches.reduce((sum, ids) => sum + ids.split(',').length, 0),
      batches,
    },
    buildStatementOptions(context, 'unknown'),
  );
  if (job === undefined) throw tooManyJobs(MAX_OPEN_JOBS);
  const place = `${PREFIX}${encodeURIComponent(workspace.organization)}/${encodeURIComponent(workspace.slug)}/_jobs/${job.id}`;
  return json(202, { data: formatJob({ ...job, entity: entity.name }) }, { Location: place });
}

/** True for a user of an identity provider; keys with grants have their claims stored elsewhere. */
const isUser = (principal: Principal): principal is Principal & { readonly kind: 'external' } =>
  principal.kind === 'external' && !principal.onlyGrants;

const hashOwner = (principal: Principal): string => hash('sha256', getClientId(principal), 'base64url');

function formatJob({ id, operation, written, error, ...rest }: WriteJob): object {
  const { entity, state, matched, processed, createdAt, endedAt } = rest;
  return {
    id: Number(id),
    operation,
    entity,
    state,
    matched,
    processed,
    [operation === 'update' ? 'updated' : 'deleted']: written,
    error: error === null ? null : JSON.parse(error),
    createdAt,
    endedAt,
  };
}

/* ---- requests for jobs ---- */

type JobDeps = { readonly databases: Pick<Databases, 'directory'> };

/** Administrators see all jobs of the workspace, others their own ones. */
const getScope = ({ workspace, principal }: RequestContext): JobScope => ({
  workspaceId: workspace.id,
  owner: mayAdminister(principal, workspace.id) ? null : hashOwner(principal),
});

export async function answerJobs({ databases }: JobDeps, context: RequestContext): Promise<Reply> {
  parseParameters(context.request.query, []);
  const jobs = await loadWriteJobs(databases.directory, getScope(context)).catch(rethrowControl);
  return json(200, { data: jobs.map(formatJob) }, NO_STORE);
}

export async function answerJob(deps: JobDeps, context: RequestContext, name: string): Promise<Reply> {
  parseParameters(context.request.query, []);
  return respondJob(deps, context, parseJobId(name));
}

/** Cancels a job, or answers how it has ended. */
export async function cancelJob(deps: JobDeps, context: RequestContext, name: string): Promise<Reply> {
  parseParameters(context.request.query, []);
  const id = parseJobId(name);
  await cancelWriteJob(deps.databases.directory, getScope(context), id).catch(rethrowControl);
  return respondJob(deps, context, id);
}

const NO_STORE = { 'Cache-Control': 'no-store' };

async function respondJob({ databases }: JobDeps, context: RequestContext, id: string): Promise<Reply> {
  const job = await findWriteJob(databases.directory, getScope(context), id).catch(rethrowControl);
  if (job === undefined) throw noSuchJob();
  return json(200, { data: formatJob(job) }, NO_STORE);
}

/** Error of a job that does not exist, or is of another principal. */
const noSuchJob = (): Error => notFound('JOB_NOT_FOUND', 'There is no such job, or not any more');

function parseJobId(text: string): string {
  if (!/^\d+$/.test(text)) throw malformedId(text);
  // No job has a longer one.
  if (text.length > 18) throw noSuchJob();
  return text;
}
