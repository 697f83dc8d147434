// The cells of the list with their drafts and editors. Another value whenever cells are to be drawn anew.
import { useMemo } from 'react';
import type { TimeZone } from '../../format/datetime.ts';
import type { GridDrawing } from '../../grid/grid-types.ts';
import type { Row } from '../../records/rows.ts';
import { CellEditor } from './cell-editor.tsx';
import { createCellRenderers } from './drawing.tsx';
import type { Editing } from './use-editing.ts';
import type { RecordsState } from './use-records.ts';

export interface DrawingHookOptions {
  readonly state: RecordsState;
  readonly zone: TimeZone;
  readonly editing: Editing;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
}

export function useDrawing(options: DrawingHookOptions): GridDrawing<Row> {
  const { state, zone, editing, selected, setSelected } = options;
  const { at, plan, control, rows } = state;
  const { drafts } = editing;
  const revision = drafts.revision();
  return useMemo(() => {
    // Named here, as the drawing is another one when a draft has changed.
    void revision;
    return createCellRenderers({
      place: at,
      plan,
      zone,
      rows,
      selected,
      setSelected,
      drafts,
      editor: (row, column, typed) => (
        <CellEditor
          key={`${row.id}/${column.name}`}
          at={at}
          row={row}
          column={column}
          zone={zone}
          typed={typed}
          draft={drafts.get(row.id)?.get(column.name)?.value}
          onLeave={(next) => control.send({ kind: 'leaveEdit', ...(next === undefined ? {} : { next }) })}
          onDiscard={() => {
            if (drafts.get(row.id)?.has(column.name) !== true) return;
            drafts.clear(row.id, [column.name]);
            editing.setRefused(undefined);
          }}
          onSave={async (from, values) => {
            if (!editing.isQueueing) return editing.save([{ row: from, values }]);
            editing.queue([{ row: from, values }]);
            return { kind: 'saved' };
          }}
        />
      ),
    });
  }, [at, plan, zone, rows, selected, setSelected, drafts, revision, control.send, editing]);
}
