// `wda org`: manages organizations, which hold workspaces. Requires the operator's credential.
import type { Command } from 'commander';
import type { Organization } from '../../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX } from '../admin-client.ts';
import { action, examples } from '../command.ts';
import { connect, type GlobalOptions, organizationPath } from '../connection.ts';
import { printResult } from '../io.ts';
import { printable, renderTable } from '../table.ts';

const ORGANIZATIONS = `${ADMIN_PREFIX}/organizations`;

export function register(program: Command): void {
  const group = program
    .command('org')
    .alias('organization')
    .description('organizations, which hold workspaces (needs the operator key)');
  group
    .command('create')
    .description('create an organization')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'name for people (default: the slug)')
    .action(action(create));
  group.command('list').description('list the organizations').action(action(list));
  group
    .command('delete')
    .description('delete an organization that has no workspaces')
    .argument('<slug>')
    .action(action(remove));
  examples(group, ['wda org create acme --name "Acme Ltd"', 'wda org list', 'wda org delete acme']);
}

async function create(slug: string, options: GlobalOptions & { readonly name?: string }): Promise<void> {
  const body = { slug, name: options.name ?? slug };
  const { data } = await connect(options).send<Organization>('POST', ORGANIZATIONS, { body });
  await printResult(options, data, () => `Created organization ${printable(data.slug)}`);
}

async function list(options: GlobalOptions): Promise<void> {
  const organizations = await connect(options).readAll<Organization>(ORGANIZATIONS);
  await printResult(options, organizations, () =>
    organizations.length === 0
      ? 'No organizations'
      : renderTable(
          ['SLUG', 'NAME', 'CREATED'],
          organizations.map(({ slug, name, createdAt }) => [slug, name, createdAt]),
        ),
  );
}

async function remove(slug: string, options: GlobalOptions): Promise<void> {
  await connect(options).send('DELETE', organizationPath(slug));
  await printResult(options, { deleted: slug }, () => `Deleted organization ${slug}`);
}
