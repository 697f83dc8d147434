// Exports the current state of a server, or of one workspace, as a configuration file: `wda config export`.

import type { Organization, SchemaVersion, SharedSchema, Workspace } from '../../admin-types/admin-api.d.ts';
import { clientSettings } from '../config.ts';
import { ADMIN_PREFIX, type AdminClient } from './admin-client.ts';
import {
  connect,
  type GlobalOptions,
  organizationPath,
  parseWorkspace,
  type WorkspaceAddress,
  workspaceName,
  workspacePath,
} from './command.ts';
import { readParts, slugs } from './config-actual.ts';
import { describeShared, getDeleteCommand, sharedNames } from './config-names.ts';
import { complete, LISTS, PARTS, type Values } from './config-parts.ts';
import { writeOut } from './io.ts';
import { schemaAsYaml } from './schema-file.ts';
import { printable } from './table.ts';

/**
 * Prints the current state, of everything or of one workspace, as a file without secrets. Lists with a duplicate name are left
 * out with a warning: applying a file leaves missing lists alone, while a list with one of the two would delete the other.
 * So are keys and clients that act as a role, which applying a file does not remove.
 */
export async function exportConfig(options: GlobalOptions): Promise<void> {
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
      const { name, limits } = (await client.send<Organization>('GET', organizationPath(organization))).data;
      const workspaces: Record<string, unknown> = {};
      for (const workspace of await slugs(client, `${organizationPath(organization)}/workspaces`))
        workspaces[workspace] = await exportWorkspace(options, client, { organization, workspace });
      const schemas = await exportSchemas(client, organization);
      organizations[organization] = { name, ...(limits && { limits }), ...schemas, workspaces };
    }
  }
  const document = { organizations };
  await writeOut(options.io, `${options.json ? JSON.stringify(document, null, 2) : schemaAsYaml(document)}\n`);
}

/** Returns the newest versions of the shared schemas of an organization; without any no member. */
async function exportSchemas(client: AdminClient, organization: string): Promise<Values> {
  const path = `${organizationPath(organization)}/schemas`;
  const schemas: Record<string, unknown> = {};
  for (const { name, newest } of await client.readAll<SharedSchema>(path)) {
    if (newest === null) continue;
    schemas[name] = (await client.send<SchemaVersion>('GET', `${path}/${name}/versions/${newest}`)).data.schema;
  }
  return Object.keys(schemas).length === 0 ? {} : { schemas };
}

async function exportWorkspace(
  options: GlobalOptions,
  client: AdminClient,
  address: WorkspaceAddress,
): Promise<Values> {
  const {
    name,
    state,
    limits,
    corsOrigins = null,
    follows,
  } = (await client.send<Workspace>('GET', workspacePath(address))).data;
  // Its version is not stated: the numbers of another server are its own.
  const document =
    follows === undefined
      ? { schema: (await client.send('GET', `${workspacePath(address)}/schema`)).data }
      : { follows: follows.schema };
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
    return [[member, Object.fromEntries(items.map((item) => [item.name, complete(list, item)]))]];
  });
  const single = Object.entries(parts).map(([member, values]) => [
    member,
    values === null ? null : complete(PARTS[member]!, values),
  ]);
  // An export of an active workspace must not activate one that is suspended meanwhile.
  const stated = state === 'active' ? {} : { state };
  return {
    name,
    ...stated,
    ...(limits && { limits }),
    corsOrigins,
    ...document,
    ...Object.fromEntries(single),
    ...Object.fromEntries(listMembers),
  };
}
