// Which shared schema a workspace follows: members of the requests that make and change workspaces.
import { conflict, forbidden, shorten, validationFailed } from '../errors.ts';
import { recordsInTheWay } from '../migrations/errors.ts';
import { beginFollowing } from '../migrations/followers.ts';
import type { Runner } from '../migrations/runner.ts';
import type { NewWorkspace } from '../migrations/workspace.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { findMigration, isEnded } from '../store/migrations.ts';
import { chooseVersion, findSharedSchema, type SharedSchema, suggestSharedSchema } from '../store/shared-schemas.ts';
import { type Follows, findWorkspaceById, type WorkspaceSummary } from '../store/workspaces.ts';
import { noWorkspace, requireValue } from './access.ts';
import type { Audit } from './audit.ts';
import { isCompletedWithin } from './migration-wait.ts';
import { Slug } from './names.ts';
import { objectShape } from './response.ts';

const SchemaName = { ...Slug, description: 'Name of a shared schema of the organization.', examples: ['helpdesk'] };

export const FollowsShape = objectShape(
  { schema: SchemaName, version: Type.Integer({ minimum: 1, examples: [3] }) },
  { title: 'Follows', description: 'The version of a shared schema that the workspace has.' },
);
export const FollowShape = objectShape(
  {
    schema: SchemaName,
    version: Type.Optional(Type.Integer({ minimum: 1, description: 'Left out: the newest.', examples: [3] })),
  },
  { title: 'Follow', description: 'A shared schema to follow.' },
);

/** Schema and version of a request. */
export interface Follow {
  readonly schema: string;
  readonly version?: number | undefined;
}

export const requireFollowRight = (kind: string): void => {
  if (kind !== 'operator')
    throw forbidden('OPERATOR_REQUIRED', 'Only the operator says which shared schema a workspace follows');
};

export const showFollows = ({ schema, version }: Follows): { readonly schema: string; readonly version: number } => ({
  schema,
  version,
});

/**
 * Loads the version of a shared schema that a new workspace gets, unless a newer one is published meanwhile; 400 if there
 * is none.
 */
export async function requireFollowable(
  databases: Databases,
  organizationId: string,
  follow: Follow,
): Promise<{ readonly document: SchemaDocument; readonly follow: NewWorkspace['follows'] }> {
  const { id, name } = await requireSchema(databases, organizationId, follow);
  const version = await chooseVersion(databases.directory, id, follow.version);
  if (version === undefined) throw refuse('schema', `shared schema ${name} is deleted meanwhile`);
  return { document: version.document, follow: { schemaId: id, schema: name, version: follow.version } };
}

/** Loads the schema that a request names; 400 if the organization has none of this name, or it has no such version. */
async function requireSchema(
  { directory }: Databases,
  organizationId: string,
  { schema: name, version }: Follow,
): Promise<SharedSchema & { readonly newest: number }> {
  const schema = await findSharedSchema(directory, organizationId, name);
  if (schema === undefined) {
    const suggestion = await suggestSharedSchema(directory, organizationId, name);
    const hint = suggestion === null ? '' : `. Did you mean ${suggestion}?`;
    throw refuse('schema', `the organization has no shared schema ${shorten(name)}${hint}`);
  }
  const { newest } = schema;
  if (newest === null) throw refuse('schema', `shared schema ${name} has no version yet: publish one first`);
  if (version !== undefined && version > newest)
    throw refuse('version', `shared schema ${name} has no version ${version}: the newest is ${newest}`);
  return { ...schema, newest };
}

const refuse = (member: string, message: string): Error =>
  validationFailed([{ field: `follows.${member}`, code: 'REFERENCE_NOT_FOUND', message }]);

export interface FollowRequest {
  readonly workspace: WorkspaceSummary;
  readonly follows: Follow;
  readonly allowDestructive: boolean;
  /** Seconds. */
  readonly wait: number;
  readonly audit: Audit;
}

export interface FollowResult {
  readonly workspace: WorkspaceSummary;
  /** Id of the migration that is not at its end yet, or undefined. */
  readonly running: string | undefined;
}

/** Lets a workspace follow a shared schema, or a newer version of its own; throws 409 for records in the way. */
export async function follow(
  databases: Databases,
  runner: Runner,
  organizationId: string,
  { workspace, follows, allowDestructive, wait, audit }: FollowRequest,
): Promise<FollowResult> {
  const { id, slug } = workspace;
  const schema = await requireSchema(databases, organizationId, follows);
  // One that follows already stays at its version unless another is named.
  const own = workspace.follows?.schemaId === schema.id ? workspace.follows.version : undefined;
  const target = { schemaId: schema.id, version: follows.version ?? own ?? schema.newest };
  const details = { follows: { schema: schema.name, version: target.version }, allowDestructive };
  const auditContext = await audit.prepare({ subject: slug, details });
  const run = await beginFollowing({ runner }, id, target, { allowDestructive, audit: auditContext });
  let running: string | undefined;
  if (run !== undefined) {
    await isCompletedWithin(run.completion, wait);
    const database = databases.forWorkspace(workspace);
    const migration = await requireValue(findMigration(database, id, run.id as string), () => noWorkspace(slug));
    if (!isEnded(migration)) running = migration.id;
    else if (migration.state !== 'succeeded') {
      const { error } = migration;
      if (error?.code === 'DATA_CONFLICT') throw recordsInTheWay(error);
      throw conflict(
        'NOT_FOLLOWED',
        `The workspace does not follow ${schema.name}: ${error?.message ?? 'the migration was cancelled'}`,
      );
    }
  }
  const changed = await requireValue(findWorkspaceById(databases.directory, id), () => noWorkspace(slug));
  return { workspace: changed, running };
}
