// Names of checks and foreign keys after a change. One that stays keeps its name, whatever becomes of its table and column;
// one that is made anew gets a name that none of its table has, as both are there for a while. Takes and gives values.
import type { Check, Reference, Table } from '../document/tables.ts';
import { formatDecimal, parseDecimal } from '../model/decimal.ts';
import type { Field } from '../model/entity.ts';
import { freshName, nextName } from '../model/physical-name.ts';

/** The table before a change, and what its fields were then, by their names now. */
export interface Before {
  readonly old: Table;
  readonly fields: ReadonlyMap<string, Field>;
  /** A number that no change of the workspace has had before. */
  readonly change: string;
}

/** `table`, whose names are derived, with those that its constraints have or are given. */
export function withOwnNames(table: Table, { old, fields, change }: Before): Table {
  const taken = new Set([...old.checks, ...old.references].map(({ name }) => name));
  const free = (name: string): string =>
    [name, nextName(name)].find((each) => !taken.has(each)) ?? freshName(name, change);
  const isKept = (was: Field, now: Field): boolean => fields.get(now.name) === was && was.column === now.column;
  const checks = table.checks.map((check) => {
    const was = old.checks.find((each) => isKept(each.field, check.field) && isSameCheck(each, check));
    return { ...check, name: was?.name ?? free(check.name) };
  });
  const references = table.references.map((reference) => {
    const was = old.references.find((each) => isKept(each.field, reference.field) && isSameReference(each, reference));
    return { ...reference, name: was?.name ?? free(reference.name) };
  });
  return { ...table, checks, references };
}

/** Whether two checks of one column demand the same. */
export const isSameCheck = (was: Check, now: Check): boolean =>
  was.kind === now.kind && demandsOf(was) === demandsOf(now);

/** Whether two foreign keys of one column are the same. */
export const isSameReference = (was: Reference, now: Reference): boolean =>
  was.target === now.target && was.relation.onDelete === now.relation.onDelete;

function demandsOf({ kind, field }: Check): string {
  switch (kind) {
    case 'length':
      return String(field.maxLength);
    case 'range':
      return `${meaningOf(field.min)} ${meaningOf(field.max)}`;
    case 'enum':
      return JSON.stringify([...(field.values ?? [])].sort());
    default:
      return kind satisfies never;
  }
}

/** Numbers by their value: 0 and "0.00" are the same bound. */
export function meaningOf(value: Field['default']): string | undefined {
  const number = typeof value === 'string' ? parseDecimal(value) : undefined;
  return number === undefined ? JSON.stringify(value) : formatDecimal(number);
}
