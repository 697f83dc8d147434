// Props of a grid: columns, rows and cell renderers. It knows nothing of records.
import type { ReactNode } from 'react';

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  readonly width: number;
  readonly isEditable: boolean;
  /** Aligns the values to the end. */
  readonly isNumeric?: boolean;
  /** Marks a column whose header is a checkbox for all rows. */
  readonly isSelector?: boolean;
  readonly sort?: 'ascending' | 'descending' | undefined;
  readonly description?: string | undefined;
}

/** State of a cell, as an icon and an accessible text. */
export interface CellMark {
  readonly kind: 'saving' | 'saved' | 'refused' | 'conflict' | 'waiting' | 'queued';
  readonly message: string;
}

export interface RowNote {
  /** Name of the style. */
  readonly kind: string;
  readonly text: string;
  readonly icon?: ReactNode;
}

export interface GridRowView<Row> {
  /** Row, or undefined until it is loaded. */
  readonly row: Row | undefined;
  /** Value that changes when the row's cells have to render again. */
  readonly revision: unknown;
  readonly isSelected: boolean;
  /** Words about the row, which mark it; the same object while they are the same. */
  readonly note: RowNote | undefined;
}

export interface GridDrawing<Row> {
  readonly cell: (row: Row, column: GridColumn) => ReactNode;
  readonly mark: (row: Row, column: GridColumn) => CellMark | undefined;
  readonly editor: (row: Row, column: GridColumn, typed: string | undefined) => ReactNode;
  readonly head?: (column: GridColumn) => ReactNode;
}
