// `wda schema`: the schema document of a workspace. Shows it, plans a change, applies one and watches it to its end.
import type { Answer } from './admin-client.ts';
import {
  chosenWorkspace,
  connect,
  type GlobalOptions,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from './connection.ts';
import { CommandFailure, usageFailure } from './failure.ts';
import { sayingWhenInterrupted } from './follow.ts';
import { printResult, writeOut } from './io.ts';
import { followMigration, leftRunning, requireSuccess } from './migration.ts';
import { describeMigration, describePlan, hasEnded, type Migration, type Plan } from './migration-view.ts';
import { readSchemaFile, refuseWithLines, schemaAsYaml } from './schema-file.ts';
import { printable } from './table.ts';

export interface PlanOptions extends GlobalOptions {
  readonly strategy?: string;
  /** Tag of the document that must be in force. */
  readonly basedOn?: string;
}

export interface ApplyOptions extends PlanOptions {
  readonly allowDestructive?: boolean;
  readonly wait?: string;
}

/** Prints the schema document in force, as YAML or JSON, ready to be edited and applied. */
export async function showSchema(options: GlobalOptions & { readonly format?: string }): Promise<void> {
  const { data } = await connect(options).send('GET', `${workspacePath(chosenWorkspace(options))}/schema`);
  const asJson = options.json || options.format === 'json';
  await writeOut(options.io, `${asJson ? JSON.stringify(data, null, 2) : schemaAsYaml(data)}\n`);
}

/** Shows what `apply` would do. Nothing is changed. */
export async function planSchema(path: string, options: PlanOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const file = await readSchemaFile(options.io, path);
  const { data } = await client
    .send('POST', `${workspacePath(address)}/schema/plan`, {
      body: file.document,
      query: [
        ['strategy', options.strategy],
        ['basedOn', options.basedOn],
      ],
    })
    .catch((error) => refuseWithLines(error, file));
  const plan = data as Plan;
  await printResult(options, plan, () =>
    [describePlan(plan), ...(canBeApplied(plan) ? ['', exactly(plan, path, address)] : [])].join('\n'),
  );
}

const canBeApplied = ({ steps }: Plan): boolean =>
  steps.length > 0 && steps.every(({ conflicts }) => conflicts === null);

const exactly = ({ basedOn }: Plan, path: string, address: WorkspaceAddress): string =>
  `Exactly this, or nothing:  wda schema apply ${path} -w ${workspaceName(address)} --based-on ${basedOn}`;

/** Puts a schema document in force and waits for the migration, without end unless `wait` says how many seconds. */
export async function applySchema(path: string, options: ApplyOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const wait = options.wait === undefined ? null : parseWait(options.wait);
  const file = await readSchemaFile(options.io, path);
  const deadline = wait === null ? null : performance.now() + wait * 1000;
  // What is shown to be lost is what is lost: nobody changes the schema between the two requests.
  const ifMatch =
    options.basedOn === undefined
      ? ((await client.send('GET', `${workspacePath(address)}/schema`)).tag ?? undefined)
      : `"${options.basedOn}"`;

  const put = (allowDestructive: true | undefined): Promise<Answer> =>
    client.send('PUT', `${workspacePath(address)}/schema`, {
      body: file.document,
      ifMatch,
      query: [
        ['strategy', options.strategy],
        ['allowDestructive', allowDestructive],
        // Long enough for an ordinary change to end within the request, short enough that a bar appears soon.
        ['wait', Math.min(wait ?? 1, 1)],
      ],
    });
  // First without permission to lose data: the refusal names what would be lost, and that is shown before it is done.
  const answer = await sayingWhenInterrupted(
    options.io,
    () => perhapsStarted(address),
    () =>
      put(undefined).catch((error) => {
        if (!isDestructive(error)) throw error;
        if (!options.allowDestructive) throw explainDestructive(error, path, address);
        if (!options.json) options.io.stderr.write(`${describeLoss(error)}\n`);
        return put(true);
      }),
  ).catch((error) => refuseWithLines(error, file));

  const first = answer.data as Migration | null;
  const id = String(first?.id ?? answer.location?.split('/').at(-1) ?? '');
  if (first === null && answer.status !== 202) {
    await printResult(
      options,
      null,
      () => `The schema of ${workspaceName(address)} is already in force: nothing to change`,
    );
    return;
  }
  const ended = first !== null && hasEnded(first);
  const migration = ended || wait === 0 ? first : await followMigration(client, address, id, { options, deadline });
  await printResult(options, migration ?? { id }, () => describeOutcome(migration, address, path));
  if (migration === null) return;
  requireSuccess(migration);
  if (!hasEnded(migration) && wait !== 0)
    throw new CommandFailure(
      { kind: 'failed', message: `Migration ${migration.id} has not ended within ${wait} s` },
      leftRunning(address, id),
    );
}

/** Whole seconds, 0 or more. */
export function parseWait(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw usageFailure(`--wait takes a number of seconds, not ${text}`);
  return Number(text);
}

function describeOutcome(migration: Migration | null, address: WorkspaceAddress, path: string): string {
  if (migration === null) return `The migration of ${workspaceName(address)} has been accepted`;
  if (migration.state !== 'succeeded') return describeMigration(migration);
  const steps = migration.steps.length;
  if (steps === 0) return `The schema of ${workspaceName(address)} is already in force: nothing to change`;
  const done = migration.steps.map((step) => `  ${printable(step.description)}`).join('\n');
  return `Applied ${path} to ${workspaceName(address)}: ${steps} step${steps === 1 ? '' : 's'}\n${done}`;
}

function perhapsStarted(address: WorkspaceAddress): readonly string[] {
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

/** What would be lost, one line each, as the server named it. */
function describeLoss({ failure }: CommandFailure): string {
  const details = failure.kind === 'refused' ? (failure.error.details ?? []) : [];
  return ['This destroys data:', ...details.map(({ message }) => `  ${printable(message ?? '')}`)].join('\n');
}

/** A refusal for lost data: the server names what would go, this adds how to look closer and how to allow it. */
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
