// Names of checks and foreign keys after a change. An unchanged constraint keeps its name even when its table or column
// is renamed; a constraint that is created again gets a name that its table does not use, as both exist for a while.
// Pure functions.

import { formatDecimal, parseDecimal } from '../model/decimal.ts';
import type { Field } from '../model/entity.ts';
import { freshName, nextName } from '../model/physical-name.ts';
import type { Check, Reference, Table } from '../schema/tables.ts';

/** The table before a change, and the previous definition of its fields by their new names. */
export interface Before {
  readonly old: Table;
  readonly fields: ReadonlyMap<string, Field>;
  /** Number that no earlier change of the workspace has used. */
  readonly change: string;
}

/** Returns `table` with the existing names of its unchanged constraints and free names for the others. */
export function assignConstraintNames(table: Table, { old, fields, change }: Before): Table {
  const usedNames = new Set([...old.checks, ...old.references].map(({ name }) => name));
  const findFreeName = (name: string): string =>
    [name, nextName(name)].find((each) => !usedNames.has(each)) ?? freshName(name, change);
  const isSameField = (previous: Field, next: Field): boolean =>
    fields.get(next.name) === previous && previous.column === next.column;
  const checks = table.checks.map((check) => {
    const previous = old.checks.find((each) => isSameField(each.field, check.field) && isSameCheck(each, check));
    return { ...check, name: previous?.name ?? findFreeName(check.name) };
  });
  const references = table.references.map((reference) => {
    const previous = old.references.find(
      (each) => isSameField(each.field, reference.field) && isSameReference(each, reference),
    );
    return { ...reference, name: previous?.name ?? findFreeName(reference.name) };
  });
  return { ...table, checks, references };
}

/** Returns whether two checks of one column have the same condition. */
export const isSameCheck = (previous: Check, next: Check): boolean =>
  previous.kind === next.kind && serializeLimits(previous) === serializeLimits(next);

/** Returns whether two foreign keys of one column are the same. */
export const isSameReference = (previous: Reference, next: Reference): boolean =>
  previous.target === next.target && previous.relation.onDelete === next.relation.onDelete;

function serializeLimits({ kind, field }: Check): string {
  switch (kind) {
    case 'length':
      return String(field.maxLength);
    case 'range':
      return `${toCanonicalValue(field.min)} ${toCanonicalValue(field.max)}`;
    case 'enum':
      return JSON.stringify([...(field.values ?? [])].sort());
    default:
      return kind satisfies never;
  }
}

/** Returns the text of a number by its value: 0 and "0.00" are the same bound. */
export function toCanonicalValue(value: Field['default']): string | undefined {
  const number = typeof value === 'string' ? parseDecimal(value) : undefined;
  return number === undefined ? JSON.stringify(value) : formatDecimal(number);
}
