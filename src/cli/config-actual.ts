// Reads from a server what a configuration file speaks of, and no more, so that an owner's key is enough for a file about one
// workspace.
import type { Plan } from '../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX, type AdminClient } from './admin-client.ts';
import type { Values, WantedOrganization, WantedWorkspace } from './config-file.ts';
import { LISTS, PARTS } from './config-parts.ts';
import type { Actual, ActualOrganization, ActualWorkspace } from './config-steps.ts';
import { organizationPath, type WorkspaceAddress, workspacePath } from './connection.ts';
import { CommandFailure } from './failure.ts';
import { refuseWithLines } from './schema-file.ts';

/** What is there of what is wanted; with `others` also the names of all other organizations and workspaces. */
export async function readActual(
  client: AdminClient,
  wanted: readonly WantedOrganization[],
  others: boolean,
): Promise<Actual> {
  const organizations: Record<string, ActualOrganization> = {};
  for (const { slug, workspaces } of wanted) {
    const found = await perhaps(client.send('GET', organizationPath(slug)));
    if (found === null) continue;
    const there: Record<string, ActualWorkspace> = {};
    for (const workspace of workspaces) {
      const actual = await readWorkspace(client, workspace);
      if (actual !== null) there[workspace.address.workspace] = actual;
    }
    organizations[slug] = { name: String(found.name), workspaces: there };
  }
  return { organizations, others: others ? await readOthers(client, wanted) : [] };
}

async function readWorkspace(client: AdminClient, wanted: WantedWorkspace): Promise<ActualWorkspace | null> {
  const { address, schema } = wanted;
  const path = workspacePath(address);
  const found = await perhaps(client.send('GET', path));
  if (found === null) return null;
  const plan =
    schema === undefined
      ? null
      : await client
          .send('POST', `${path}/schema/plan`, { body: schema.document })
          .then(({ data }) => data as Plan)
          .catch((error) => refuseWithLines(error, schema));
  return {
    name: String(found.name),
    document: (await client.send('GET', `${path}/schema`)).data as Values,
    plan,
    ...(await readParts(client, address, Object.keys(wanted.parts), Object.keys(wanted.lists))),
  };
}

/** Members of PARTS and of LISTS as the server has them. */
export async function readParts(
  client: AdminClient,
  address: WorkspaceAddress,
  parts: readonly string[],
  lists: readonly string[],
): Promise<Pick<ActualWorkspace, 'parts' | 'lists'>> {
  const path = workspacePath(address);
  const there: Record<string, Values | null> = {};
  for (const member of parts) there[member] = await perhaps(client.send('GET', `${path}${PARTS[member]!.path}`));
  const all: Record<string, readonly Values[]> = {};
  for (const member of lists)
    all[member] = (await client.readAll(`${path}${LISTS[member]!.path}`)) as readonly Values[];
  return { parts: there, lists: all };
}

async function readOthers(client: AdminClient, wanted: readonly WantedOrganization[]): Promise<Actual['others']> {
  const others: Actual['others'][number][] = [];
  for (const organization of await slugs(client, `${ADMIN_PREFIX}/organizations`)) {
    const named = wanted.find(({ slug }) => slug === organization);
    const known = named?.workspaces.map(({ address }) => address.workspace) ?? [];
    const there = await slugs(client, `${organizationPath(organization)}/workspaces`);
    const workspaces = there.filter((slug) => !known.includes(slug));
    if (named === undefined || workspaces.length > 0)
      others.push({ organization, workspaces, isNamed: named !== undefined });
  }
  return others;
}

/** The slugs of a list of organizations or workspaces. */
export const slugs = async (client: AdminClient, path: string): Promise<readonly string[]> =>
  ((await client.readAll(path)) as readonly { readonly slug: string }[]).map(({ slug }) => slug);

/** The data of an answer, or null where there is nothing. */
async function perhaps(answer: Promise<{ readonly data: unknown }>): Promise<Values | null> {
  try {
    return (await answer).data as Values;
  } catch (error) {
    if (error instanceof CommandFailure && error.failure.kind === 'refused' && error.failure.status === 404)
      return null;
    throw error;
  }
}
