// The entities that a key or a client reaches, as its administrators name them.

import { listed } from '../errors.ts';
import type { Permissions, Scope } from '../model/principal.ts';
import { hint, type Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadEntityIds } from '../store/documents.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { arrayShape, nullableShape } from './response.ts';

// As many as a document has.
export const MAX_ENTITIES = 500;

/** In bodies. */
export const EntityNames = Type.Unsafe<readonly string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: MAX_ENTITIES,
  uniqueItems: true,
  description: 'Names of the only entities that it reaches. null or left out: all.',
});

/** In answers: an entity that is gone is not named any more. */
export const ReachedNames = nullableShape(arrayShape(Type.String()));

/** The ids of a workspace's entities by their names, for scopeOf(). */
export const findEntityIds =
  (databases: Databases) =>
  ({ workspace }: { readonly workspace: WorkspaceSummary }): Promise<ReadonlyMap<string, string>> =>
    loadEntityIds(databases.forWorkspace(workspace), workspace.id);

interface ScopeInput {
  readonly entities?: readonly string[] | null;
  readonly permissions?: Permissions;
}

/** The scope that a body asks for; reports names that mean nothing, and permissions that a scope cannot have. */
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
      'must be READ_WRITE or READ_ONLY beside entities: an OWNER could give itself the others',
    );
  }
  return resolveEntityIds(entities, report, ids);
}

/** The ids of the entities that a body names; reports names that mean nothing. */
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

/** Message for a name that no entity of the workspace has. */
export const notAnEntity = (name: string, candidates: readonly string[], report: Report): string =>
  `must be an entity of the workspace.${hint(report.suggest(name, candidates))} Known: ${listed([...candidates].sort())}`;
