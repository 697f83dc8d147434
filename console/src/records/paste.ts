// Edits by record for a paste, a fill and a clear of a range of cells. Each value is checked against its type before a
// request.

import type { Json } from '../api/json.ts';
import type { TimeZone } from '../format/datetime.ts';
import type { Range } from '../grid/state.ts';
import type { TsvCell } from '../grid/tsv.ts';
import type { RecordColumn } from './fields.ts';
import type { Values } from './history.ts';
import type { Row } from './rows.ts';
import { getMember, isSameValue, parseValue } from './value.ts';

export interface RangeEdits {
  readonly edits: readonly { readonly row: Row; readonly values: Values }[];
  /** Cells with invalid text; one of them prevents the whole save. */
  readonly mistakes: readonly {
    readonly id: string;
    readonly name: string;
    readonly text: string;
    readonly message: string;
  }[];
  /** Number of pasted rows and columns outside the list. */
  readonly outside: number;
  readonly cells: number;
}

export interface Sheet {
  /** Columns by their position in the grid; undefined for a column without a field. */
  readonly columns: readonly (RecordColumn | undefined)[];
  readonly rowAt: (index: number) => Row | undefined;
  readonly zone: TimeZone;
}

/** Returns the range of a paste: it starts at the first cell of the selection; a single value fills all of it. */
export function pasteArea(cells: readonly (readonly TsvCell[])[], range: Range): Range {
  const width = Math.max(0, ...cells.map((row) => row.length));
  if (cells.length === 1 && width === 1) return range;
  return { top: range.top, left: range.left, bottom: range.top + cells.length - 1, right: range.left + width - 1 };
}

export function pasteEdits(cells: readonly (readonly TsvCell[])[], range: Range, sheet: Sheet): RangeEdits {
  const isSingle = cells.length === 1 && cells[0]?.length === 1;
  return collectEdits(pasteArea(cells, range), sheet, (column, row, place) => {
    const cell = isSingle ? cells[0]?.[0] : cells[row]?.[place];
    return cell === undefined ? undefined : parsePasted(cell, column, sheet.zone);
  });
}

type Read = { readonly value: Json } | { readonly text: string; readonly message: string };

/**
 * Parses a pasted cell. An empty one is null if the field is nullable, else the empty text; a quoted one is always
 * text.
 */
function parsePasted({ text, isQuoted }: TsvCell, column: RecordColumn, zone: TimeZone): Read {
  if (text === '' && !isQuoted && !column.isRequired) return { value: null };
  const typed = parseValue(text, column, zone);
  if (typed.kind === 'mistake') return { text, message: typed.message };
  if (typed.isDoubtful === true) return { text, message: `is no value of type ${column.type}` };
  return { value: typed.value };
}

/** Copies the first row of the range to the rows below; a single row takes the values of the row above. */
export function fillEdits(range: Range, sheet: Sheet): RangeEdits {
  const from = range.top === range.bottom ? range.top - 1 : range.top;
  const source = sheet.rowAt(from);
  return collectEdits({ ...range, top: from + 1 }, sheet, (column) => {
    const value =
      source === undefined || source.truncatedLengths.has(column.name)
        ? undefined
        : getMember(source.record, column.name);
    return value === undefined ? undefined : { value };
  });
}

export const clearEdits = (range: Range, sheet: Sheet): RangeEdits =>
  collectEdits(range, sheet, () => ({ value: null }));

function collectEdits(
  { top, bottom, left, right }: Range,
  { columns, rowAt }: Sheet,
  read: (column: RecordColumn, row: number, place: number) => Read | undefined,
): RangeEdits {
  const edits: { row: Row; values: Map<string, Json> }[] = [];
  const mistakes: { id: string; name: string; text: string; message: string }[] = [];
  let outside = 0;
  let cells = 0;
  for (let index = Math.max(0, top); index <= bottom; index++) {
    const row = rowAt(index);
    const values = new Map<string, Json>();
    for (let at = left; at <= right; at++) {
      const column = columns[at];
      const value = column === undefined ? undefined : read(column, index - top, at - left);
      if (row === undefined || column === undefined) outside++;
      if (row === undefined || column === undefined || column.isReadOnly || value === undefined) continue;
      if ('message' in value) mistakes.push({ id: row.id, name: column.name, ...value });
      else if (row.truncatedLengths.has(column.name) || !isSameValue(getMember(row.record, column.name), value.value))
        values.set(column.name, value.value);
    }
    if (row !== undefined && values.size > 0) edits.push({ row, values });
    cells += values.size;
  }
  return { edits, mistakes, outside: outside, cells };
}
