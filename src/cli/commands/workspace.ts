// `wda workspace`: lists, creates, renames and deletes workspaces, each with its own schema and records.
import type { Command } from 'commander';
import type { EntityStatistics, WorkspaceListed } from '../../../admin-types/admin-api.d.ts';
import { action, examples } from '../command.ts';
import {
  connect,
  type GlobalOptions,
  organizationPath,
  parseWorkspace,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../connection.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatBytes } from '../progress.ts';
import { readSchemaFile, rethrowWithLines } from '../schema-file.ts';
import { formatCount, renderTable } from '../table.ts';
import { registerMove } from './cluster.ts';

export function register(program: Command): void {
  const group = program
    .command('workspace')
    .alias('ws')
    .description('workspaces, each with a schema and records of its own');
  group
    .command('create')
    .description('create a workspace')
    .argument('<org/workspace>', 'its address, such as acme/shop')
    .option('--name <name>', 'name for people (default: the slug)')
    .option('--schema <file>', 'schema document, YAML or JSON, that it starts with')
    .action(action(create));
  group.command('list').description('list the workspaces of an organization').argument('<org>').action(action(list));
  group
    .command('statistics')
    .description('show how many records each entity has, and how much room they take')
    .action(action(showStatistics));
  group
    .command('delete')
    .description('delete a workspace and all of its records')
    .argument('<org/workspace>')
    .option('--confirm <slug>', "the workspace's slug once more: nothing brings the records back")
    .action(action(remove));
  registerMove(group);
  examples(group, [
    'wda workspace create acme/shop --name "Shop" --schema schema.yaml',
    'wda workspace list acme',
    'wda workspace statistics -w acme/shop',
    'wda workspace delete acme/shop --confirm shop',
  ]);
}

async function create(
  address: string,
  options: GlobalOptions & { readonly name?: string; readonly schema?: string },
): Promise<void> {
  const { organization, workspace } = parseWorkspace(address);
  const client = connect(options);
  const file = options.schema === undefined ? undefined : await readSchemaFile(options.io, options.schema);
  const body = {
    slug: workspace,
    name: options.name ?? workspace,
    ...(file === undefined ? {} : { schema: file.document }),
  };
  const { data } = await client
    .send('POST', `${organizationPath(organization)}/workspaces`, { body })
    .catch((error) => rethrowWithLines(error, file, ['schema']));
  await printResult(options, data, () => `Created workspace ${organization}/${workspace}`);
}

async function list(organization: string, options: GlobalOptions): Promise<void> {
  const workspaces = await connect(options).readAll<WorkspaceListed>(`${organizationPath(organization)}/workspaces`);
  await printResult(options, workspaces, () =>
    workspaces.length === 0
      ? `No workspaces in ${organization}`
      : renderTable(
          ['WORKSPACE', 'NAME', 'CREATED'],
          workspaces.map(({ slug, name, createdAt }) => [`${organization}/${slug}`, name, createdAt]),
        ),
  );
}

async function showStatistics(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const path = `${workspacePath(address)}/statistics`;
  const { data } = await connect(options).send<readonly EntityStatistics[]>('GET', path);
  await printResult(options, data, () =>
    data.length === 0
      ? `No entities in ${workspaceName(address)}`
      : renderTable(
          ['ENTITY', 'RECORDS', 'TABLE', 'INDEXES'],
          data.map(({ entity, records, exact, tableBytes, indexBytes }) => [
            entity,
            `${exact ? '' : 'about '}${formatCount(records)}`,
            formatBytes(tableBytes),
            formatBytes(indexBytes),
          ]),
          ['RECORDS', 'TABLE', 'INDEXES'],
        ),
  );
}

async function remove(address: string, options: GlobalOptions & { readonly confirm?: string }): Promise<void> {
  const parsed = parseWorkspace(address);
  const name = workspaceName(parsed);
  if (options.confirm !== parsed.workspace)
    throw usageFailure(`Deleting ${name} deletes all of its records for good`, [
      `Repeat with --confirm ${parsed.workspace} if that is meant.`,
    ]);
  await connect(options).send('DELETE', workspacePath(parsed), { query: [['confirm', options.confirm]] });
  await printResult(options, { deleted: name }, () => `Deleted workspace ${name}`);
}
