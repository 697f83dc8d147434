// `wda jobs`: lists, shows, follows and cancels the jobs of a workspace. Also follows one for `wda update` and `wda delete`.
import type { Command } from 'commander';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  connect,
  entityPath,
  examples,
  type GlobalOptions,
  printList,
  requireWorkspace,
  type WorkspaceAddress,
  workspaceName,
} from '../command.ts';
import { CommandFailure, runtimeFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { follow, type StepState } from '../progress.ts';
import { formatCount, printable, renderPairs } from '../table.ts';

/** A job as the data API shows it. */
export interface Job {
  readonly id: number;
  readonly operation: 'update' | 'delete';
  readonly entity: string | null;
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly matched: number;
  readonly processed: number;
  readonly updated?: number;
  readonly deleted?: number;
  readonly error: JobError | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

interface JobError {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { readonly id?: number; readonly field: string | null; readonly message: string }[];
}

export function register(program: Command): void {
  const group = program.command('jobs').description('updates and deletions of many records, running and past');
  group.command('list', { isDefault: true }).description('list the last ones').action(action(list));
  group
    .command('show')
    .description('show one')
    .argument('<id>')
    .option('--follow', 'watch it to its end first; exit code 1 when it fails')
    .action(action(show));
  group
    .command('cancel')
    .description('end one that runs; what it has done stays')
    .argument('<id>')
    .action(action(cancel));
  examples(group, ['wda jobs -w acme/shop', 'wda jobs show 7 --follow -w acme/shop', 'wda jobs cancel 7 -w acme/shop']);
}

async function list(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const { data } = await connect(options).send<readonly Job[]>('GET', entityPath(address, '_jobs'));
  const head = ['ID', 'OPERATION', 'ENTITY', 'STATE', 'MATCHED', 'PROCESSED', 'CREATED', 'ENDED', 'ERROR'];
  await printList(options, data, `No jobs in ${workspaceName(address)}`, head, (job) => [
    job.id,
    job.operation,
    job.entity,
    job.state,
    formatCount(job.matched),
    formatCount(job.processed),
    job.createdAt,
    job.endedAt,
    job.error?.message,
  ]);
}

async function show(id: string, options: GlobalOptions & { readonly follow?: boolean }): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const job = options.follow ? await followJob(client, address, id, options) : await readJob(client, address, id);
  await printResult(options, job, () => describeJob(job));
  if (options.follow) requireSuccess(job);
}

async function cancel(id: string, options: GlobalOptions): Promise<void> {
  const path = `${jobPath(requireWorkspace(options), id)}/cancel`;
  const { data } = await connect(options).send<Job>('POST', path);
  await printResult(options, data, () => `Job ${id}: ${data.state}`);
}

/** Returns the job after its end. */
export function followJob(
  client: AdminClient,
  address: WorkspaceAddress,
  id: string | number,
  options: GlobalOptions,
): Promise<Job> {
  return follow({
    read: () => readJob(client, address, id),
    hasEnded: ({ state }) => state !== 'running',
    isRunning: ({ state }) => state === 'running',
    getState: makeJobTracker(),
    interruptLines: [
      `Job ${id} goes on without this command.`,
      `Watch it:  wda jobs show ${id} --follow -w ${workspaceName(address)}`,
      `Stop it:   wda jobs cancel ${id} -w ${workspaceName(address)}`,
    ],
    options,
    deadline: null,
  });
}

const jobPath = (address: WorkspaceAddress, id: string | number): string =>
  `${entityPath(address, '_jobs')}/${encodeURIComponent(id)}`;

async function readJob(client: AdminClient, address: WorkspaceAddress, id: string | number): Promise<Job> {
  return (await client.send<Job>('GET', jobPath(address, id))).data;
}

/** Makes the function that measures the speed of a job since it is watched. */
export function makeJobTracker(): (job: Job, now: number) => StepState {
  let first: { readonly at: number; readonly processed: number } | undefined;
  return ({ id, operation, entity, matched, processed }, now) => {
    first ??= { at: now, processed };
    const elapsedMs = now - first.at;
    const done = processed - first.processed;
    return {
      label: `Job ${id}: ${operation} ${entity ?? ''}`.trimEnd(),
      fraction: matched === 0 ? 1 : processed / matched,
      rate: elapsedMs === 0 ? 0 : (done * 1000) / elapsedMs,
      remainingMs: done === 0 ? null : ((matched - processed) / done) * elapsedMs,
      elapsedMs,
    };
  };
}

/** Throws unless the job succeeded. */
export function requireSuccess({ id, state, processed, matched, error }: Job): void {
  if (state === 'succeeded' || state === 'running') return;
  const place = `${formatCount(processed)} of ${formatCount(matched)} records were processed, and stay as they are`;
  const what = state === 'failed' ? `has failed: ${error?.message}` : 'has been cancelled';
  const { failure } = runtimeFailure(`Job ${id} ${what}`, { job: id, state, processed, matched });
  throw new CommandFailure(failure, [place, ...describeDetails(error)]);
}

const describeDetails = (error: JobError | null): readonly string[] =>
  (error?.details ?? []).map(({ id, field, message }) =>
    printable([id === undefined ? [] : `id ${id}:`, field ?? [], message].flat().join(' ')),
  );

function describeJob(job: Job): string {
  const facts = renderPairs([
    ['Job', job.id],
    ['Operation', job.operation],
    ['Entity', job.entity],
    ['State', job.state],
    ['Matched', formatCount(job.matched)],
    ['Processed', formatCount(job.processed)],
    job.operation === 'update'
      ? ['Updated', formatCount(job.updated ?? 0)]
      : ['Deleted', formatCount(job.deleted ?? 0)],
    ['Created', job.createdAt],
    ['Ended', job.endedAt],
  ]);
  const error = job.error === null ? [] : ['', printable(`${job.error.code}: ${job.error.message}`)];
  return [facts, ...error, ...describeDetails(job.error)].join('\n');
}
