// One row of the grid. It is drawn again only when something of it changes; while one scrolls, it takes the place of a row
// that left.
import { memo } from 'react';
import type { GridColumn, GridDrawing } from './grid-types.ts';
import { ROW_HEIGHT } from './viewport.ts';

export interface GridRowProps<Row> {
  readonly index: number;
  readonly top: number;
  readonly row: Row | undefined;
  /** Changes when a cell is to be drawn anew. */
  readonly revision: unknown;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
  readonly columns: readonly GridColumn[];
  readonly edges: readonly number[];
  readonly pinned: number;
  /** Numbers of the columns that are drawn, joined by commas: equal when the same are. */
  readonly renderedColumns: string;
  /** -1: the focus is in another row. */
  readonly focused: number;
  /** Selected columns; left greater than right: none. */
  readonly rangeStart: number;
  readonly rangeEnd: number;
  /** The column that is edited, with what was typed to begin. */
  readonly editedColumn: number;
  readonly initialText: string | undefined;
  readonly drawing: GridDrawing<Row>;
}

function GridRowInner<Row>(props: GridRowProps<Row>) {
  const { index, top, row, isSelected, isMarked, edges, renderedColumns } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-busy={row === undefined || undefined}
      className="grid-row"
      data-selected={isSelected || undefined}
      data-marked={isMarked || undefined}
      data-edited={props.editedColumn >= 0 || undefined}
      data-odd={index % 2 === 1 || undefined}
      style={{ transform: `translateY(${top}px)`, width: edges.at(-1), height: ROW_HEIGHT }}
    >
      {renderedColumns.split(',').map((text) => (
        <GridCell key={text} at={Number(text)} {...props} />
      ))}
    </div>
  );
}

export const GridRow = memo(GridRowInner) as typeof GridRowInner;

/** Where a cell stands: pinned ones stick to the left edge, the others stand at their place. */
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
