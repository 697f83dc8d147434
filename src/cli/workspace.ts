// `wda workspace`: workspaces, each with a schema and records of its own.
import {
  chosenWorkspace,
  connect,
  type GlobalOptions,
  organizationPath,
  parseWorkspace,
  workspaceName,
  workspacePath,
} from './connection.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { formatBytes } from './progress.ts';
import { readSchemaFile, refuseWithLines } from './schema-file.ts';
import { formatCount, renderTable } from './table.ts';

interface Workspace {
  readonly slug: string;
  readonly name: string;
  readonly createdAt?: string;
}

/** Creates a workspace, with the schema of a file when one is named. */
export async function createWorkspace(
  address: string,
  options: GlobalOptions & { readonly name?: string; readonly schema?: string },
): Promise<void> {
  const { organization, workspace } = parseWorkspace(address);
  const client = connect(options);
  const file = options.schema === undefined ? undefined : await readSchemaFile(options.io, options.schema);
  const { data } = await client
    .send('POST', `${organizationPath(organization)}/workspaces`, {
      body: {
        slug: workspace,
        name: options.name ?? workspace,
        ...(file === undefined ? {} : { schema: file.document }),
      },
    })
    .catch((error) => refuseWithLines(error, file, ['schema']));
  await printResult(options, data, () => `Created workspace ${organization}/${workspace}`);
}

export async function listWorkspaces(organization: string, options: GlobalOptions): Promise<void> {
  const found = (await connect(options).readAll(
    `${organizationPath(organization)}/workspaces`,
  )) as readonly Workspace[];
  await printResult(options, found, () =>
    found.length === 0
      ? `No workspaces in ${organization}`
      : renderTable(
          ['WORKSPACE', 'NAME', 'CREATED'],
          found.map(({ slug, name, createdAt }) => [`${organization}/${slug}`, name, createdAt]),
        ),
  );
}

interface EntitySize {
  readonly entity: string;
  readonly records: number;
  readonly exact: boolean;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

/** Shows how many records each entity has, and how much room they take. */
export async function showStatistics(options: GlobalOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const { data } = await connect(options).send('GET', `${workspacePath(address)}/statistics`);
  const found = data as readonly EntitySize[];
  await printResult(options, found, () =>
    found.length === 0
      ? `No entities in ${workspaceName(address)}`
      : renderTable(
          ['ENTITY', 'RECORDS', 'TABLE', 'INDEXES'],
          found.map(({ entity, records, exact, tableBytes, indexBytes }) => [
            entity,
            `${exact ? '' : 'about '}${formatCount(records)}`,
            formatBytes(tableBytes),
            formatBytes(indexBytes),
          ]),
          ['RECORDS', 'TABLE', 'INDEXES'],
        ),
  );
}

/** Deletes a workspace with all of its records. The slug must be repeated: nothing brings the records back. */
export async function deleteWorkspace(
  address: string,
  options: GlobalOptions & { readonly confirm?: string },
): Promise<void> {
  const parsed = parseWorkspace(address);
  if (options.confirm !== parsed.workspace)
    throw usageFailure(`Deleting ${workspaceName(parsed)} deletes all of its records for good`, [
      `Repeat with --confirm ${parsed.workspace} if that is meant.`,
    ]);
  await connect(options).send('DELETE', workspacePath(parsed), { query: [['confirm', options.confirm]] });
  await printResult(options, { deleted: workspaceName(parsed) }, () => `Deleted workspace ${workspaceName(parsed)}`);
}
