// `wda config`: makes a server match a file. Plans and applies the difference, checks that there is none, and exports the
// current state as a file.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Migration, Plan } from '../../../admin-types/admin-api.d.ts';
import { clientSettings } from '../../config.ts';
import { ADMIN_PREFIX, type AdminClient, type ApiResponse } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  getServer,
  organizationPath,
  parseWorkspace,
  printWarnings,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from '../command.ts';
import {
  complete,
  type DesiredOrganization,
  type DesiredWorkspace,
  isDescribable,
  LISTS,
  PARTS,
  readConfigFile,
  selectWorkspace,
  type Values,
} from '../config-file.ts';
import {
  type Actual,
  type ActualOrganization,
  type ActualWorkspace,
  ambiguousNames,
  describeShared,
  getDeleteCommand,
  makeSteps,
  type SharedName,
  type Step,
  sharedNames,
} from '../config-steps.ts';
import {
  type Column,
  count,
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
  migrationFailure,
  recordsFailure,
  requireFailureOfPlace,
  summary,
  toJsonFailures,
  toJsonStep,
} from '../config-summary.ts';
import { CommandFailure, driftFailure, runtimeFailure, serverFailure, usageFailure } from '../failure.ts';
import { type Io, printResult, writeOut } from '../io.ts';
import { rethrowWithLines, schemaAsYaml } from '../schema-file.ts';
import { printable } from '../table.ts';
import { describeMigration, followMigration, hasEnded } from './migration.ts';

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
  if (steps.length > 0) throw driftFailure(`The server differs from ${path} in ${count(steps.length, 'place')}`);
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

/**
 * Prints the current state, of everything or of one workspace, as a file without secrets. Lists with a duplicate name are left
 * out with a warning: applying a file leaves missing lists alone, while a list with one of the two would delete the other.
 * So are keys and clients that act as a role, which applying a file does not remove.
 */
async function exportConfig(options: GlobalOptions): Promise<void> {
  const client = connect(options);
  const workspaceOption = options.workspace ?? clientSettings(options.io.env).workspace;
  const organizations: Record<string, unknown> = {};
  if (workspaceOption !== undefined && workspaceOption !== '') {
    const address = parseWorkspace(workspaceOption);
    organizations[address.organization] = {
      workspaces: { [address.workspace]: await exportWorkspace(options, client, address) },
    };
  } else {
    for (const organization of await slugs(client, `${ADMIN_PREFIX}/organizations`)) {
      const { data } = await client.send('GET', organizationPath(organization));
      const workspaces: Record<string, unknown> = {};
      for (const workspace of await slugs(client, `${organizationPath(organization)}/workspaces`))
        workspaces[workspace] = await exportWorkspace(options, client, { organization, workspace });
      organizations[organization] = { name: (data as Values).name, workspaces };
    }
  }
  const document = { organizations };
  await writeOut(options.io, `${options.json ? JSON.stringify(document, null, 2) : schemaAsYaml(document)}\n`);
}

async function exportWorkspace(
  options: GlobalOptions,
  client: AdminClient,
  address: WorkspaceAddress,
): Promise<Values> {
  const { data } = await client.send('GET', workspacePath(address));
  const schema = (await client.send('GET', `${workspacePath(address)}/schema`)).data;
  const { parts, lists } = await readParts(client, address, Object.keys(PARTS), Object.keys(LISTS));
  const listMembers = Object.entries(lists).flatMap(([member, items]) => {
    const list = LISTS[member]!;
    const warn = (text: string): boolean =>
      options.io.stderr.write(`Warning: ${printable(`${workspaceName(address)}: ${text}`)}\n`);
    const [shared] = sharedNames(address, member, items);
    if (shared !== undefined) {
      const reason = `${member} is left out, as a name stands twice: ${describeShared(shared)}`;
      warn(`${reason}. End all but one of them: ${getDeleteCommand(shared)}`);
      return [];
    }
    for (const item of items.filter((candidate) => !isDescribable(candidate)))
      warn(
        `left out, as a file cannot describe the permissions ${item.permissions}: ${list.label} ${item.name} (id ${item[list.id]})`,
      );
    return [[member, Object.fromEntries(items.filter(isDescribable).map((item) => [item.name, complete(list, item)]))]];
  });
  const single = Object.entries(parts).map(([member, values]) => [
    member,
    values === null ? null : complete(PARTS[member]!, values),
  ]);
  return { name: (data as Values).name, schema, ...Object.fromEntries(single), ...Object.fromEntries(listMembers) };
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

const describeSecret = (secret: Secret | undefined): string =>
  Object.entries(secret?.secrets ?? {})
    .map(([name, value]) => `\n    ${name}: ${printable(value)}   (shown this once)`)
    .join('');

/** Reads the current state of the desired organizations; with `others` also the names of all others and their workspaces. */
async function readActual(
  client: AdminClient,
  desired: readonly DesiredOrganization[],
  includeUnlisted: boolean,
  onFailure: (place: string, error: unknown) => void,
): Promise<Actual> {
  const organizations: Record<string, ActualOrganization> = {};
  for (const { slug, workspaces } of desired) {
    const values = await readOptional(client.send('GET', organizationPath(slug))).catch((error) => {
      onFailure(slug, error);
      return undefined;
    });
    if (values === undefined) continue;
    const actualWorkspaces: Record<string, ActualWorkspace> = {};
    for (const workspace of workspaces) {
      try {
        const actual = values === null ? null : await readWorkspace(client, workspace);
        if (actual === null) await requireValidSchema(workspace.schema);
        else actualWorkspaces[workspace.address.workspace] = actual;
      } catch (error) {
        onFailure(workspaceName(workspace.address), error);
      }
    }
    if (values !== null) organizations[slug] = { name: String(values.name), workspaces: actualWorkspaces };
  }
  return { organizations, unlisted: includeUnlisted ? await readUnlisted(client, desired) : [] };
}

/** Throws for the schema of a workspace that does not exist yet, which no server can plan. */
async function requireValidSchema(schema: DesiredWorkspace['schema']): Promise<void> {
  if (schema === undefined) return;
  const { parseSchemaDocument } = await import('../../schema/document.ts');
  const parsed = parseSchemaDocument(schema.document);
  if (parsed.ok) return;
  const error = { code: 'VALIDATION_FAILED', message: 'Validation failed', details: parsed.details };
  rethrowWithLines(serverFailure(400, error, null), schema);
}

async function readWorkspace(client: AdminClient, desired: DesiredWorkspace): Promise<ActualWorkspace | null> {
  const { address, schema } = desired;
  const path = workspacePath(address);
  const values = await readOptional(client.send('GET', path));
  if (values === null) return null;
  const plan =
    schema === undefined
      ? null
      : await client
          .send('POST', `${path}/schema/plan`, { body: schema.document })
          .then(({ data }) => data as Plan)
          .catch((error) => rethrowWithLines(error, schema));
  return {
    name: String(values.name),
    document: (await client.send('GET', `${path}/schema`)).data as Values,
    plan,
    ...(await readParts(client, address, Object.keys(desired.parts), Object.keys(desired.lists))),
  };
}

/** Reads the members of PARTS and LISTS of a workspace. */
async function readParts(
  client: AdminClient,
  address: WorkspaceAddress,
  parts: readonly string[],
  lists: readonly string[],
): Promise<Pick<ActualWorkspace, 'parts' | 'lists'>> {
  const path = workspacePath(address);
  const values: Record<string, Values | null> = {};
  for (const member of parts) values[member] = await readOptional(client.send('GET', `${path}${PARTS[member]!.path}`));
  const all: Record<string, readonly Values[]> = {};
  for (const member of lists)
    all[member] = (await client.readAll(`${path}${LISTS[member]!.path}`)) as readonly Values[];
  return { parts: values, lists: all };
}

async function readUnlisted(client: AdminClient, desired: readonly DesiredOrganization[]): Promise<Actual['unlisted']> {
  const unlisted: Actual['unlisted'][number][] = [];
  for (const organization of await slugs(client, `${ADMIN_PREFIX}/organizations`)) {
    const desiredOrganization = desired.find(({ slug }) => slug === organization);
    const desiredSlugs = desiredOrganization?.workspaces.map(({ address }) => address.workspace) ?? [];
    const existing = await slugs(client, `${organizationPath(organization)}/workspaces`);
    const workspaces = existing.filter((slug) => !desiredSlugs.includes(slug));
    if (desiredOrganization === undefined || workspaces.length > 0)
      unlisted.push({ organization, workspaces, isListed: desiredOrganization !== undefined });
  }
  return unlisted;
}

/** Reads the slugs of a list of organizations or workspaces. */
export const slugs = async (client: AdminClient, path: string): Promise<readonly string[]> =>
  ((await client.readAll(path)) as readonly { readonly slug: string }[]).map(({ slug }) => slug);

/** Returns the data of a response, or null for a 404. */
async function readOptional(response: Promise<{ readonly data: unknown }>): Promise<Values | null> {
  try {
    return (await response).data as Values;
  } catch (error) {
    if (error instanceof CommandFailure && error.failure.kind === 'refused' && error.failure.status === 404)
      return null;
    throw error;
  }
}

/** Name of a new key or client, and its members that are shown once. */
interface Secret {
  readonly workspace: string;
  readonly list: string;
  readonly name: string;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Writer of secrets; each is on the disk before the next step. */
interface SecretFile {
  readonly write: (secret: Secret) => void;
  readonly close: () => void;
}

/** Creates a file that only its owner may read, one JSON document a line; fails if it exists. */
function openSecretFile(io: Io, path: string): SecretFile {
  let file: number;
  try {
    file = openSync(resolve(io.cwd, path), 'wx', 0o600);
  } catch (error) {
    throw runtimeFailure(
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} exists already: new secrets need a new file`
        : `Cannot write ${path}: ${(error as Error).message}`,
      undefined,
      error,
    );
  }
  return {
    write(secret) {
      writeSync(file, `${JSON.stringify(secret)}\n`);
      fsyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** Performs one step (a migration to its end); returns the secret that it created. */
async function perform(client: AdminClient, step: Step, options: GlobalOptions): Promise<Secret | undefined> {
  let secret: Secret | undefined;
  for (const { method, path, query, body } of step.requests) {
    const response = await client
      .send(method, path, { ...(query === undefined ? {} : { query }), body })
      .catch((error) => rethrowWithLines(error, step.schema?.file, method === 'POST' ? ['schema'] : []));
    printWarnings(options.io, response, step.place);
    if (step.schema !== undefined && method === 'PUT')
      await awaitMigration(client, step, response.data as Migration, options);
    if (method === 'POST') secret = getSecret(step, response);
  }
  return secret;
}

async function awaitMigration(
  client: AdminClient,
  { place, schema }: Step,
  migration: Migration,
  options: GlobalOptions,
): Promise<void> {
  const result = hasEnded(migration)
    ? migration
    : await followMigration(client, (schema as NonNullable<typeof schema>).address, String(migration.id), {
        options,
        deadline: null,
      });
  if (result.state === 'succeeded') return;
  if (!options.json) await writeOut(options.io, `! ${printable(place)}: schema\n${describeMigration(result)}\n`);
  throw migrationFailure(result);
}

function getSecret({ place, secret }: Step, { data }: ApiResponse): Secret | undefined {
  if (secret === undefined) return undefined;
  const values = data as Readonly<Record<string, string>>;
  const names = LISTS[secret.list]!.secrets;
  return {
    workspace: place,
    ...secret,
    secrets: Object.fromEntries(names.map((name) => [name, String(values[name])])),
  };
}
