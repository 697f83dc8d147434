// Input of a grid: columns, rows, and cell renderers. It knows nothing of records.
import type { ReactNode } from 'react';

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  readonly width: number;
  readonly isEditable: boolean;
  /** Numbers stand at the end. */
  readonly isNumeric?: boolean;
  /** Its head is a box that selects rows. */
  readonly isSelector?: boolean;
  readonly sort?: 'ascending' | 'descending' | undefined;
  readonly description?: string | undefined;
}

/** How a cell stands: what is seen beside its value and heard of it. */
export interface CellMark {
  readonly kind: 'saving' | 'saved' | 'refused' | 'conflict' | 'waiting' | 'queued';
  readonly message: string;
}

export interface GridRowView<Row> {
  /** Undefined until it is loaded. */
  readonly row: Row | undefined;
  /** Changes when something of the row's cells is to be drawn anew. */
  readonly revision: unknown;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
}

export interface GridDrawing<Row> {
  readonly cell: (row: Row, column: GridColumn) => ReactNode;
  readonly mark: (row: Row, column: GridColumn) => CellMark | undefined;
  readonly editor: (row: Row, column: GridColumn, typed: string | undefined) => ReactNode;
  readonly head?: (column: GridColumn) => ReactNode;
}
