// Copy, paste, fill down and clear of a range of cells. Large changes are confirmed first.
import { useMemo, useRef } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { pluralize } from '../../format/amount.ts';
import { countCells, type Range } from '../../grid/state.ts';
import { readTsv, writeTsv } from '../../grid/tsv.ts';
import type { RecordColumn } from '../../records/fields.ts';
import { clearEdits, fillEdits, pasteArea, pasteEdits, type RangeEdits, type Sheet } from '../../records/paste.ts';
import { type EntityRef, fetchRecords } from '../../records/requests.ts';
import type { Row, Rows } from '../../records/rows.ts';
import { formatForCopy, getId, getMember } from '../../records/value.ts';
import { MAX_BULK } from '../../records/write-requests.ts';
import { announce } from '../../shell/live-region.tsx';
import type { Question } from './dialogs.tsx';
import type { Editing } from './use-editing.ts';

export interface RangeOptions {
  readonly entityRef: EntityRef;
  readonly sheet: Omit<Sheet, 'rowAt'>;
  readonly rows: Rows | undefined;
  readonly range: Range;
  readonly editing: Editing;
  readonly ask: (question: Question) => void;
}

const MOST_COPIED = 5000;
// Number of changes that need a confirmation; fewer are visible at a glance, and Ctrl+Z undoes them.
const PREVIEWED = 100;

export function useRange(options: RangeOptions) {
  const latest = useRef(options);
  latest.current = options;
  return useMemo(() => {
    const apply = (rangeEdits: RangeEdits, action: string): void => applyEdits(latest.current, rangeEdits, action);
    const withRows = async (range: Range, run: (sheet: Sheet) => void): Promise<void> => {
      const { rows, sheet, editing } = latest.current;
      if (rows === undefined) return;
      const bottom = Math.min(range.bottom, rows.count.rows - 1);
      if (bottom - range.top >= MAX_BULK) {
        announce(`At most ${pluralize(MAX_BULK, 'record')} are changed at once`);
        return;
      }
      try {
        await rows.load(Math.max(0, range.top - 1), bottom + 1);
        run({ ...sheet, rowAt: (index) => rows.get(index) });
      } catch (error) {
        editing.setRefused(error);
      }
    };
    return {
      copy: (clipboard: DataTransfer) => copyRange(latest.current, clipboard),
      paste(text: string) {
        const cells = readTsv(text);
        if (cells.length === 0) return;
        const { range } = latest.current;
        void withRows(pasteArea(cells, range), (sheet) => apply(pasteEdits(cells, range, sheet), 'Paste'));
      },
      fillDown() {
        const { range } = latest.current;
        void withRows(range, (sheet) => apply(fillEdits(range, sheet), 'Fill down'));
      },
      clear() {
        const { range, ask } = latest.current;
        void withRows(range, (sheet) => {
          const rangeEdits = clearEdits(range, sheet);
          if (countCells(range) === 1 || rangeEdits.cells === 0) apply(rangeEdits, 'Clear');
          else
            ask({
              title: `Clear ${pluralize(rangeEdits.cells, 'value')}?`,
              text: `They become NULL in ${pluralize(rangeEdits.edits.length, 'record')}.`,
              action: 'Clear',
              run: async () => throwIfRejected(await latest.current.editing.save(rangeEdits.edits)),
            });
        });
      },
    };
  }, []);
}

/** Throws an error for a dialog to display. */
function throwIfRejected(outcome: Awaited<ReturnType<Editing['save']>>): void {
  if (outcome.kind === 'refused') throw outcome.error;
}

function applyEdits({ editing, ask, sheet }: RangeOptions, rangeEdits: RangeEdits, action: string): void {
  const [mistake] = rangeEdits.mistakes;
  if (mistake !== undefined) {
    for (const { id, name, text, message } of rangeEdits.mistakes.slice(0, 100))
      editing.drafts.set(id, [name], () => ({ kind: 'refused', value: text, message }));
    const more = rangeEdits.mistakes.length === 1 ? '' : ` (and ${rangeEdits.mistakes.length - 1} more)`;
    const words = `Nothing is saved: record ${mistake.id}, ${mistake.name}: "${mistake.text.slice(0, 40)}" ${mistake.message}${more}`;
    editing.setRefused(new ApiError(words, { status: 400, code: 'VALIDATION_FAILED' }));
    return;
  }
  if (rangeEdits.cells === 0) {
    announce('Nothing changes');
    return;
  }
  if (editing.isQueueing) {
    editing.queue(rangeEdits.edits);
    return;
  }
  const outside =
    rangeEdits.outside === 0 ? '' : ` ${pluralize(rangeEdits.outside, 'value')} beyond the list are left out.`;
  const fields = new Set(rangeEdits.edits.flatMap(({ values }) => [...values.keys()]));
  if (rangeEdits.cells <= PREVIEWED) {
    void editing.save(rangeEdits.edits);
    if (outside !== '') announce(outside.trim());
  } else
    ask({
      title: `${action}: ${pluralize(rangeEdits.cells, 'change')}?`,
      text: `${pluralize(rangeEdits.cells, 'change')} in ${pluralize(rangeEdits.edits.length, 'record')}, in ${[...fields].filter((name) => sheet.columns.some((column) => column?.name === name)).join(', ')}.${outside} All of them are saved, or none.`,
      action,
      run: async () => throwIfRejected(await editing.save(rangeEdits.edits)),
    });
}

const printCells = (rows: readonly Row[], columns: readonly RecordColumn[]): string =>
  writeTsv(
    rows.map(({ record }) => columns.map((column) => formatForCopy(getMember(record, column.name), column.type))),
  );

function copyRange({ entityRef, rows, range, sheet, editing }: RangeOptions, clipboard: DataTransfer): void {
  if (rows === undefined) return;
  const columns = sheet.columns.slice(range.left, range.right + 1).filter((column) => column !== undefined);
  const top = Math.max(0, range.top);
  const count = range.bottom - top + 1;
  if (range.bottom < 0) {
    clipboard.setData('text/plain', columns.map(({ name }) => name).join('\t'));
    return;
  }
  if (count > MOST_COPIED) {
    announce(`At most ${pluralize(MOST_COPIED, 'row')} are copied; Export gives all`);
    return;
  }
  const seen = Array.from({ length: count }, (_, index) => rows.get(top + index));
  const whole = seen.filter((row) => row !== undefined);
  const isWhole =
    whole.length === count &&
    !whole.some(({ truncatedLengths }) => columns.some(({ name }) => truncatedLengths.has(name)));
  const words = `Copied ${pluralize(count * columns.length, 'value')}`;
  if (isWhole) {
    clipboard.setData('text/plain', printCells(whole, columns));
    announce(words);
    return;
  }
  // Missing and truncated values are fetched first.
  void (async () => {
    await rows.load(top, range.bottom + 1);
    const all = Array.from({ length: count }, (_, index) => rows.get(top + index)).filter((row) => row !== undefined);
    const cut = columns
      .filter(({ name }) => all.some(({ truncatedLengths }) => truncatedLengths.has(name)))
      .map(({ name }) => name);
    const full = new Map(
      (
        await fetchRecords(
          entityRef,
          all.map(({ id }) => id),
          cut,
        )
      ).map(({ record }) => [getId(record), record]),
    );
    const complete = all.map((row) => ({ ...row, record: { ...row.record, ...full.get(row.id) } }));
    await navigator.clipboard.writeText(printCells(complete, columns));
    announce(words);
  })().catch((error: unknown) => editing.setRefused(error));
}
