// What finds a record that is there already when another is to be created, and what becomes of it.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { Upsert } from '../request/upsert.ts';
import type { PlanContext } from './link.ts';

export interface ConflictKey {
  /** Those of one unique index, or the id. */
  readonly fields: readonly Field[];
  readonly mode: Upsert['mode'];
}

const MAX_LISTED = 20;

/** The fields of the key that a request's `parameter` names; 400 that lists the possible ones when no two records must differ in them. */
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
  const suggestion = unknown === undefined ? null : closest(unknown, entity.fields.keys());
  const hint = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
  const possible = keys.slice(0, MAX_LISTED).map((each) => each.map(({ name }) => name).join());
  const further = keys.length > MAX_LISTED ? ` and ${keys.length - MAX_LISTED} more` : '';
  throw badRequest(
    'INVALID_CONFLICT_KEY',
    `${parameter} must name exactly the fields of one unique field or index of ${entity.name}, and ${shorten(fields.join())} are none.${hint} Possible: ${possible.join('; ') || 'none'}${further}`,
  );
}

/** The sets of fields in which no two records are the same, as far as the principal may write them. */
export function getConflictKeys(
  entity: Entity,
  { workspace, principal }: { readonly workspace: Workspace; readonly principal: Pick<Principal, 'kind'> },
): readonly (readonly Field[])[] {
  const keys: (readonly Field[])[] = [];
  const id = entity.fields.get('id');
  if (id !== undefined && principal.kind !== 'external') keys.push([id]);
  for (const constraint of workspace.constraints.values()) {
    if (constraint.kind !== 'unique' || constraint.entity !== entity.name) continue;
    const fields = constraint.fields.map((name) => entity.fields.get(name));
    if (!fields.includes(undefined)) keys.push(fields as Field[]);
  }
  return keys;
}

/** The fields given that a record which is there takes over: what row rules stamp it has already. */
export function getChanges(
  provided: Iterable<string>,
  entity: Entity,
  { fields, mode }: ConflictKey,
): readonly Field[] {
  if (mode === 'skip') return [];
  const names = new Set(provided);
  return [...entity.fields.values()].filter((field) => names.has(field.name) && !fields.includes(field));
}
