// `wda rollout`: takes the workspaces that follow a shared schema to a version of it, and shows how far that is.
import type { Command } from 'commander';
import type { MigrationError, Rollout, RolloutPlan, RolloutWorkspace } from '../../../admin-types/admin-api.d.ts';
import type { AdminClient } from '../admin-client.ts';
import { action, connect, examples, type GlobalOptions } from '../command.ts';
import { CommandFailure, partFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { follow, type StepState } from '../progress.ts';
import { formatCount, formatQuantity, printable, renderPairs, renderTable } from '../table.ts';
import { parseSharedSchema, sharedSchemaPath } from './shared-schema.ts';

const SCHEMA_HELP = 'organization and shared schema, such as acme/helpdesk';
const ID_HELP = 'another rollout than the newest';

export function register(program: Command): void {
  const group = program
    .command('rollout')
    .description('take the workspaces that follow a shared schema to a version of it (needs the operator key)');
  const addTarget = (command: Command): Command =>
    command
      .argument('<schema>', SCHEMA_HELP)
      .requiredOption('--version <number>', 'version of the shared schema')
      .option('--workspaces <slugs>', 'only these, in this order, separated by commas (default: all that follow)');
  addTarget(group.command('plan'))
    .description('show what a rollout would do, and the records in the way; changes nothing')
    .action(action(plan));
  addTarget(group.command('start'))
    .description('start a rollout and wait for its end or its pause; exit code 5 when workspaces have failed')
    .option(
      '--waves <sizes>',
      'workspaces of each wave: numbers or percentages, separated by commas (default: 1,10,rest)',
    )
    .option('--confirm', 'pause after each wave, until rollout resume')
    .option('--max-failures <number>', 'pause when more have failed: a number or a percentage (default: 10)')
    .option('--concurrency <number>', 'workspaces at a time, from 1 to 16 (default: 2)')
    .option('--allow-destructive', 'drop what the version does not have any more')
    .option('--skip-conflicts', 'leave out workspaces with records in the way')
    .option('--no-wait', 'do not wait for the end')
    .action(action(start));
  group
    .command('status')
    .description('show a rollout: workspaces by state, and what to do about those that have failed')
    .argument('<schema>', SCHEMA_HELP)
    .option('--id <id>', ID_HELP)
    .action(action(showStatus));
  group
    .command('watch')
    .description('wait for the end or the pause of a rollout; exit code 5 when workspaces have failed')
    .argument('<schema>', SCHEMA_HELP)
    .option('--id <id>', ID_HELP)
    .action(action(watch));
  for (const [name, description] of COMMANDS) {
    group
      .command(name)
      .description(description)
      .argument('<schema>', SCHEMA_HELP)
      .option('--id <id>', ID_HELP)
      .action(action((schema: string, options: RolloutOptions) => send(name, schema, options)));
  }
  examples(group, [
    'wda rollout plan acme/helpdesk --version 4',
    'wda rollout start acme/helpdesk --version 4 --waves 1,10%,rest --confirm',
    'wda rollout status acme/helpdesk',
    'wda rollout resume acme/helpdesk',
    'wda rollout retry acme/helpdesk --id 7',
  ]);
}

const COMMANDS = [
  ['pause', 'pause a rollout; workspaces under way are finished'],
  ['resume', 'let a paused rollout go on, with the next wave where one has ended'],
  ['retry', 'try the failed workspaces again'],
  ['cancel', 'end a rollout; what is done stays'],
] as const;

interface RolloutOptions extends GlobalOptions {
  readonly id?: string;
}

interface TargetOptions extends GlobalOptions {
  readonly version: string;
  readonly workspaces?: string;
}

interface StartOptions extends TargetOptions {
  readonly waves?: string;
  readonly confirm?: boolean;
  readonly maxFailures?: string;
  readonly concurrency?: string;
  readonly allowDestructive?: boolean;
  readonly skipConflicts?: boolean;
  readonly wait: boolean;
}

interface Place {
  readonly client: AdminClient;
  /** `acme/helpdesk` */
  readonly name: string;
  readonly organization: string;
  /** Path of the rollouts of the schema. */
  readonly path: string;
}

function openPlace(schema: string, options: GlobalOptions): Place {
  const address = parseSharedSchema(schema);
  const path = `${sharedSchemaPath(address)}/rollouts`;
  return { client: connect(options), name: schema, organization: address.organization, path };
}

/* ---- plan ---- */

async function plan(schema: string, options: TargetOptions): Promise<void> {
  const place = openPlace(schema, options);
  const { client, path } = place;
  const read = async (): Promise<RolloutPlan> =>
    (await client.send<RolloutPlan>('GET', `${path}/plan`, { query: [['id', created.data.id]] })).data;
  const created = await client.send<RolloutPlan>('POST', `${path}/plan`, { body: buildTarget(options) });
  const planned = await follow({
    read,
    hasEnded: ({ state }) => state === 'planned',
    isRunning: () => true,
    getState: makeTracker((one: RolloutPlan) => ({
      label: `Plan of version ${options.version}`,
      done: one.planned,
      total: one.total,
    })),
    interruptLines: ['The plan goes on without this command.'],
    options,
    deadline: null,
  });
  await printResult(options, planned, () => describePlan(place, planned));
  if (planned.conflicts > 0)
    throw partFailure(
      `${formatCount(planned.conflicts)} of ${formatQuantity(planned.total, 'workspace')} cannot be taken to version ${options.version} yet`,
    );
}

function buildTarget({ version, workspaces }: TargetOptions) {
  return {
    version: parseNumber('--version', version),
    ...(workspaces === undefined ? {} : { workspaces: splitList(workspaces) }),
  };
}

function describePlan(
  { organization }: Place,
  { total, unchanged, ready, conflicts, destructive, workspaces }: RolloutPlan,
) {
  const counts = renderPairs([
    ['Workspaces', total],
    ['Unchanged', unchanged],
    ['Ready', ready],
    ['Records in the way', conflicts],
    ['Would lose data', destructive],
  ]);
  const rows = workspaces.flatMap(({ workspace, conflicts: records, error }) => [
    ...records.map(({ entity, field, count, sampleIds }) => [
      `${organization}/${workspace}`,
      field === null ? entity : `${entity}.${field}`,
      formatCount(count),
      sampleIds.join(', '),
    ]),
    ...(error === null ? [] : [[`${organization}/${workspace}`, error.code, null, error.message]]),
  ]);
  const table =
    rows.length === 0 ? [] : ['', renderTable(['WORKSPACE', 'IN THE WAY', 'RECORDS', 'SUCH AS ID'], rows, ['RECORDS'])];
  const advice = destructive === 0 ? [] : ['', 'Data would be lost: rollout start needs --allow-destructive for this.'];
  return [counts, ...table, ...advice].join('\n');
}

/* ---- start and watch ---- */

async function start(schema: string, options: StartOptions): Promise<void> {
  const place = openPlace(schema, options);
  const { waves, confirm, maxFailures, concurrency, allowDestructive, skipConflicts, wait } = options;
  const body = {
    ...buildTarget(options),
    ...(waves === undefined ? {} : { waves: splitList(waves).map(parseShare) }),
    ...(confirm === true ? { pause: 'confirm' } : {}),
    ...(maxFailures === undefined ? {} : { maxFailures: parseShare(maxFailures) }),
    ...(concurrency === undefined ? {} : { concurrency: parseNumber('--concurrency', concurrency) }),
    ...(allowDestructive === true ? { allowDestructive } : {}),
    ...(skipConflicts === true ? { skipConflicts } : {}),
  };
  const { data: rollout } = await place.client.send<Rollout>('POST', place.path, { body });
  if (wait) return watchOne(place, rollout.id, options);
  await printResult(options, rollout, () =>
    [describeRollout(place, rollout), ...formatFollowUp(place, rollout)].join('\n'),
  );
}

async function watch(schema: string, options: RolloutOptions): Promise<void> {
  const place = openPlace(schema, options);
  const { id } = await findRollout(place, options);
  await watchOne(place, id, options);
}

/** Waits for the end of a rollout of `acme/helpdesk`; throws unless every workspace has the version. */
export async function awaitRollout(
  schema: string,
  { id, version }: Pick<Rollout, 'id' | 'version'>,
  options: GlobalOptions,
): Promise<void> {
  const { state, counts } = await followRollout(openPlace(schema, options), id, options);
  if (state === 'succeeded') return;
  const failed = `${formatQuantity(counts.failed, 'workspace')} failed`;
  throw new CommandFailure(
    runtimeFailure(`Rollout ${id} to version ${version} is ${state}: ${failed}`, { rollout: id, state, counts })
      .failure,
    [`See them:  wda rollout status ${schema} --id ${id}`],
  );
}

async function watchOne(place: Place, id: number, options: GlobalOptions): Promise<void> {
  const rollout = await followRollout(place, id, options);
  await printRollout(place, rollout, options);
  const { failed } = rollout.counts;
  if (failed > 0)
    throw partFailure(
      `${formatQuantity(failed, 'workspace')} of rollout ${id} ${failed === 1 ? 'has' : 'have'} failed and ${failed === 1 ? 'is as it was' : 'are as they were'}`,
    );
}

const followRollout = (place: Place, id: number, options: GlobalOptions): Promise<Rollout> =>
  follow({
    read: () => readRollout(place, id),
    hasEnded: isStill,
    isRunning: ({ state }) => state === 'running',
    getState: makeTracker(({ id: number, version, wave, counts }: Rollout) => {
      const { waiting, running, succeeded, unchanged, failed, skipped } = counts;
      const done = succeeded + unchanged + failed + skipped;
      return { label: `Rollout ${number} to version ${version}, wave ${wave}`, done, total: done + waiting + running };
    }),
    interruptLines: formatFollowUp(place, { id }),
    options,
    deadline: null,
  });

/** Returns true for a rollout that goes on by a command alone, or not at all, and works on no workspace. */
const isStill = ({ state, counts }: Rollout): boolean =>
  state !== 'planning' && state !== 'running' && counts.running === 0;

const formatFollowUp = ({ name }: Place, { id }: Pick<Rollout, 'id'>): readonly string[] => [
  `Rollout ${id} goes on without this command.`,
  `Watch it:  wda rollout watch ${name} --id ${id}`,
  `Pause it:  wda rollout pause ${name} --id ${id}`,
];

/* ---- status and commands ---- */

async function showStatus(schema: string, options: RolloutOptions): Promise<void> {
  const place = openPlace(schema, options);
  await printRollout(place, await findRollout(place, options), options);
}

async function send(what: (typeof COMMANDS)[number][0], schema: string, options: RolloutOptions): Promise<void> {
  const place = openPlace(schema, options);
  const { id } = await findRollout(place, options);
  const { data } = await place.client.send<Rollout>('POST', `${place.path}/${id}/${what}`);
  await printResult(options, data, () => {
    const watching = isStill(data) ? [] : ['', `Watch it:  wda rollout watch ${place.name} --id ${id}`];
    return [describeRollout(place, data), ...watching].join('\n');
  });
}

/** Returns the rollout of `--id`, or the newest. */
async function findRollout(place: Place, { id }: RolloutOptions): Promise<Rollout> {
  if (id !== undefined) return readRollout(place, parseNumber('--id', id));
  const { data } = await place.client.send<readonly Rollout[]>('GET', place.path, { query: [['size', 1]] });
  if (data[0] === undefined) throw runtimeFailure(`${place.name} has no rollout: wda rollout start begins one`);
  return data[0];
}

const readRollout = async ({ client, path }: Place, id: number): Promise<Rollout> =>
  (await client.send<Rollout>('GET', `${path}/${id}`)).data;

async function printRollout(place: Place, rollout: Rollout, options: GlobalOptions): Promise<void> {
  const { id, counts } = rollout;
  const load = (state: string, count: number): Promise<readonly RolloutWorkspace[]> =>
    count === 0 ? Promise.resolve([]) : loadWorkspaces(place, id, state);
  const [failed, skipped] = await Promise.all([load('failed', counts.failed), load('skipped', counts.skipped)]);
  const failures = [...failed, ...skipped.filter(({ error }) => error !== null)];
  await printResult(options, { ...rollout, failures }, () =>
    [describeRollout(place, rollout), ...describeFailures(place, failures)].join('\n'),
  );
}

// More are read with --json page by page from the API.
const MAX_FAILURES = 1000;

const loadWorkspaces = async ({ client, path }: Place, id: number, state: string) => {
  const query = [
    ['state', state],
    ['size', MAX_FAILURES],
  ] as const;
  return (await client.send<readonly RolloutWorkspace[]>('GET', `${path}/${id}/workspaces`, { query })).data;
};

function describeRollout({ name }: Place, rollout: Rollout): string {
  const { id, version, state, wave, counts, createdAt, startedAt, finishedAt } = rollout;
  const { waiting, running, succeeded, unchanged, failed, skipped } = counts;
  const facts = renderPairs([
    ['Rollout', id],
    ['Version', version],
    ['State', state],
    ['Wave', wave],
    ['Created', createdAt],
    ['Started', startedAt],
    ['Finished', finishedAt],
  ]);
  const head = ['WAITING', 'RUNNING', 'SUCCEEDED', 'UNCHANGED', 'FAILED', 'SKIPPED'];
  const table = renderTable(head, [[waiting, running, succeeded, unchanged, failed, skipped].map(formatCount)], head);
  const advice = state === 'paused' ? ['', `It goes on by: wda rollout resume ${name} --id ${id}`] : [];
  return [facts, '', table, ...advice].join('\n');
}

function describeFailures(place: Place, failures: readonly RolloutWorkspace[]): readonly string[] {
  if (failures.length === 0) return [];
  const rows = failures.map((failure) => [
    `${place.organization}/${failure.workspace}`,
    failure.state,
    failure.error?.code,
    failure.error?.message,
    advise(place, failure),
  ]);
  return ['', renderTable(['WORKSPACE', 'STATE', 'ERROR', 'REASON', 'WHAT TO DO'], rows)];
}

/** Says what to do about a workspace that has failed. */
function advise({ organization }: Place, { workspace, migration, error }: RolloutWorkspace): string {
  if (error?.code === 'DATA_CONFLICT') return `change ${describeRecords(error)}, then rollout retry`;
  if (error?.code === 'DESTRUCTIVE_CHANGE') return 'start again with --allow-destructive';
  const look = migration === null ? '' : `wda migration show ${migration} -w ${organization}/${workspace}; `;
  return `${look}rollout retry`;
}

function describeRecords({ entity, field, count, sampleIds }: MigrationError): string {
  const place = [entity, field].filter((part) => part !== null).join('.');
  const amount = count === null ? 'the records' : formatQuantity(count, 'record');
  const ids = sampleIds.length === 0 ? '' : ` (id ${sampleIds.join(', ')})`;
  return printable(`${amount}${place === '' ? '' : ` of ${place}`}${ids}`);
}

/* ---- shared ---- */

/** Returns a function that gives the state of a bar: how much is done of how much, and the time left by the speed so far. */
function makeTracker<T>(
  read: (work: T) => { readonly label: string; readonly done: number; readonly total: number },
): (work: T, now: number) => StepState {
  let first: { readonly at: number; readonly done: number } | undefined;
  return (work, now) => {
    const { label, done, total } = read(work);
    first ??= { at: now, done };
    const elapsedMs = now - first.at;
    const gain = done - first.done;
    const remainingMs = gain <= 0 ? null : ((total - done) / gain) * elapsedMs;
    return { label, fraction: total === 0 ? 1 : done / total, rate: null, remainingMs, elapsedMs };
  };
}

const splitList = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

/** Parses a number; the server refuses what is neither that nor a percentage. */
const parseShare = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

function parseNumber(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw usageFailure(`${option} is a number, not ${text}`);
  return Number(text);
}
