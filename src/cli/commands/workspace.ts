// `wda org` and `wda workspace`: organizations, and the workspaces in them. Organizations and new workspaces require the
// operator's credential.
import type { Command } from 'commander';
import type {
  EntityStatistics,
  Organization,
  Workspace,
  WorkspaceCreated,
  WorkspaceListed,
} from '../../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  organizationPath,
  parseWorkspace,
  printList,
  printWarnings,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { formatBytes } from '../progress.ts';
import { isObject, readSchemaFile, rethrowWithLines, type SchemaFile } from '../schema-file.ts';
import { formatCount, printable, renderPairs, renderTable } from '../table.ts';
import { registerMove } from './cluster.ts';
import { registerLimits, registerOrganizationLimits } from './limits.ts';
import { parseFollow, registerFollowing } from './shared-schema.ts';
import { registerCopy } from './workspace-copy.ts';

const STATES = [
  ['suspend', 'suspended', 'refuse all requests for the records of a workspace, until it is activated'],
  ['read-only', 'readOnly', 'refuse all writes of records, until the workspace is activated'],
  ['activate', 'active', 'end a suspension, or let a read-only workspace be written to'],
] as const;

const ORGANIZATIONS = `${ADMIN_PREFIX}/organizations`;

export function register(program: Command): void {
  const organizations = program
    .command('org')
    .alias('organization')
    .description('organizations, which hold workspaces (needs the operator key)');
  organizations
    .command('create')
    .description('create an organization')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'name for people (default: the slug)')
    .action(action(createOrganization));
  organizations.command('list').description('list the organizations').action(action(listOrganizations));
  organizations
    .command('delete')
    .description('delete an organization that has no workspaces')
    .argument('<slug>')
    .action(action(removeOrganization));
  registerOrganizationLimits(organizations);
  examples(organizations, ['wda org create acme --name "Acme Ltd"', 'wda org list', 'wda org delete acme']);
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
    .option(
      '--follows <schema>',
      'a shared schema that it follows in place of one of its own; helpdesk@3 for version 3',
    )
    .option(
      '--access <file>',
      'its first keys and identity provider: apiKeys, identityProvider, YAML or JSON; keys are shown once',
    )
    .action(action(create));
  group
    .command('set')
    .description('change the name of a workspace, or the origins of the web pages that may use it')
    .argument('<org/workspace>')
    .option('--name <name>', 'name for people')
    .option(
      '--cors-origins <origins>',
      'origins, separated by commas, in place of those of the server; none: no page; server: those of the server',
    )
    .action(action(set));
  group
    .command('rename')
    .description('give a workspace another slug; keys, clients and sessions go on, its URLs change at once')
    .argument('<org/workspace>', 'its present address')
    .argument('<org/slug>', 'its new address, in the same organization')
    .option('--redirect <days>', 'redirect requests to the present address for 1 to 365 days', parseDays)
    .action(action(rename));
  for (const [name, state, description] of STATES) {
    group
      .command(name)
      .description(`${description} (needs the operator key)`)
      .argument('<org/workspace>')
      .action(action((address: string, options: GlobalOptions) => setState(address, state, options)));
  }
  group.command('list').description('list the workspaces of an organization').argument('<org>').action(action(list));
  group
    .command('statistics')
    .description('show how many records each entity has, and how much disk space they use')
    .action(action(showStatistics));
  group
    .command('delete')
    .description('delete a workspace and all of its records')
    .argument('<org/workspace>')
    .option('--confirm <slug>', "the workspace's slug once more: nothing brings the records back")
    .action(action(remove));
  registerFollowing(group);
  registerCopy(group);
  registerLimits(group);
  registerMove(group);
  examples(group, [
    'wda workspace create acme/shop --name "Shop" --schema schema.yaml',
    'wda workspace create acme/globex --schema schema.yaml --access access.yaml --json',
    'wda workspace set acme/shop --cors-origins https://app.example.com',
    'wda workspace copy acme/shop acme/staging',
    'wda workspace create acme/initech --follows helpdesk',
    'wda workspace follow acme/shop helpdesk@3 --allow-destructive',
    'wda workspace rename acme/shop acme/store --redirect 30',
    'wda workspace limits acme/shop --max-records 10000 --max-bytes 100000000',
    'wda workspace usage acme/shop',
    'wda workspace suspend acme/shop',
    'wda workspace list acme',
    'wda workspace statistics -w acme/shop',
    'wda workspace delete acme/shop --confirm shop',
  ]);
}

async function createOrganization(slug: string, options: GlobalOptions & { readonly name?: string }): Promise<void> {
  const body = { slug, name: options.name ?? slug };
  const { data } = await connect(options).send<Organization>('POST', ORGANIZATIONS, { body });
  await printResult(options, data, () => `Created organization ${printable(data.slug)}`);
}

async function listOrganizations(options: GlobalOptions): Promise<void> {
  const organizations = await connect(options).readAll<Organization>(ORGANIZATIONS);
  await printList(options, organizations, 'No organizations', ['SLUG', 'NAME', 'CREATED'], (organization) => [
    organization.slug,
    organization.name,
    organization.createdAt,
  ]);
}

async function removeOrganization(slug: string, options: GlobalOptions): Promise<void> {
  await connect(options).send('DELETE', organizationPath(slug));
  await printResult(options, { deleted: slug }, () => `Deleted organization ${slug}`);
}

async function create(
  address: string,
  options: GlobalOptions & {
    readonly name?: string;
    readonly schema?: string;
    readonly follows?: string;
    readonly access?: string;
  },
): Promise<void> {
  const { organization, workspace } = parseWorkspace(address);
  const client = connect(options);
  const access =
    options.access === undefined ? undefined : await readSchemaFile(options.io, options.access, ACCESS_FORM);
  const parts = access === undefined ? {} : parseAccess(access);
  const file = options.schema === undefined ? undefined : await readSchemaFile(options.io, options.schema);
  const body = {
    slug: workspace,
    name: options.name ?? workspace,
    ...(file === undefined ? {} : { schema: file.document }),
    ...(options.follows === undefined ? {} : { follows: parseFollow(options.follows) }),
    ...parts,
  };
  const { data, meta } = await client
    .send<WorkspaceCreated>('POST', `${organizationPath(organization)}/workspaces`, { body })
    .catch((error) => rethrowWithLines(error, file, ['schema']))
    .catch((error) => rethrowWithLines(error, access));
  printWarnings(options.io, { meta });
  const keys = data.apiKeys ?? [];
  await printResult(options, data, () =>
    [
      `Created workspace ${organization}/${workspace}${describeFollows(data.follows)}`,
      ...(keys.length === 0
        ? []
        : [
            renderTable(
              ['KEY', 'FOR'],
              keys.map(({ key, name }) => [key, name]),
            ),
          ]),
    ].join('\n'),
  );
}

const describeFollows = (follows: Workspace['follows']): string =>
  follows === undefined ? '' : `, which follows ${follows.schema}, version ${follows.version}`;

const ACCESS_FORM = 'access of a new workspace: an object with "apiKeys" or "identityProvider"';
const ACCESS_MEMBERS = ['apiKeys', 'identityProvider'];

/** Returns the members of the file; others would be those of the workspace itself. */
function parseAccess(file: SchemaFile): object {
  const { document } = file;
  const unknown = isObject(document) ? Object.keys(document).find((name) => !ACCESS_MEMBERS.includes(name)) : undefined;
  if (!isObject(document) || unknown !== undefined)
    throw usageFailure(
      `${file.name} is no ${ACCESS_FORM}${unknown === undefined ? '' : `: it has ${printable(unknown)}`}`,
    );
  return document;
}

interface SetOptions extends GlobalOptions {
  readonly name?: string;
  readonly corsOrigins?: string;
}

async function set(address: string, options: SetOptions): Promise<void> {
  const { name, corsOrigins } = options;
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(corsOrigins === undefined ? {} : { corsOrigins: parseOrigins(corsOrigins) }),
  };
  if (Object.keys(body).length === 0) throw usageFailure('Nothing to set', ['Pass --name or --cors-origins.']);
  const workspace = parseWorkspace(address);
  const { data } = await connect(options).send<Workspace>('PUT', workspacePath(workspace), { body });
  await printResult(options, data, () =>
    renderPairs([
      ['Workspace', workspaceName(workspace)],
      ['Name', data.name],
      ['CORS origins', describeOrigins(data.corsOrigins)],
    ]),
  );
}

function parseDays(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) > 365) throw usageFailure('--redirect takes 1 to 365 days');
  return Number(text);
}

async function rename(
  address: string,
  newAddress: string,
  options: GlobalOptions & { readonly redirect?: number },
): Promise<void> {
  const [workspace, { organization, workspace: slug }] = [parseWorkspace(address), parseWorkspace(newAddress)];
  if (organization !== workspace.organization)
    throw usageFailure(`A workspace stays in its organization: ${workspace.organization}/${slug} is possible`);
  const { redirect: redirectDays } = options;
  const body = { slug, ...(redirectDays === undefined ? {} : { redirectDays }) };
  const { data } = await connect(options).send<Workspace>('PUT', workspacePath(workspace), { body });
  const days = redirectDays === undefined ? '' : `; ${address} redirects to it for ${redirectDays} days`;
  await printResult(options, data, () => `Workspace ${address} is ${organization}/${data.slug} now${days}`);
}

async function setState(address: string, state: Workspace['state'], options: GlobalOptions): Promise<void> {
  const workspace = parseWorkspace(address);
  const { data } = await connect(options).send<Workspace>('PUT', workspacePath(workspace), { body: { state } });
  await printResult(options, data, () => `Workspace ${workspaceName(workspace)} is ${describeState(data.state)}`);
}

const describeState = (state: Workspace['state']): string => (state === 'readOnly' ? 'read-only' : state);

function parseOrigins(text: string): readonly string[] | null {
  if (text === 'server') return null;
  if (text === 'none') return [];
  return text
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
}

const describeOrigins = (origins: Workspace['corsOrigins']): string =>
  origins === undefined ? '(those of the server)' : origins.length === 0 ? '(none)' : origins.join(', ');

async function list(organization: string, options: GlobalOptions): Promise<void> {
  const workspaces = await connect(options).readAll<WorkspaceListed>(`${organizationPath(organization)}/workspaces`);
  const head = ['WORKSPACE', 'NAME', 'STATE', 'FOLLOWS', 'CREATED'];
  await printList(
    options,
    workspaces,
    `No workspaces in ${organization}`,
    head,
    ({ slug, name, state, follows, createdAt }) => [
      `${organization}/${slug}`,
      name,
      describeState(state),
      follows === undefined ? '' : `${follows.schema}@${follows.version}`,
      createdAt,
    ],
  );
}

async function showStatistics(options: GlobalOptions): Promise<void> {
  const address = requireWorkspace(options);
  const path = `${workspacePath(address)}/statistics`;
  const { data } = await connect(options).send<readonly EntityStatistics[]>('GET', path);
  const sizes = ['RECORDS', 'TABLE', 'INDEXES'];
  const toRow = ({ entity, records, exact, tableBytes, indexBytes }: EntityStatistics) => [
    entity,
    `${exact ? '' : 'about '}${formatCount(records)}`,
    formatBytes(tableBytes),
    formatBytes(indexBytes),
  ];
  await printResult(options, data, () =>
    data.length === 0
      ? `No entities in ${workspaceName(address)}`
      : renderTable(['ENTITY', ...sizes], data.map(toRow), sizes),
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
