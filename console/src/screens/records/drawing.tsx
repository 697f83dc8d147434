// How the cells of the list are drawn.

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Json } from '../../api/json.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { GridDrawing } from '../../grid/grid-types.ts';
import type { CellDrafts } from '../../records/cell-drafts.ts';
import { CellValue, recordScreenPath } from '../../records/cell-value.tsx';
import type { RecordColumn } from '../../records/fields.ts';
import type { EntityRef } from '../../records/requests.ts';
import type { Row, Rows } from '../../records/rows.ts';
import { getMember, type RecordValue } from '../../records/value.ts';
import { Icon } from '../../shell/icon.tsx';
import type { ColumnPlan } from './column-plan.ts';
import { SelectLoaded } from './select-loaded.tsx';

export interface DrawingOptions {
  readonly place: EntityRef;
  readonly plan: ColumnPlan;
  readonly zone: TimeZone;
  readonly rows: Rows | undefined;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
  readonly drafts: CellDrafts;
  /** The editor of a cell, with what was typed to begin. */
  readonly editor: (row: Row, column: RecordColumn, typed: string | undefined) => ReactNode;
}

/** The value of a column in a record: a label is found in the related record. */
export function getCellValue(record: RecordValue, column: RecordColumn): Json | undefined {
  if (column.type !== 'label') return getMember(record, column.name);
  const related = getRelated(record, column);
  return related === null || related === undefined
    ? related
    : getMember(related, column.name.split('.').at(-1) as string);
}

function getRelated(record: RecordValue, { relation }: RecordColumn): RecordValue | null | undefined {
  const related = getMember(record, relation?.name ?? '');
  return related === null || related === undefined ? related : (related as RecordValue);
}

export function createCellRenderers({
  place,
  plan,
  zone,
  rows,
  selected,
  setSelected,
  drafts,
  editor,
}: DrawingOptions): GridDrawing<Row> {
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
        return <CellValue place={place} column={column} value={draft.value} zone={zone} />;
      const related = column.type === 'label' ? getRelated(record, column) : undefined;
      const value = (
        <CellValue
          place={place}
          column={column}
          value={getCellValue(record, column)}
          zone={zone}
          fullLength={truncatedLengths.get(name)}
          relatedId={related === null || related === undefined ? undefined : String(getMember(related, 'id'))}
        />
      );
      if (name !== 'id') return value;
      return (
        <>
          <Link
            className="open-record"
            tabIndex={-1}
            to={recordScreenPath(place, place.entity, id)}
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
}
