// Cell renderers of the list.

import { Link } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import type { Search } from '../../address.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { GridDrawing } from '../../grid/grid-types.ts';
import type { CellDraft } from '../../records/cell-drafts.ts';
import { CellValue } from '../../records/cell-value.tsx';
import type { RecordColumn } from '../../records/fields.ts';
import { findRelatedName } from '../../records/record-label.ts';
import type { Row } from '../../records/rows.ts';
import { getMember } from '../../records/value.ts';
import { Icon } from '../../shell/icon.tsx';
import { CellEditor } from './cell-editor.tsx';
import { SelectLoaded } from './select-loaded.tsx';
import type { Editing } from './use-editing.ts';
import type { RecordsState } from './use-records.ts';

const getRefusal = (draft: CellDraft | undefined): string | undefined =>
  draft?.kind === 'refused' ? draft.message : undefined;

export interface CellsOptions {
  readonly state: RecordsState;
  readonly zone: TimeZone;
  readonly editing: Editing;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
}

/**
 * Returns renderers of the cells with their drafts and editors; the object changes whenever cells have to render again.
 */
export function useCells({ state, zone, editing, selected, setSelected }: CellsOptions): GridDrawing<Row> {
  const { entityRef: workspace, plan, control, rows } = state;
  const { drafts } = editing;
  const revision = drafts.revision();
  const latest = useRef(state);
  latest.current = state;
  return useMemo(() => {
    // Drafts are mutable, so the revision is a dependency.
    void revision;
    const editor = (row: Row, column: RecordColumn, typed: string | undefined) => (
      <CellEditor
        key={`${row.id}/${column.name}`}
        entityRef={workspace}
        row={row}
        column={column}
        zone={zone}
        typed={typed}
        draft={drafts.get(row.id)?.get(column.name)?.value}
        refusal={getRefusal(drafts.get(row.id)?.get(column.name))}
        onLeave={(next) => control.send({ kind: 'leaveEdit', ...(next === undefined ? {} : { next }) })}
        onDiscard={() => {
          if (drafts.get(row.id)?.has(column.name) !== true) return;
          drafts.clear(row.id, [column.name]);
          editing.setRefused(undefined);
        }}
        onRefused={() => {
          const { rows, columns } = latest.current;
          const at = {
            row: rows?.indexOf(row.id) ?? -1,
            column: columns.findIndex(({ name }) => name === column.name),
          };
          // The value is corrected in its cell, unless the user has gone on to work elsewhere on the page.
          const active = document.activeElement;
          if (active === null || active === document.body || active.closest('[role=grid]') !== null)
            control.send({ kind: 'editAgain', at });
        }}
        onSave={async (from, values) => {
          if (!editing.isQueueing) return editing.save([{ row: from, values }]);
          editing.queue([{ row: from, values }]);
          return { kind: 'saved' };
        }}
      />
    );
    return {
      cell({ record, truncatedLengths, id }, { name, isSelector }) {
        if (isSelector === true)
          return (
            <input
              type="checkbox"
              className="select-box"
              tabIndex={-1}
              aria-label={`Select record ${id}`}
              checked={selected.has(id)}
              onChange={(event) => {
                const next = new Set(selected);
                if (event.currentTarget.checked) next.add(id);
                else next.delete(id);
                setSelected(next);
              }}
            />
          );
        const column = plan.column(name);
        if (column === undefined) return null;
        const draft = drafts.get(id)?.get(name);
        if (draft !== undefined && draft.kind !== 'saved')
          return <CellValue workspace={workspace} column={column} value={draft.value} zone={zone} hasOpenButton />;
        const value = (
          <CellValue
            workspace={workspace}
            column={column}
            value={getMember(record, name)}
            zone={zone}
            fullLength={truncatedLengths.get(name)}
            relatedName={findRelatedName(record, column)}
            hasOpenButton
          />
        );
        if (name !== 'id') return value;
        return (
          <>
            <Link
              className="open-record"
              tabIndex={-1}
              to="."
              search={((old: Search) => ({ ...old, record: id })) as never}
              resetScroll={false}
              aria-label={`Open record ${id}`}
              title={`Open record ${id}`}
            >
              <Icon name="right" size={14} />
            </Link>
            {value}
          </>
        );
      },
      mark: ({ id }, { name }) => drafts.get(id)?.get(name),
      editor(row, { name }, typed) {
        const column = plan.column(name);
        return column === undefined ? null : editor(row, column, typed);
      },
      head: ({ isSelector }) =>
        isSelector === true && rows !== undefined ? (
          <SelectLoaded rows={rows} selected={selected} setSelected={setSelected} />
        ) : undefined,
    };
  }, [workspace, plan, zone, rows, selected, setSelected, drafts, revision, control.send, editing]);
}
