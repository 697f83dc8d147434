// Labels that name records to people: one field, or a template of several.
import { listLabelFields, printLabel } from '../../../src/model/label.ts';
import { Digits } from '../api/json.ts';
import type { EntityDocument } from '../api/schema.ts';
import type { RecordColumn } from './fields.ts';
import { getId, getMember, type RecordValue } from './value.ts';

/** Returns the label of an entity: a field or a template; undefined if it has none. */
export const getLabel = (entity: EntityDocument | undefined): string | undefined => entity?.label ?? undefined;

/** Lists the fields that a label needs, with the path of the relation that leads to its entity before each. */
export const listLabelPaths = (label: string | undefined, relation?: string): readonly string[] =>
  label === undefined
    ? []
    : listLabelFields(label).map((name) => (relation === undefined ? name : `${relation}.${name}`));

/** Returns the label of a record, or undefined if it is empty. */
export function findRecordLabel(record: RecordValue, label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  const text = printLabel(label, (name) => {
    const value = getMember(record, name);
    return typeof value === 'string'
      ? value
      : value instanceof Digits || typeof value === 'boolean'
        ? String(value)
        : '';
  });
  return text === '' ? undefined : text;
}

/** Returns the label of a record, or its id. */
export const getRecordLabel = (record: RecordValue, label: string | undefined): string =>
  findRecordLabel(record, label) ?? `record ${getId(record)}`;

/** Returns the name of the record that a column leads to, where the list has it expanded, or undefined. */
export function findRelatedName(
  record: RecordValue,
  { name, relation, label }: Pick<RecordColumn, 'name' | 'relation' | 'label'>,
): string | undefined {
  if (label === undefined) return undefined;
  const related = getMember(record, relation?.name ?? '') as RecordValue | null | undefined;
  if (related === null || related === undefined || getId(related) !== String(getMember(record, name))) return undefined;
  return findRecordLabel(related, label);
}
