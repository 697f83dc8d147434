// Scopes of keys and clients, as names of entities.

import { listNames } from '../errors.ts';
import type { Permissions, Scope } from '../model/principal.ts';
import { hint, type Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadEntityIds } from '../store/documents.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { arrayShape, nullableShape } from './response.ts';

// Most entities of a schema document.
export const MAX_ENTITIES = 500;

/** Shape of names of entities in bodies. */
export const EntityNames = Type.Unsafe<readonly string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: MAX_ENTITIES,
  uniqueItems: true,
  description: 'Names of the only entities that it reaches. null or left out: all.',
});

/** Shape of names of entities in responses, without deleted entities. */
export const ReachedNames = nullableShape(arrayShape(Type.String()));

/** Returns a function that loads the ids of a workspace's entities by their names. */
export const findEntityIds =
  (databases: Databases) =>
  ({ workspace }: { readonly workspace: WorkspaceSummary }): Promise<ReadonlyMap<string, string>> =>
    loadEntityIds(databases.forWorkspace(workspace), workspace.id);

interface ScopeInput {
  readonly entities?: readonly string[] | null;
  readonly permissions?: Permissions;
}

/** Parses the scope of a body; reports unknown names, and permissions that a scope cannot have. */
export function parseScope(
  { entities, permissions = 'OWNER' }: ScopeInput,
  report: Report,
  ids: ReadonlyMap<string, string>,
): Scope {
  if (!Array.isArray(entities)) return null;
  if (permissions === 'OWNER') {
    report(
      ['permissions'],
      'INVALID',
      'must be READ_WRITE or READ_ONLY together with entities: an OWNER could give itself the others',
    );
  }
  return resolveEntityIds(entities, report, ids);
}

/** Returns the ids of the entities that a body names; reports unknown names. */
export function resolveEntityIds(
  entities: readonly unknown[],
  report: Report,
  ids: ReadonlyMap<string, string>,
): readonly string[] {
  return entities.flatMap((name: unknown, index) => {
    if (typeof name !== 'string') return [];
    const id = ids.get(name);
    if (id !== undefined) return [id];
    report(['entities', index], 'REFERENCE_NOT_FOUND', notAnEntity(name, [...ids.keys()], report));
    return [];
  });
}

/** Reports a name that no entity of the workspace has. */
export const notAnEntity = (name: string, candidates: readonly string[], report: Report): string =>
  `must be an entity of the workspace.${hint(report.suggest(name, candidates))} Known: ${listNames([...candidates].sort())}`;
