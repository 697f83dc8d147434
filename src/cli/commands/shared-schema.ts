// `wda schema publish` and `versions`: shared schemas, which many workspaces follow. `wda workspace follow` and `unfollow`: which
// of them a workspace follows.
import type { Command } from 'commander';
import type {
  PublishedVersion,
  SchemaVersion,
  SharedSchema,
  VersionSummary,
  Workspace,
} from '../../../admin-types/admin-api.d.ts';
import type { AdminClient } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  isSlug,
  organizationPath,
  parseWorkspace,
  printList,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { CommandFailure, usageFailure } from '../failure.ts';
import { printResult, writeOut } from '../io.ts';
import { readSchemaFile, rethrowWithLines, schemaAsYaml } from '../schema-file.ts';
import { printable } from '../table.ts';
import { followMigration, hasEnded, requireSuccess } from './migration.ts';

/** A shared schema by the slugs of its organization and its own. */
export interface SchemaAddress {
  readonly organization: string;
  readonly schema: string;
}

/** Parses `acme/helpdesk`; throws a usage failure for anything else. */
export function parseSharedSchema(text: string): SchemaAddress {
  const [organization, schema, ...rest] = text.split('/');
  if (!isSlug(organization) || !isSlug(schema) || rest.length > 0)
    throw usageFailure(`A shared schema is named as organization/schema, such as acme/helpdesk, not ${text}`);
  return { organization: organization as string, schema: schema as string };
}

export const sharedSchemaPath = ({ organization, schema }: SchemaAddress): string =>
  `${organizationPath(organization)}/schemas/${schema}`;

/** Parses `helpdesk` or `helpdesk@3`. */
export function parseFollow(text: string): { readonly schema: string; readonly version?: number } {
  const [, schema, version] = /^([^@]*)(?:@([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (!isSlug(schema))
    throw usageFailure(`A shared schema to follow is named as helpdesk, or helpdesk@3 for version 3, not ${text}`);
  return { schema: schema as string, ...(version === undefined ? {} : { version: Number(version) }) };
}

/** Adds the commands to `wda schema`. */
export function registerPublishing(group: Command): void {
  const publishing = group
    .command('publish')
    .description('publish a version of a shared schema, which workspaces follow (needs the operator key)')
    .argument('<file>', 'schema document, YAML or JSON; - is stdin')
    .requiredOption('--as <org/schema>', 'the shared schema, such as acme/helpdesk; its first version makes it')
    .option('--dry-run', 'show what the version would change; publishes nothing')
    .option('--new', 'make a shared schema although one has a similar name')
    .action(action(publish));
  examples(publishing, [
    'wda schema publish helpdesk.yaml --as acme/helpdesk',
    'wda workspace create acme/initech --follows helpdesk',
  ]);
  group
    .command('versions')
    .description('list the versions of a shared schema, or print one of them')
    .argument('<org/schema>', 'the shared schema, such as acme/helpdesk')
    .argument('[version]', 'number of a version: prints its document')
    .action(action(versions));
}

/** Adds the commands to `wda workspace`. */
export function registerFollowing(group: Command): void {
  group
    .command('follow')
    .description('let a workspace follow a shared schema of its organization (needs the operator key)')
    .argument('<org/workspace>')
    .argument('<schema>', 'name of the shared schema; helpdesk@3 for version 3 (default: the newest)')
    .option('--allow-destructive', 'allow it to drop what the version does not have, with its data')
    .action(action(follow));
  group
    .command('unfollow')
    .description('end that a workspace follows a shared schema; it keeps the schema (needs the operator key)')
    .argument('<org/workspace>')
    .action(action(unfollow));
}

interface PublishOptions extends GlobalOptions {
  readonly as: string;
  readonly new?: boolean;
  readonly dryRun?: boolean;
}

async function publish(path: string, options: PublishOptions): Promise<void> {
  const address = parseSharedSchema(options.as);
  const client = connect(options);
  const file = await readSchemaFile(options.io, path);
  const { dryRun } = options;
  const isMade = dryRun === true ? false : await makeUnlessThere(client, address, options.new === true);
  const { data, status } = await client
    .send<PublishedVersion>('POST', `${sharedSchemaPath(address)}/versions`, {
      body: file.document,
      query: [['dryRun', dryRun]],
    })
    .catch((error) => rethrowWithLines(error, file));
  await printResult(options, data, () =>
    [
      ...(isMade ? [`Made shared schema ${options.as}`] : []),
      dryRun === true
        ? describeVersion(data, `${file.name} as version ${data.version} of ${options.as}`)
        : status === 200
          ? `${file.name} is version ${data.version} of ${options.as}, the newest: nothing to publish`
          : describeVersion(data, `Published version ${data.version} of ${options.as}`),
    ].join('\n'),
  );
}

function describeVersion({ steps }: Pick<PublishedVersion, 'steps'>, title: string): string {
  const lines = steps.map(
    ({ description, destructive }) => `  ${printable(description)}${destructive ? '   DESTROYS DATA' : ''}`,
  );
  return [`${title}: ${steps.length} step${steps.length === 1 ? '' : 's'}`, ...lines].join('\n');
}

/** Makes the shared schema if there is none; returns whether it has. Throws when one with a similar name was probably meant. */
export async function makeUnlessThere(client: AdminClient, address: SchemaAddress, isNew: boolean): Promise<boolean> {
  try {
    await client.send<SharedSchema>('GET', sharedSchemaPath(address));
    return false;
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failure.kind !== 'refused') throw error;
    const { reason, message } = error.failure.error;
    if (reason !== 'SHARED_SCHEMA_NOT_FOUND') throw error;
    if (!isNew && /Did you mean/.test(message))
      throw new CommandFailure(error.failure, ['With --new it is made all the same.'], error);
  }
  await client.send('POST', `${organizationPath(address.organization)}/schemas`, { body: { name: address.schema } });
  return true;
}

async function versions(name: string, version: string | undefined, options: GlobalOptions): Promise<void> {
  const path = `${sharedSchemaPath(parseSharedSchema(name))}/versions`;
  const client = connect(options);
  if (version === undefined) {
    const all = await client.readAll<VersionSummary>(path);
    return printList(options, all, `${name} has no version yet`, ['VERSION', 'CREATED'], ({ version, createdAt }) => [
      String(version),
      createdAt,
    ]);
  }
  const { data } = await client.send<SchemaVersion>('GET', `${path}/${encodeURIComponent(version)}`);
  if (options.json) return printResult(options, data, () => '');
  options.io.stderr.write(`${describeVersion(data, `Version ${data.version} of ${name}`)}\n`);
  await writeOut(options.io, `${schemaAsYaml(data.schema)}\n`);
}

async function follow(
  text: string,
  schema: string,
  options: GlobalOptions & { readonly allowDestructive?: boolean },
): Promise<void> {
  const address = parseWorkspace(text);
  const client = connect(options);
  const { allowDestructive } = options;
  const { status, data, location } = await client.send<Workspace>('PUT', workspacePath(address), {
    body: { follows: parseFollow(schema) },
    query: [['allowDestructive', allowDestructive]],
  });
  const id = status === 202 ? location?.split('/').at(-1) : undefined;
  let workspace = data;
  if (id !== undefined) {
    const migration = await followMigration(client, address, id, { options, deadline: null });
    if (hasEnded(migration)) requireSuccess(migration);
    workspace = (await client.send<Workspace>('GET', workspacePath(address))).data;
  }
  await printResult(options, workspace, () => {
    const { follows } = workspace;
    return `${workspaceName(address)} follows ${follows?.schema}, version ${follows?.version}`;
  });
}

async function unfollow(text: string, options: GlobalOptions): Promise<void> {
  const address = parseWorkspace(text);
  const { data } = await connect(options).send<Workspace>('PUT', workspacePath(address), { body: { follows: null } });
  await printResult(options, data, () => `${workspaceName(address)} follows no shared schema; its schema stays`);
}
