// A snapshot with other row rules than the active ones: for an administrator who tries them.
import { conflict } from '../errors.ts';
import type { RowRule } from './entity.ts';
import { getUnrestricted } from './restricted.ts';
import type { Workspace } from './workspace.ts';

/** Row rules by the name of their entity, each for a column that it had when they were checked. */
export interface PreviewRules {
  readonly byEntity: ReadonlyMap<string, readonly RowRule[]>;
  /** Key that is the same for the same rules, and for no others. */
  readonly key: string;
}

/**
 * Returns the snapshot with these rules in place of those of their entities; the others keep theirs. Throws 409 when an
 * entity or a column has been removed meanwhile: a rule for a missing column must not become "no rule".
 */
export function withRules(workspace: Workspace, { byEntity, key }: PreviewRules): Workspace {
  const entities = new Map(workspace.entities);
  for (const [name, rowRules] of byEntity) {
    const whole = getUnrestricted(workspace).entities.get(name);
    if (whole === undefined || rowRules.some(({ column }) => !whole.fields.has(column))) {
      throw conflict(
        'RULES_CHANGED',
        `The schema has changed while rules of ${name} were tried: send the request again`,
      );
    }
    // An entity that grants hide from the user stays hidden.
    const entity = entities.get(name);
    if (entity !== undefined) entities.set(name, { ...entity, rowRules });
  }
  // No name of an entity has a space, so no part of a scope has this key.
  return {
    ...workspace,
    entities,
    part: { ...workspace.part, of: getUnrestricted(workspace), key: `${workspace.part?.key ?? ''} rules ${key}` },
  };
}
