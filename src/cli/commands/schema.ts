// `wda schema`: shows the schema document of a workspace, plans a change, applies one and follows it to its end.
import { type Command, Option } from 'commander';
import type { Migration, Plan } from '../../../admin-types/admin-api.d.ts';
import type { ApiResponse } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printWarnings,
  requireWorkspace,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { CommandFailure, usageFailure } from '../failure.ts';
import { printResult, writeOut } from '../io.ts';
import { printOnInterrupt } from '../progress.ts';
import { readSchemaFile, rethrowWithLines, schemaAsYaml } from '../schema-file.ts';
import { printable } from '../table.ts';
import {
  describeMigration,
  describePlan,
  followMigration,
  formatFollowUp,
  hasEnded,
  requireSuccess,
} from './migration.ts';
import { registerPublishing } from './shared-schema.ts';

export function register(program: Command): void {
  const group = program
    .command('schema')
    .description('the schema document of a workspace, and schemas that many workspaces follow');
  group
    .command('show')
    .description('print the schema in force, ready to be edited and applied')
    .addOption(new Option('--format <format>', 'yaml or json').choices(['yaml', 'json']).default('yaml'))
    .action(action(show));
  group
    .command('plan')
    .description('show what apply would do; changes nothing')
    .argument('<file>', 'schema document, YAML or JSON; - is stdin')
    .addOption(strategy())
    .option('--based-on <tag>', 'only if the document with this tag is in force (plan prints the tag)')
    .action(action(plan));
  const applying = group
    .command('apply')
    .description('put a schema in force and watch the migration to its end')
    .argument('<file>', 'schema document, YAML or JSON; - is stdin')
    .addOption(strategy())
    .option('--based-on <tag>', 'only if the plan with this tag is still what would be done')
    .option('--allow-destructive', 'allow it to drop entities, fields or relations with their data')
    .option('--wait <seconds>', 'wait this long at most, 0 not at all (default: until it has ended)')
    .action(action(apply));
  examples(applying, [
    'wda schema apply schema.yaml -w acme/shop',
    'wda schema apply schema.yaml -w acme/shop --allow-destructive',
    'wda schema apply schema.yaml -w acme/shop --wait 0 --json   # starts it, prints the migration',
    'generate-schema | wda schema apply - -w acme/shop',
  ]);
  registerPublishing(group);
  examples(group, [
    'wda schema show -w acme/shop > schema.yaml',
    'wda schema plan schema.yaml -w acme/shop',
    'wda schema plan schema.yaml -w acme/shop --strategy blocking',
    'wda schema apply schema.yaml -w acme/shop',
    'wda schema apply schema.yaml -w acme/shop --allow-destructive --strategy blocking',
    'wda schema publish helpdesk.yaml --as acme/helpdesk',
    'wda schema versions acme/helpdesk',
  ]);
}

const strategy = (): Option =>
  new Option(
    '--strategy <strategy>',
    'online (default): requests go on meanwhile; blocking: at once and quicker, requests get 503 meanwhile',
  ).choices(['online', 'blocking']);

interface PlanOptions extends GlobalOptions {
  readonly strategy?: string;
  /** Tag of the document that must be in force. */
  readonly basedOn?: string;
}

interface ApplyOptions extends PlanOptions {
  readonly allowDestructive?: boolean;
  readonly wait?: string;
}

/** Prints the schema document in force, as YAML or JSON, ready to edit and apply. */
async function show(options: GlobalOptions & { readonly format?: string }): Promise<void> {
  const { data } = await connect(options).send('GET', `${workspacePath(requireWorkspace(options))}/schema`);
  const asJson = options.json || options.format === 'json';
  await writeOut(options.io, `${asJson ? JSON.stringify(data, null, 2) : schemaAsYaml(data)}\n`);
}

/** Prints the plan of `apply` without changing anything. */
async function plan(path: string, options: PlanOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const file = await readSchemaFile(options.io, path);
  const { data } = await client
    .send<Plan>('POST', `${workspacePath(address)}/schema/plan`, {
      body: file.document,
      query: [
        ['strategy', options.strategy],
        ['basedOn', options.basedOn],
      ],
    })
    .catch((error) => rethrowWithLines(error, file));
  await printResult(options, data, () =>
    [describePlan(data), ...(canBeApplied(data) ? ['', applyCommand(data, path, address)] : [])].join('\n'),
  );
}

const canBeApplied = ({ steps }: Plan): boolean =>
  steps.length > 0 && steps.every(({ conflicts }) => conflicts === null);

const applyCommand = ({ basedOn }: Plan, path: string, address: WorkspaceAddress): string =>
  `Exactly this, or nothing:  wda schema apply ${path} -w ${workspaceName(address)} --based-on ${basedOn}`;

/** Applies a schema document and waits for the migration, for `wait` seconds or without a limit. */
async function apply(path: string, options: ApplyOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const wait = options.wait === undefined ? null : parseWait(options.wait);
  const file = await readSchemaFile(options.io, path);
  const deadline = wait === null ? null : performance.now() + wait * 1000;
  // If-Match ensures that the loss is the one shown: the schema must not change between the two requests.
  const ifMatch =
    options.basedOn === undefined
      ? ((await client.send('GET', `${workspacePath(address)}/schema`)).tag ?? undefined)
      : `"${options.basedOn}"`;

  const put = (allowDestructive: true | undefined): Promise<ApiResponse<Migration>> =>
    client.send('PUT', `${workspacePath(address)}/schema`, {
      body: file.document,
      ifMatch,
      query: [
        ['strategy', options.strategy],
        ['allowDestructive', allowDestructive],
        // Waits long enough for an ordinary change to end within the request, and shows a bar soon.
        ['wait', Math.min(wait ?? 1, 1)],
      ],
    });
  // Tries without `allowDestructive` first: the error lists the data to be lost, which is shown before the change.
  const response = await printOnInterrupt(
    options.io,
    () => describePossibleStart(address),
    () =>
      put(undefined).catch((error) => {
        if (!isDestructive(error)) throw error;
        if (!options.allowDestructive) throw explainDestructive(error, path, address);
        if (!options.json) options.io.stderr.write(`${describeLoss(error)}\n`);
        return put(true);
      }),
  ).catch((error) => rethrowWithLines(error, file));

  const { data: started } = response;
  const migration =
    hasEnded(started) || wait === 0
      ? started
      : await followMigration(client, address, String(started.id), { options, deadline });
  await printResult(options, migration, () => describeOutcome(migration, address, path));
  if (migration.state === 'succeeded') printWarnings(options.io, response);
  requireSuccess(migration);
  if (!hasEnded(migration) && wait !== 0)
    throw new CommandFailure(
      { kind: 'failed', message: `Migration ${migration.id} has not ended within ${wait} s` },
      formatFollowUp(address, migration.id),
    );
}

/** Parses whole seconds, 0 or more. */
export function parseWait(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw usageFailure(`--wait takes a number of seconds, not ${text}`);
  return Number(text);
}

function describeOutcome(migration: Migration, address: WorkspaceAddress, path: string): string {
  if (migration.state !== 'succeeded') return describeMigration(migration);
  const steps = migration.steps.length;
  if (steps === 0) return `The schema of ${workspaceName(address)} is already in force: nothing to change`;
  const descriptions = migration.steps.map((step) => `  ${printable(step.description)}`).join('\n');
  return `Applied ${path} to ${workspaceName(address)}: ${steps} step${steps === 1 ? '' : 's'}\n${descriptions}`;
}

function describePossibleStart(address: WorkspaceAddress): readonly string[] {
  return [
    'The server may have started the migration; then it goes on without this command.',
    `Look:  wda migration list -w ${workspaceName(address)}`,
  ];
}

function isDestructive(error: unknown): error is CommandFailure {
  return (
    error instanceof CommandFailure &&
    error.failure.kind === 'refused' &&
    error.failure.error.code === 'DESTRUCTIVE_CHANGE'
  );
}

/** Formats the data to be lost that the server named, one line each. */
function describeLoss({ failure }: CommandFailure): string {
  const details = failure.kind === 'refused' ? (failure.error.details ?? []) : [];
  return ['This destroys data:', ...details.map(({ message }) => `  ${printable(message ?? '')}`)].join('\n');
}

/** Adds hints to the error of a destructive change: how to show and how to allow it. */
function explainDestructive(error: CommandFailure, path: string, address: WorkspaceAddress): CommandFailure {
  return new CommandFailure(
    error.failure,
    [
      'Nothing has been changed. What only got another name keeps its data with renamedFrom: <the name so far>.',
      `See every step:   wda schema plan ${path} -w ${workspaceName(address)}`,
      `Apply it anyway:  wda schema apply ${path} -w ${workspaceName(address)} --allow-destructive`,
    ],
    error,
  );
}
