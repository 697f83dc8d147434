// Props of a grid: columns, rows and cell renderers. It knows nothing of records.
import type { ReactNode } from 'react';
import type { CellPosition, GridCommand } from './state.ts';
import type { GridControl } from './use-grid.ts';

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

/** Place on the page, in pixels. */
export interface MenuPlace {
  readonly left: number;
  readonly top: number;
}

export interface GridProps<Row> {
  readonly label: string;
  readonly columns: readonly GridColumn[];
  /** Number of columns that stay at the left edge. */
  readonly pinned: number;
  readonly rowCount: number;
  /** False if there may be more rows than `rowCount`. */
  readonly isCountExact: boolean;
  readonly viewAt: (index: number) => GridRowView<Row>;
  readonly control: GridControl;
  readonly drawing: GridDrawing<Row>;
  readonly isReadOnly: boolean;
  readonly onCommand: (command: GridCommand, spot: CellPosition) => void;
  readonly onHead: (column: GridColumn, isAdded: boolean) => void;
  readonly onResize: (column: GridColumn, width: number) => void;
  /** Called with the visible rows when they change. */
  readonly onRows: (from: number, to: number) => void;
  readonly onCopy?: (clipboard: DataTransfer) => void;
  readonly onPaste?: (text: string) => void;
  /** Opens the menu of a cell or a heading, for the mouse at its place, for keys (Shift+F10) below the cell. */
  readonly onMenu?: (spot: CellPosition, place: MenuPlace) => void;
  /** Identity of the list: when it changes, the grid scrolls to `startRow`. */
  readonly list: unknown;
  readonly startRow: number;
  readonly children?: ReactNode;
}
