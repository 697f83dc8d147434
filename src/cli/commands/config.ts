// `wda config`: makes a server match a file. Plans and applies the difference, and checks that there is none.

import type { Command } from 'commander';
import type { AdminClient } from '../admin-client.ts';
import { action, connect, examples, type GlobalOptions, getServer, parseWorkspace, workspaceName } from '../command.ts';
import { readActual } from '../config-actual.ts';
import { describeSecret, openSecretFile, perform, type Secret } from '../config-apply.ts';
import { exportConfig } from '../config-export.ts';
import { readConfigFile, selectWorkspace } from '../config-file.ts';
import { ambiguousNames, describeShared, getDeleteCommand, type SharedName } from '../config-names.ts';
import type { Step } from '../config-step.ts';
import { makeSteps } from '../config-steps.ts';
import {
  type Column,
  countColumn,
  describeFailed,
  describeNeeds,
  describePlaces,
  describeStep,
  describeUndone,
  type Failures,
  FLAGS,
  failedPlaces,
  findFailure,
  getMissingFlags,
  recordsFailure,
  requireFailureOfPlace,
  summary,
  toJsonFailures,
  toJsonStep,
} from '../config-summary.ts';
import { CommandFailure, driftFailure, runtimeFailure, usageFailure } from '../failure.ts';
import { printResult, writeOut } from '../io.ts';
import { formatQuantity } from '../table.ts';

export function register(program: Command): void {
  const group = program
    .command('config')
    .description('organizations, workspaces, schemas, rules, providers and credentials as one file');
  group
    .command('export')
    .description('print the current configuration, or that of the workspace of -w; it holds no secrets')
    .action(action(exportConfig));
  const withFile = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .argument('<file>', 'YAML or JSON; - is stdin')
      .option('--prune', 'remove keys, clients and providers that the file does not have')
      .option('--prune-workspaces', 'remove workspaces and organizations that the file does not name')
      .option('--allow-destructive', 'allow steps that destroy data');
  withFile('plan', 'show what apply would do; changes nothing').action(action(planConfig));
  withFile('apply', 'make the server match the file; doing it twice changes nothing more')
    .option('--stop', 'stop at the first failure (default: go on with the other workspaces)')
    .option(
      '--secrets-out <file>',
      'a new file for new secrets, readable by its owner alone (default: stdout, this once)',
    )
    .action(action(applyConfig));
  withFile('check', 'exit with code 4 if the server does not match the file').action(action(checkConfig));
  examples(group, [
    'wda config export > config.yaml',
    'wda config plan config.yaml',
    'wda config apply config.yaml --secrets-out secrets.ndjson',
    'wda config check config.yaml   # exit code 4 when something was changed by hand',
  ]);
}

interface ConfigOptions extends GlobalOptions {
  readonly prune?: boolean;
  readonly pruneWorkspaces?: boolean;
  readonly allowDestructive?: boolean;
}

interface ApplyConfigOptions extends ConfigOptions {
  readonly stop?: boolean;
  readonly secretsOut?: string;
}

/** Prints the steps of `apply` with the same options without performing them; fails if `apply` would refuse them. */
async function planConfig(path: string, options: ConfigOptions): Promise<void> {
  const { steps, failures, workspaces } = await buildSteps(connect(options), path, options);
  const blocked = findBlocked(steps, failures);
  await printSteps(steps, blocked, options);
  requireAllowed(steps, options);
  if (blocked.size > 0) throw failedPlaces(blocked, workspaces, 'plan');
}

/** Returns the failures, and those of workspaces whose records make a change of the schema impossible. */
const findBlocked = (steps: readonly Step[], failures: Failures): Failures =>
  new Map([
    ...failures,
    ...steps.flatMap(({ place, recordsInTheWay = 0 }) =>
      recordsInTheWay === 0 ? [] : [[place, recordsFailure(recordsInTheWay)] as const],
    ),
  ]);

/** Prints every difference; fails if there is one. */
async function checkConfig(path: string, options: ConfigOptions): Promise<void> {
  const { steps, failures, workspaces } = await buildSteps(connect(options), path, options);
  await printSteps(steps, failures, options);
  if (failures.size > 0) throw failedPlaces(failures, workspaces, 'check');
  if (steps.length > 0)
    throw driftFailure(`The server differs from ${path} in ${formatQuantity(steps.length, 'place')}`);
}

/**
 * Performs the steps. A failure ends those of its workspace, without a rollback, and with `stop` all; another run
 * continues.
 */
async function applyConfig(path: string, options: ApplyConfigOptions): Promise<void> {
  const client = connect(options);
  const { steps, failures: unreadable, workspaces } = await buildSteps(client, path, options);
  const failures = new Map(unreadable);
  requireAllowed(steps, options);
  const todo = steps.filter((step) => getMissingFlags(step, options).length === 0);
  const skippedSteps = steps.filter((step) => !todo.includes(step));

  const hasSecrets = todo.some(({ secret }) => secret !== undefined);
  const file =
    options.secretsOut !== undefined && hasSecrets ? openSecretFile(options.io, options.secretsOut) : undefined;
  const doneSteps: Step[] = [];
  const secrets: Secret[] = [];
  const finish = (): Promise<void> =>
    options.json
      ? printResult(
          options,
          {
            applied: doneSteps.map(toJsonStep),
            left: skippedSteps.map(toJsonStep),
            failed: toJsonFailures(failures),
            ...(file === undefined ? { secrets } : {}),
          },
          () => '',
        )
      : Promise.resolve();
  try {
    for (const [place, failure] of failures) await printFailed(place, failure, options);
    for (const step of todo) {
      if (findFailure(step.place, failures) !== undefined) continue;
      let secret: Secret | undefined;
      try {
        secret = await perform(client, step, options);
      } catch (error) {
        if (options.stop) throw error;
        const failure = requireFailureOfPlace(error);
        failures.set(step.place, failure);
        await printFailed(step.place, failure, options);
        continue;
      }
      doneSteps.push(step);
      if (secret !== undefined) {
        file?.write(secret);
        secrets.push(secret);
      }
      if (!options.json)
        await writeOut(options.io, `${describeStep(step)}${file === undefined ? describeSecret(secret) : ''}\n`);
    }
  } catch (error) {
    await finish();
    throw doneSteps.length === 0 ? error : explainInterruption(error, doneSteps.length, todo.length);
  } finally {
    file?.close();
  }
  await finish();
  if (!options.json) {
    const failedSteps = todo.filter((step) => !doneSteps.includes(step));
    for (const step of skippedSteps) await writeOut(options.io, `left ${describeUndone(step, options)}\n`);
    const columns = [
      countColumn('DONE', doneSteps),
      countColumn('LEFT', skippedSteps),
      countColumn('NOT DONE', failedSteps),
    ];
    const table = describePlaces(steps, failures, columns, (own) => describeNeeds(own, options));
    const total = summary(
      { done: doneSteps.length, skipped: skippedSteps.length, failed: failedSteps.length },
      'done',
      failures.size,
    );
    await writeOut(options.io, `${table}${total}\n`);
  }
  if (failures.size > 0) throw failedPlaces(failures, workspaces, 'apply');
}

async function printFailed(place: string, failure: CommandFailure, options: GlobalOptions): Promise<void> {
  if (!options.json) await writeOut(options.io, `${describeFailed(place, failure)}\n`);
}

interface ConfigDifference {
  readonly steps: readonly Step[];
  /** Workspaces that could not be read or planned; they have no steps. */
  readonly failures: Failures;
  /** Names of the workspaces of the file. */
  readonly workspaces: readonly string[];
}

async function buildSteps(client: AdminClient, path: string, options: ApplyConfigOptions): Promise<ConfigDifference> {
  if (options.workspace !== undefined && options.pruneWorkspaces)
    throw usageFailure(
      '-w is about one workspace of the file, --prune-workspaces about all others: pass one of the two',
    );
  // Ignores WDA_WORKSPACE: a file must not be applied in part because of a variable that was set long ago.
  const address = options.workspace === undefined ? undefined : parseWorkspace(options.workspace);
  const allOrganizations = await readConfigFile(options.io, path);
  const desired = address === undefined ? allOrganizations : selectWorkspace(allOrganizations, address);
  const failures = new Map<string, CommandFailure>();
  const onFailure = (place: string, error: unknown): void => {
    if (options.stop) throw error;
    failures.set(place, requireFailureOfPlace(error));
  };
  const actual = await readActual(client, desired, options.pruneWorkspaces === true, onFailure);
  const duplicates = ambiguousNames(desired, actual);
  if (duplicates.length > 0) throw makeAmbiguityFailure(duplicates);
  const readable = desired
    .filter(({ slug }) => !failures.has(slug))
    .map((organization) => ({
      ...organization,
      workspaces: organization.workspaces.filter(({ address }) => !failures.has(workspaceName(address))),
    }));
  const workspaces = desired.flatMap((organization) =>
    organization.workspaces.map(({ address }) => workspaceName(address)),
  );
  return { steps: makeSteps(readable, actual), failures, workspaces };
}

const makeAmbiguityFailure = (names: readonly SharedName[]): CommandFailure =>
  new CommandFailure(
    runtimeFailure(`A name that stands twice cannot be managed: ${names.map(describeShared).join('; ')}`).failure,
    [
      'Nothing has been changed. End all but one of them:',
      ...new Set(names.map((name) => `  ${getDeleteCommand(name)}`)),
    ],
  );

/** Returns the steps that destroy data without the option that allows it; one of them blocks all steps. */
const findLosses = (steps: readonly Step[], options: ConfigOptions): readonly Step[] =>
  steps.filter((step) => getMissingFlags(step, options).join() === FLAGS.allowDestructive);

/** Returns true if a step would revoke the key of this command, and so fail all further steps. */
function endsOwnKey(steps: readonly Step[], options: ConfigOptions): boolean {
  const { key } = getServer(options);
  return steps.some(
    (step) => step.endsKey !== undefined && key.startsWith(step.endsKey) && getMissingFlags(step, options).length === 0,
  );
}

/** Throws if `apply` must not start. */
function requireAllowed(steps: readonly Step[], options: ConfigOptions): void {
  if (endsOwnKey(steps, options))
    throw new CommandFailure(
      runtimeFailure('This ends the API key that the command uses, and nothing has been changed').failure,
      ['Name it in the file as it is, or use the operator key or the key of another owner.'],
    );
  const losses = findLosses(steps, options);
  if (losses.length === 0) return;
  // Following a hint must not delete a workspace that the file does not name.
  const hint = losses.some(({ needs }) => needs.includes('pruneWorkspaces'))
    ? 'Without --prune-workspaces, workspaces that the file does not name stay.'
    : 'Do it anyway with --allow-destructive.';
  throw new CommandFailure(runtimeFailure('This destroys data, and nothing has been changed').failure, [
    ...losses.flatMap((step) => describeStep(step).split('\n')),
    hint,
  ]);
}

/** Adds the number of completed steps to the failure of a step. */
function explainInterruption(error: unknown, doneCount: number, all: number): unknown {
  if (!(error instanceof CommandFailure)) return error;
  const hint = `${doneCount} of ${all} steps are done and stay; apply the file again to go on.`;
  return new CommandFailure(error.failure, [...error.hints, hint], error);
}

async function printSteps(steps: readonly Step[], failures: Failures, options: ConfigOptions): Promise<void> {
  const rejection = findRejection(steps, options);
  const skippedSteps = steps.filter((step) => rejection !== '' || getMissingFlags(step, options).length > 0);
  const todo = steps.filter((step) => !skippedSteps.includes(step));
  const columns: readonly Column[] = [
    countColumn('CHANGES', todo),
    countColumn('LEFT', skippedSteps),
    ['DESTROYS DATA', (own) => (own.some(({ needs }) => needs.includes('allowDestructive')) ? 'yes' : '-')],
    ['IN THE WAY', (own) => own.reduce((sum, { recordsInTheWay = 0 }) => sum + recordsInTheWay, 0)],
  ];
  const table = describePlaces(steps, failures, columns, (own) => describeNeeds(own, options) || rejection);
  const unplanned = [...failures].filter(([place]) => !steps.some((step) => step.place === place));
  await printResult(options, { steps: steps.map(toJsonStep), failed: toJsonFailures(failures) }, () =>
    [
      ...steps.map((step) => describeUndone(step, options)),
      ...unplanned.map(([place, failure]) => describeFailed(place, failure)),
      `${table}${summary({ done: todo.length, skipped: skippedSteps.length, failed: 0 }, 'to do', failures.size)}`,
    ].join('\n'),
  );
}

/** Returns why `apply` would perform no step at all, or an empty text. */
function findRejection(steps: readonly Step[], options: ConfigOptions): string {
  if (endsOwnKey(steps, options)) return 'ends the key of the command';
  return findLosses(steps, options).length > 0 ? `nothing is done without ${FLAGS.allowDestructive}` : '';
}
