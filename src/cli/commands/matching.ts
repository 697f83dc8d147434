// `wda update` and `wda delete` change and delete all records of an entity that match a filter. Both say first how many
// there are, and ask. More than 10,000 are a job, whose progress they show.
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { parseExact } from '../../model/exact-json.ts';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  collect,
  connect,
  entityPath,
  examples,
  FILTER_HELP,
  type GlobalOptions,
  RECORDS_PREFIX,
  requireWorkspace,
  workspaceName,
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { type FieldTypes, loadFieldTypes, parseFilterOption, parseValue } from '../filter-option.ts';
import { type Io, printResult } from '../io.ts';
import { formatCount } from '../table.ts';
import { followJob, type Job, requireSuccess } from './jobs.ts';

export function register(program: Command): void {
  const updateCommand = addOptions(
    program
      .command('update')
      .description('change all records of an entity that match, or none')
      .argument('<entity>')
      .requiredOption('--set <assignment>', '<field>=<value>; repeat it for more fields', collect),
  ).action(action(update));
  examples(updateCommand, [
    'wda update orders -w acme/shop --filter status,eq,open --set status=paid --max 100',
    'wda update products -w acme/shop --all --set price=\'{"$inc": 1}\' --max 1000 --yes',
  ]);
  const deleteCommand = addOptions(
    program.command('delete').description('delete all records of an entity that match, or none').argument('<entity>'),
  ).action(action(remove));
  examples(deleteCommand, ['wda delete orders -w acme/shop --filter status,eq,shipped --max 5000']);
}

const addOptions = (command: Command): Command =>
  command
    .option('--filter <filter>', `${FILTER_HELP}, or a filter as JSON`, collect)
    .option('--all', 'all records, in place of a filter')
    .requiredOption('--max <number>', 'the most records that may match; with more nothing is written')
    .option('--yes', 'do not ask')
    .option('--no-wait', 'do not wait for the job that more than 10,000 records are');

interface MatchingOptions extends GlobalOptions {
  readonly filter?: readonly string[];
  readonly all?: true;
  readonly max: string;
  readonly yes?: true;
  readonly wait?: boolean;
}

interface Matched {
  readonly matched: number;
  /** Missing in a dry run of a job. */
  readonly updated?: number;
  readonly deleted?: number;
}

async function update(entity: string, options: MatchingOptions & { readonly set: readonly string[] }): Promise<void> {
  const loadTypes = makeLoadTypes(entity, options);
  const getType = await loadTypes();
  const set = Object.fromEntries(options.set.map((text) => parseAssignment(text, getType)));
  const body = { ...(await parseMatching(options, loadTypes)), set };
  await run(entity, { path: '_update', body, options, getCount: ({ updated = 0 }) => updated, verb: 'change' });
}

async function remove(entity: string, options: MatchingOptions): Promise<void> {
  const body = await parseMatching(options, makeLoadTypes(entity, options));
  await run(entity, { path: '_delete', body, options, getCount: ({ deleted = 0 }) => deleted, verb: 'delete' });
}

function makeLoadTypes(entity: string, options: GlobalOptions): () => Promise<FieldTypes> {
  let types: Promise<FieldTypes> | undefined;
  const path = `${RECORDS_PREFIX}/${workspaceName(requireWorkspace(options))}/_schema`;
  return () => {
    types ??= loadFieldTypes(connect(options), path, entity);
    return types;
  };
}

async function parseMatching(
  { filter = [], all, max }: MatchingOptions,
  loadTypes: () => Promise<FieldTypes>,
): Promise<object> {
  if (!/^[1-9]\d{0,6}$/.test(max)) throw usageFailure(`--max takes a number of records, not ${max}`);
  if ((all === true) === filter.length > 0) throw usageFailure('Say which records: by --filter, or --all');
  return { filter: all ? { all: true } : await parseFilterOption(filter, loadTypes), max: Number(max) };
}

/** Parses `<field>=<value>`: a value of the type of the field, null, an object or a text in quotes as JSON. */
export function parseAssignment(text: string, getType: FieldTypes): readonly [field: string, value: unknown] {
  const [, field, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (field === undefined) throw usageFailure(`--set takes <field>=<value>, not ${text}`);
  if (value === 'null' || /^\s*[{["]/.test(value) || getType(field) === 'json') {
    try {
      return [field, parseExact(value)];
    } catch {
      throw usageFailure(`--set ${field}: ${value} is not JSON`);
    }
  }
  return [field, parseValue(value, getType(field))];
}

interface Write {
  readonly path: '_update' | '_delete';
  readonly body: object;
  readonly options: MatchingOptions;
  readonly getCount: (data: Matched) => number;
  readonly verb: 'change' | 'delete';
}

/** Tells how many records the write would change, asks, and writes. */
async function run(entity: string, { path, body, options, getCount, verb }: Write): Promise<void> {
  const client = connect(options);
  const to = `${entityPath(requireWorkspace(options), entity)}/${path}`;
  const send = (sender: AdminClient, query: readonly (readonly [string, string])[]) =>
    sender.send<Matched>('POST', to, { body, query });
  if (options.yes !== true) {
    if (options.json || options.io.stdin.isTTY !== true)
      throw usageFailure('It asks first, which needs a terminal: repeat it with --yes');
    const { data: expected, meta } = await send(client, [['dryRun', 'true']]);
    const isJob = (meta as { readonly job?: boolean } | null)?.job === true;
    const would = verb === 'change' ? 'change' : 'be deleted';
    const matched = formatCount(expected.matched);
    const sentence = isJob
      ? `${matched} records of ${entity} match, and would ${would} in batches, as a job.`
      : `${formatCount(getCount(expected))} of ${matched} matching records of ${entity} would ${would}.`;
    if (!(await ask(options.io, `${sentence} Go on? [y/N] `))) throw usageFailure('Nothing was written');
  }
  const { status, data } = await send(client, []);
  if (status === 202) return finishJob(client, data as Matched & Job, { entity, verb, getCount, options });
  const count = getCount(data);
  await printResult(
    options,
    data,
    () => `${formatCount(count)} ${count === 1 ? 'record' : 'records'} of ${entity} ${verb}d`,
  );
}

/** Waits for a job, unless it is told not to, and prints how it has ended. */
async function finishJob(
  client: AdminClient,
  started: Job,
  { entity, verb, getCount, options }: Pick<Write, 'verb' | 'getCount' | 'options'> & { readonly entity: string },
): Promise<void> {
  const { id } = started;
  const isWaiting = options.wait !== false;
  const job = isWaiting ? await followJob(client, requireWorkspace(options), id, options) : started;
  requireSuccess(job);
  const count = formatCount(getCount(job));
  await printResult(options, job, () =>
    isWaiting ? `${count} records of ${entity} ${verb}d` : `Job ${id} is ${job.state}: wda jobs show ${id} --follow`,
  );
}

async function ask({ stdin, stderr }: Io, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim());
  } finally {
    lines.close();
  }
}
