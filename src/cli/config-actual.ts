// Reads the current state of the organizations and workspaces of a configuration file from a server.

import { setTimeout as sleep } from 'node:timers/promises';
import type {
  OwnLimits,
  Plan,
  PublishedVersion,
  RolloutPlan,
  SchemaVersion,
  SharedSchema,
} from '../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX, type AdminClient } from './admin-client.ts';
import { organizationPath, type WorkspaceAddress, workspaceName, workspacePath } from './command.ts';
import type { DesiredOrganization, DesiredWorkspace } from './config-file.ts';
import { LISTS, PARTS, type Values } from './config-parts.ts';
import { CommandFailure, runtimeFailure, serverFailure } from './failure.ts';
import { rethrowWithLines, type SchemaFile } from './schema-file.ts';

export interface ActualWorkspace {
  readonly name: string;
  readonly state: string;
  readonly limits: OwnLimits;
  readonly corsOrigins: readonly string[] | null;
  readonly follows: { readonly schema: string; readonly version: number } | null;
  readonly document: Values;
  /** Plan of the desired schema, or of the shared one that it begins to follow; null without one. */
  readonly plan: Plan | null;
  /** Plan of the other version that the file names of the shared schema that it follows; null without one. */
  readonly versionPlan: RolloutPlan | null;
  readonly parts: Readonly<Record<string, Values | null>>;
  readonly lists: Readonly<Record<string, readonly Values[]>>;
}

/** A shared schema of the server. */
export interface ActualSchema {
  readonly newest: number | null;
  /** Version that the document of the file would be; the newest if it is equal to that. */
  readonly next: PublishedVersion;
}

export interface ActualOrganization {
  readonly name: string;
  readonly limits: OwnLimits;
  readonly schemas: Readonly<Record<string, ActualSchema>>;
  readonly workspaces: Readonly<Record<string, ActualWorkspace>>;
}

export interface Actual {
  readonly organizations: Readonly<Record<string, ActualOrganization>>;
  /** Organizations and workspaces that the file does not name; empty unless requested. */
  readonly unlisted: readonly {
    readonly organization: string;
    readonly workspaces: readonly string[];
    /** Whether the file names the organization. */
    readonly isListed: boolean;
  }[];
}

/** Reads the current state of the desired organizations; with `others` also the names of all others and their workspaces. */
export async function readActual(
  client: AdminClient,
  desired: readonly DesiredOrganization[],
  includeUnlisted: boolean,
  onFailure: (place: string, error: unknown) => void,
): Promise<Actual> {
  const organizations: Record<string, ActualOrganization> = {};
  for (const { slug, schemas, workspaces } of desired) {
    const values = await readOptional(client.send('GET', organizationPath(slug))).catch((error) => {
      onFailure(slug, error);
      return undefined;
    });
    if (values === undefined) continue;
    const actualWorkspaces: Record<string, ActualWorkspace> = {};
    for (const workspace of workspaces) {
      try {
        const actual = values === null ? null : await readWorkspace(client, workspace, schemas);
        if (actual === null) await requireValidSchema(workspace.schema);
        else actualWorkspaces[workspace.address.workspace] = actual;
      } catch (error) {
        onFailure(workspaceName(workspace.address), error);
      }
    }
    const actualSchemas: Record<string, ActualSchema> = {};
    for (const [name, file] of Object.entries(schemas)) {
      try {
        const actual = values === null ? null : await readSchema(client, slug, name, file);
        if (actual === null) await requireValidSchema(file);
        else actualSchemas[name] = actual;
      } catch (error) {
        onFailure(slug, error);
      }
    }
    if (values !== null)
      organizations[slug] = {
        name: String(values.name),
        limits: (values.limits ?? {}) as ActualOrganization['limits'],
        schemas: actualSchemas,
        workspaces: actualWorkspaces,
      };
  }
  return { organizations, unlisted: includeUnlisted ? await readUnlisted(client, desired) : [] };
}

/** Throws for the schema of a workspace that does not exist yet, which no server can plan. */
async function requireValidSchema(schema: DesiredWorkspace['schema']): Promise<void> {
  if (schema === undefined) return;
  const { parseSchemaDocument } = await import('../schema/document.ts');
  const parsed = parseSchemaDocument(schema.document);
  if (parsed.ok) return;
  const error = { code: 'VALIDATION_FAILED', message: 'Validation failed', details: parsed.details };
  rethrowWithLines(serverFailure(400, error, null), schema);
}

/** Reads the newest version of a shared schema, and what the file would change in it; null if there is none. */
async function readSchema(
  client: AdminClient,
  organization: string,
  name: string,
  file: SchemaFile,
): Promise<ActualSchema | null> {
  const path = `${organizationPath(organization)}/schemas/${name}`;
  const values = await readOptional(client.send('GET', path));
  if (values === null) return null;
  const query = [['dryRun', true]] as const;
  const { data } = await client
    .send<PublishedVersion>('POST', `${path}/versions`, { body: file.document, query })
    .catch((error) => rethrowWithLines(error, file));
  return { newest: values.newest as number | null, next: data };
}

/** Returns the document that a workspace will have when it begins to follow. */
async function readFollowed(
  client: AdminClient,
  { organization }: WorkspaceAddress,
  { schema, version }: NonNullable<DesiredWorkspace['follows']>,
  schemas: DesiredOrganization['schemas'],
): Promise<unknown> {
  const file = schemas[schema];
  if (version === undefined && file !== undefined) return file.document;
  const path = `${organizationPath(organization)}/schemas/${schema}`;
  const { newest } = (await client.send<SharedSchema>('GET', path)).data;
  const number = version ?? newest;
  if (number === null) throw runtimeFailure(`Shared schema ${organization}/${schema} has no version yet`);
  return (await client.send<SchemaVersion>('GET', `${path}/versions/${number}`)).data.schema;
}

const PLAN_POLL_MS = 100;

/** Plans the other version that the file names of the shared schema that a workspace follows already; null without one. */
async function planVersion(
  client: AdminClient,
  { address, follows }: DesiredWorkspace,
  actual: ActualWorkspace['follows'],
  schemas: DesiredOrganization['schemas'],
): Promise<RolloutPlan | null> {
  if (actual === null || follows?.schema !== actual.schema) return null;
  const { schema, version } = follows;
  if (version === undefined || version === actual.version) return null;
  if (version < actual.version)
    throw runtimeFailure(
      `The workspace has version ${actual.version} of shared schema ${schema}, and goes forward only: to go back, publish the former document as a new version`,
    );
  const path = `${organizationPath(address.organization)}/schemas/${schema}`;
  const { newest } = (await client.send<SharedSchema>('GET', path)).data;
  // A version that the file publishes itself is there when its workspaces get it.
  if (schemas[schema] !== undefined && version > Number(newest)) return null;
  const body = { version, workspaces: [address.workspace] };
  let { data } = await client.send<RolloutPlan>('POST', `${path}/rollouts/plan`, { body });
  while (data.state !== 'planned') {
    await sleep(PLAN_POLL_MS);
    ({ data } = await client.send<RolloutPlan>('GET', `${path}/rollouts/plan`, { query: [['id', data.id]] }));
  }
  const error = data.workspaces[0]?.error;
  if (error) throw runtimeFailure(error.message);
  return data;
}

async function readWorkspace(
  client: AdminClient,
  desired: DesiredWorkspace,
  schemas: DesiredOrganization['schemas'],
): Promise<ActualWorkspace | null> {
  const { address, schema, follows } = desired;
  const path = workspacePath(address);
  const values = await readOptional(client.send('GET', path));
  if (values === null) return null;
  const actualFollows = (values.follows ?? null) as ActualWorkspace['follows'];
  const plan =
    follows && follows.schema !== actualFollows?.schema
      ? await client
          .send<Plan>('POST', `${path}/schema/plan`, { body: await readFollowed(client, address, follows, schemas) })
          .then(({ data }) => data)
      : schema === undefined
        ? null
        : await client
            .send('POST', `${path}/schema/plan`, { body: schema.document })
            .then(({ data }) => data as Plan)
            .catch((error) => rethrowWithLines(error, schema));
  if (schema !== undefined && follows === undefined && actualFollows !== null && plan?.steps.length !== 0)
    throw runtimeFailure(
      `The workspace follows shared schema ${actualFollows.schema}, and the file has another schema: write follows: ${actualFollows.schema} in its place, or follows: null as well`,
    );
  return {
    name: String(values.name),
    state: String(values.state),
    limits: (values.limits ?? {}) as ActualWorkspace['limits'],
    corsOrigins: (values.corsOrigins ?? null) as ActualWorkspace['corsOrigins'],
    follows: actualFollows,
    document: (await client.send('GET', `${path}/schema`)).data as Values,
    plan,
    versionPlan: await planVersion(client, desired, actualFollows, schemas),
    ...(await readParts(client, address, Object.keys(desired.parts), Object.keys(desired.lists))),
  };
}

/** Reads the members of PARTS and LISTS of a workspace. */
export async function readParts(
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
