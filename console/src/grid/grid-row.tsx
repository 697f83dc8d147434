// Row of the grid. It renders only when a part of it changes; scrolling reuses the elements of a row that left the
// view.
import { memo } from 'react';
import type { GridColumn, GridDrawing, RowNote } from './grid-types.ts';
import { ROW_HEIGHT } from './viewport.ts';

export interface GridRowProps<Row> {
  readonly index: number;
  readonly top: number;
  readonly row: Row | undefined;
  /** Value that changes when a cell has to render again. */
  readonly revision: unknown;
  readonly isSelected: boolean;
  readonly note: RowNote | undefined;
  readonly columns: readonly GridColumn[];
  readonly edges: readonly number[];
  readonly pinned: number;
  /** Indexes of the rendered columns joined by commas, so that equal sets are equal values. */
  readonly renderedColumns: string;
  /** Focused column, or -1 if the focus is in another row. */
  readonly focused: number;
  /** First selected column; greater than the last one if none is selected. */
  readonly rangeStart: number;
  readonly rangeEnd: number;
  /** Edited column, with the key that started the edit. */
  readonly editedColumn: number;
  readonly initialText: string | undefined;
  readonly drawing: GridDrawing<Row>;
}

function GridRowInner<Row>(props: GridRowProps<Row>) {
  const { index, top, row, isSelected, note, edges, renderedColumns } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-busy={row === undefined || undefined}
      className="grid-row"
      data-selected={isSelected || undefined}
      aria-description={note?.text}
      data-note={note?.kind}
      data-edited={props.editedColumn >= 0 || undefined}
      data-odd={index % 2 === 1 || undefined}
      style={{ transform: `translateY(${top}px)`, width: edges.at(-1), height: ROW_HEIGHT }}
    >
      {renderedColumns.split(',').map((text) => (
        <GridCell key={text} at={Number(text)} {...props} />
      ))}
      {note !== undefined && (
        <span className="grid-note" aria-hidden="true">
          {note.icon} {note.text}
        </span>
      )}
    </div>
  );
}

export const GridRow = memo(GridRowInner) as typeof GridRowInner;

/** Returns the position of a cell: pinned ones stick to the left edge, the others are absolute. */
export const positionCell = (at: number, edges: readonly number[], pinned: number) =>
  at < pinned
    ? ({
        position: 'sticky',
        left: edges[at] as number,
        width: (edges[at + 1] as number) - (edges[at] as number),
      } as const)
    : ({
        position: 'absolute',
        left: edges[at] as number,
        width: (edges[at + 1] as number) - (edges[at] as number),
      } as const);

function GridCell<Row>(props: GridRowProps<Row> & { readonly at: number }) {
  const { at, index, row, columns, edges, pinned, focused, rangeStart, rangeEnd, editedColumn, initialText, drawing } =
    props;
  const column = columns[at];
  if (column === undefined) return null;
  const mark = row === undefined ? undefined : drawing.mark(row, column);
  const isEdited = editedColumn === at && row !== undefined;
  const isInvalid = mark?.kind === 'refused' || mark?.kind === 'conflict';
  return (
    <div
      role="gridcell"
      aria-colindex={at + 1}
      aria-readonly={!column.isEditable}
      aria-selected={at >= rangeStart && at <= rangeEnd}
      aria-invalid={isInvalid || undefined}
      aria-description={mark?.message}
      title={mark?.message}
      tabIndex={focused === at ? 0 : -1}
      className="grid-cell"
      data-spot={`${index}:${at}`}
      data-pinned={at < pinned || undefined}
      data-numeric={column.isNumeric || undefined}
      data-edited={isEdited || undefined}
      data-mark={mark?.kind}
      data-focused={focused === at || undefined}
      data-in-range={(at >= rangeStart && at <= rangeEnd) || undefined}
      style={positionCell(at, edges, pinned)}
    >
      {row === undefined ? null : isEdited ? drawing.editor(row, column, initialText) : drawing.cell(row, column)}
    </div>
  );
}
