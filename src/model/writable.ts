// Fields that principals write, and those that a new record needs.
import type { Entity, Field, ResolvedGrant } from './entity.ts';

/** Returns whether principals write the field, or the server sets it. */
export const isWritable = ({ role }: Field): boolean => role === 'data' || role === 'reference';

/** Returns the fields that a create must give; the row rules set `ruleColumns`. */
export function getRequiredFields(entity: Entity, ruleColumns: ReadonlySet<string>): Field[] {
  return [...entity.fields.values()].filter(
    (field) => isWritable(field) && field.required && field.default === undefined && !ruleColumns.has(field.name),
  );
}

/** Returns whether a grant stores a value in the field where a body leaves it out. */
export const isStored = ({ set, stamps }: ResolvedGrant, { name }: Field): boolean => set.has(name) || stamps.has(name);

/** Returns whether a grant lets a body give, or stores itself, each of the required fields of a new record. */
export const allowsRecord = (
  grant: ResolvedGrant,
  required: readonly Field[],
  isGivable: (field: Field) => boolean = () => true,
): boolean =>
  !grant.demandsId &&
  required.every((field) => isStored(grant, field) || (grant.write.has(field.name) && isGivable(field)));
