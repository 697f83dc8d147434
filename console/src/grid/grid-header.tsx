// Header row of the grid: a click sorts, and the right edge resizes the column.
import { memo, type ReactNode } from 'react';
import { positionCell } from './grid-row.tsx';
import type { GridColumn } from './grid-types.ts';

export interface GridHeaderProps {
  readonly columns: readonly GridColumn[];
  readonly edges: readonly number[];
  readonly pinned: number;
  readonly renderedColumns: string;
  /** Focused column, or -1 if there is none. */
  readonly focused: number;
  readonly head: ((column: GridColumn) => ReactNode) | undefined;
  readonly onResize: (column: GridColumn, width: number) => void;
}

export const GridHeader = memo(function GridHeader(props: GridHeaderProps) {
  const { columns, edges, pinned, renderedColumns, focused, head, onResize } = props;
  return (
    <div role="row" aria-rowindex={1} className="grid-head" style={{ width: edges.at(-1) }}>
      {renderedColumns.split(',').map((text) => {
        const at = Number(text);
        const column = columns[at];
        return column === undefined ? null : (
          <div
            key={text}
            role="columnheader"
            aria-colindex={at + 1}
            aria-sort={column.sort}
            tabIndex={focused === at ? 0 : -1}
            className="grid-cell grid-headcell"
            data-spot={`-1:${at}`}
            data-pinned={at < pinned || undefined}
            data-numeric={column.isNumeric || undefined}
            title={column.description}
            style={positionCell(at, edges, pinned)}
          >
            {head?.(column) ?? <span className="grid-headname">{column.title}</span>}
            {column.sort === undefined ? null : (
              <span aria-hidden="true">{column.sort === 'ascending' ? '↑' : '↓'}</span>
            )}
            {column.isSelector ? null : <Resizer width={column.width} onWidth={(width) => onResize(column, width)} />}
          </div>
        );
      })}
    </div>
  );
});

function Resizer({ width, onWidth }: { readonly width: number; readonly onWidth: (width: number) => void }) {
  return (
    <span
      aria-hidden="true"
      className="grid-resizer"
      onClick={(event) => event.stopPropagation()}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.preventDefault();
        const { currentTarget: handle, clientX: start, pointerId } = event;
        handle.setPointerCapture(pointerId);
        const drag = (moved: PointerEvent) => onWidth(width + moved.clientX - start);
        handle.addEventListener('pointermove', drag);
        handle.onlostpointercapture = () => handle.removeEventListener('pointermove', drag);
      }}
    />
  );
}
