// Conflict key of a create: the fields that find an existing record, and the changes to that record.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { Upsert } from '../request/upsert.ts';
import type { PlanContext } from './link.ts';

export interface ConflictKey {
  /** Fields of one unique index, or the id. */
  readonly fields: readonly Field[];
  readonly mode: Upsert['mode'];
}

const MAX_LISTED = 20;

/** Returns the fields of the key that `parameter` names. Throws 400 with the possible keys if they are not unique. */
export function planKey(
  { fields, mode }: Upsert,
  entity: Entity,
  context: PlanContext,
  parameter = 'onConflict',
): ConflictKey {
  const keys = getConflictKeys(entity, context);
  const names = fields.toSorted().join();
  const key = keys.find(
    (each) =>
      each
        .map(({ name }) => name)
        .toSorted()
        .join() === names,
  );
  if (key !== undefined) return { fields: key, mode };
  const unknown = fields.find((name) => !entity.fields.has(name));
  const isMode = parameter === 'onConflict' && (unknown === 'update' || unknown === 'skip');
  const suggestion =
    unknown === undefined ? null : isMode ? `conflict=${unknown}` : closest(unknown, entity.fields.keys());
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  const possible = keys.slice(0, MAX_LISTED).map((each) => each.map(({ name }) => name).join());
  const further = keys.length > MAX_LISTED ? ` and ${keys.length - MAX_LISTED} more` : '';
  throw badRequest(
    'INVALID_CONFLICT_KEY',
    `${parameter} must name exactly the fields of one unique field or index of ${entity.name}, and ${shorten(fields.join()) || 'an empty text'} are none.${hint} Possible: ${possible.join('; ') || 'none'}${further}`,
  );
}

/** Returns the sets of fields that are unique together, as far as the principal may write them. */
export function getConflictKeys(
  entity: Entity,
  { workspace, principal }: { readonly workspace: Workspace; readonly principal: Pick<Principal, 'kind'> },
): readonly (readonly Field[])[] {
  const id = principal.kind === 'external' ? undefined : entity.fields.get('id');
  return [...(id === undefined ? [] : [[id]]), ...getUniqueFields(entity, workspace)];
}

/** Returns the sets of fields that unique indexes of the entity hold. */
export function getUniqueFields(entity: Entity, { constraints }: Pick<Workspace, 'constraints'>): Field[][] {
  const sets: Field[][] = [];
  for (const constraint of constraints.values()) {
    if (constraint.kind !== 'unique' || constraint.entity !== entity.name) continue;
    const fields = constraint.fields.map((name) => entity.fields.get(name));
    if (!fields.includes(undefined)) sets.push(fields as Field[]);
  }
  return sets;
}

/** Returns the fields that an existing record takes over: all but those that row rules set, which it has already. */
export function getChanges(
  provided: Iterable<string>,
  entity: Entity,
  { fields, mode }: ConflictKey,
): readonly Field[] {
  if (mode === 'skip') return [];
  const names = new Set(provided);
  return [...entity.fields.values()].filter((field) => names.has(field.name) && !fields.includes(field));
}
