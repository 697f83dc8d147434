// Warnings in `meta` of responses to changes: entities whose records are open to every user of the identity provider.
import type { TSchema } from 'typebox';
import { listNames } from '../errors.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { findIdentityProvider } from '../store/identity-provider.ts';
import { arrayShape, objectShape } from './response.ts';

const Warnings = objectShape(
  { warnings: arrayShape(Type.String()) },
  { description: 'What does not work at the moment, and which entities are open to every user of the provider.' },
);

/** Returns the envelope of one value with warnings, which are left out where there are none. */
export const warnedShape = <S extends TSchema>(shape: S) => objectShape({ data: shape, meta: Type.Optional(Warnings) });

/** Returns `meta` for the response; empty without warnings. */
export const warningMeta = (warnings: readonly string[]): { meta?: { warnings: readonly string[] } } =>
  warnings.length === 0 ? {} : { meta: { warnings } };

/**
 * Returns a warning when users of the provider may see every record of some entities. `document`: the one that is in
 * force, or will be; by default it is loaded.
 */
export async function findOpenEntities(
  databases: Databases,
  workspaceId: string,
  document?: SchemaDocument,
): Promise<readonly string[]> {
  const provider = await findIdentityProvider(databases.directory, workspaceId);
  if (provider?.enabled !== true) return [];
  const inForce =
    document ?? (await loadWorkspaceRow(databases.forWorkspace({ id: workspaceId }), workspaceId))?.document;
  return inForce === undefined ? [] : describeOpenEntities(inForce, provider);
}

/** Returns the warning, or nothing when every entity has an enabled row rule or grants. */
export function describeOpenEntities(
  { entities }: SchemaDocument,
  { defaultPermissions }: Pick<IdentityProvider, 'defaultPermissions'>,
): readonly string[] {
  const open = Object.entries(entities)
    .filter(([, { grants }]) => grants === undefined || grants === null)
    .filter(([, { rowRules = [] }]) => !rowRules.some(({ enabled }) => enabled !== false))
    .map(([name]) => name);
  if (open.length === 0) return [];
  const [subject, records] = open.length === 1 ? ['1 entity has', 'its'] : [`${open.length} entities have`, 'their'];
  const may = defaultPermissions === 'READ_ONLY' ? 'read' : 'read and change';
  return [
    `${subject} neither row rules nor grants: every user may ${may} all of ${records} records: ${listNames(open)}`,
  ];
}
