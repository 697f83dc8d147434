// A snapshot with other row rules and grants than the active ones: for an administrator who tries them.
import { conflict } from '../errors.ts';
import type { RowRule } from './entity.ts';
import type { Grant } from './grant.ts';
import { grantWorkspace, type HeldRoles, summarizeGrants } from './granted.ts';
import { getUnrestricted } from './restricted.ts';
import type { Workspace } from './workspace.ts';

/** Row rules and grants of an entity; what is missing stays as it is. */
export interface EntityTrial {
  readonly rowRules?: readonly RowRule[];
  readonly grants?: readonly Grant[] | null;
}

export interface AccessTrial {
  readonly byEntity: ReadonlyMap<string, EntityTrial>;
  /** Key that is the same for the same row rules and grants, and for no others. */
  readonly key: string;
  /** Fields and relations that they were checked against, by describeDeclarations(). */
  readonly declarations: string;
}

/** Returns the fields and relations of all entities as a text. */
export const describeDeclarations = ({ entities }: Workspace): string =>
  JSON.stringify([...entities.values()].map(({ name, declared }) => [name, declared]));

/**
 * Returns the part of the snapshot that a user with these roles may use if the row rules and grants were in force. Throws
 * 409 when the schema has changed since they were checked: a rule for a missing column must not become "no rule".
 */
export function tryAccess(workspace: Workspace, trial: AccessTrial, held: HeldRoles): Workspace {
  const whole = getUnrestricted(workspace);
  if (describeDeclarations(whole) !== trial.declarations)
    throw conflict(
      'RULES_CHANGED',
      'The schema has changed while row rules or grants were tried: send the request again',
    );
  const entities = new Map(whole.entities);
  for (const [name, change] of trial.byEntity) {
    const entity = whole.entities.get(name);
    if (entity !== undefined) entities.set(name, { ...entity, ...change });
  }
  // No name of an entity has a space, so no part of a scope has this key.
  const tried: Workspace = { ...whole, entities, part: { of: whole, key: `rules ${trial.key}` } };
  const { hasGrants, roles } = summarizeGrants(tried);
  if (!hasGrants && !held.onlyGrants) return tried;
  return grantWorkspace(tried, { ...held, roles: roles.filter((role) => held.roles.includes(role)) });
}
