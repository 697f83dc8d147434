// Editors by field type, for cells, forms and dialogs alike. Pure.
import { isLong, type RecordColumn } from './fields.ts';
import { listEnumValues } from './value.ts';

export type Editor =
  /** Select with these values. */
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  /** Picker for a record of another entity. */
  | { readonly kind: 'record' }
  /** Text area. */
  | { readonly kind: 'lines' }
  /** Text input, for some types with a calendar. */
  | {
      readonly kind: 'line';
      readonly hint?: string | undefined;
      readonly isInteger: boolean;
      readonly calendar?: 'date' | 'datetime';
    };

const HINTS: ReadonlyMap<string, string> = new Map([
  ['date', 'yyyy-mm-dd'],
  ['time', 'hh:mm:ss'],
  ['datetime', 'yyyy-mm-dd hh:mm:ss'],
  ['uuid', '00000000-0000-0000-0000-000000000000'],
]);

export function getEditor({ type, field }: Pick<RecordColumn, 'type' | 'field'>): Editor {
  if (type === 'relation') return { kind: 'record' };
  if (isLong(type)) return { kind: 'lines' };
  const values = listChoices({ type, field });
  if (values.length > 0) return { kind: 'choice', values };
  return {
    kind: 'line',
    hint: HINTS.get(type),
    isInteger: type === 'integer' || type === 'bigint',
    ...(type === 'date' || type === 'datetime' ? { calendar: type } : {}),
  };
}

/** Lists the values that a field takes, if they are enumerable. */
export const listChoices = ({ type, field }: { readonly type: string; readonly field?: RecordColumn['field'] }) =>
  type === 'boolean' ? ['true', 'false'] : type === 'enum' ? listEnumValues(field) : [];
