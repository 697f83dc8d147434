// Draft of a record form: texts of the edited fields, and their values. Pure.
import type { Json } from '../api/json.ts';
import { formatLocal, parseDateTime, type TimeZone } from '../format/datetime.ts';
import type { RecordColumn } from './fields.ts';
import { formatForEditing, getMember, isSameValue, parseValue, type RecordValue } from './value.ts';

/** Texts by field, with null for NULL. Untouched fields are missing. */
export type FormDraft = ReadonlyMap<string, string | null>;

export interface ParsedDraft {
  /** Fields whose value differs from the record's, which a save sends. */
  readonly changes: ReadonlyMap<string, Json>;
  /** Errors by field for texts that cannot be sent. */
  readonly mistakes: ReadonlyMap<string, string>;
}

/** Parses the edited texts against a record; `record` is undefined for a new one. */
export function parseDraft(
  columns: readonly RecordColumn[],
  draft: FormDraft,
  record: RecordValue | undefined,
  zone: TimeZone,
): ParsedDraft {
  const changes = new Map<string, Json>();
  const mistakes = new Map<string, string>();
  for (const column of columns) {
    const text = draft.get(column.name);
    if (text === undefined) continue;
    const before = record === undefined ? undefined : getMember(record, column.name);
    // A time that was not retyped keeps its instant and its fraction.
    if (
      record !== undefined &&
      text !== null &&
      text === formatForEditing(before, column.type, zone) &&
      before !== null
    )
      continue;
    const typed = text === null ? ({ kind: 'value', value: null } as const) : parseValue(text, column, zone);
    if (typed.kind === 'mistake') mistakes.set(column.name, typed.message);
    else if (!isSameValue(typed.value, before)) changes.set(column.name, typed.value);
  }
  return { changes, mistakes };
}

/** Converts the times of a draft to another zone; text that is no time yet stays as typed. */
export const convertDraftTimeZone = (
  columns: readonly RecordColumn[],
  draft: FormDraft,
  from: TimeZone,
  to: TimeZone,
): FormDraft =>
  new Map(
    [...draft].map(([name, text]) => {
      const isMoment = columns.some((column) => column.name === name && column.type === 'datetime');
      const moment = isMoment && text !== null ? parseDateTime(text, from) : undefined;
      return [name, moment === undefined ? text : formatLocal(moment, to)];
    }),
  );
