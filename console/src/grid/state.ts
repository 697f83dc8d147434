// State of the grid as values: focus, range and edited cell, with the action of each key (`interpretKey`) and its result
// (`reduce`). Row -1 is the header. The keys are those of the WAI-ARIA grid pattern and of spreadsheets. By hand, as the
// headless tables of the field have neither a cell focus nor ranges.

export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

export interface GridState {
  readonly focus: CellPosition;
  /** Opposite corner of the range; equal to the focus for a single cell. */
  readonly anchor: CellPosition;
  /** Edited cell, with the key that started the edit, or undefined to keep its value. */
  readonly editing: { readonly at: CellPosition; readonly typed: string | undefined } | undefined;
}

export interface Extent {
  readonly rowCount: number;
  readonly columnCount: number;
  /** Number of visible rows. */
  readonly pageRows: number;
}

export interface Range {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

export const START: GridState = { focus: { row: 0, column: 0 }, anchor: { row: 0, column: 0 }, editing: undefined };

export type Move =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'rowStart'
  | 'rowEnd'
  | 'start'
  | 'end'
  | 'pageUp'
  | 'pageDown'
  | 'columnStart'
  | 'columnEnd'
  | 'next'
  | 'previous';

/** Events of the grid. */
export type GridEvent =
  | { readonly kind: 'move'; readonly to: Move; readonly extends?: boolean }
  | { readonly kind: 'go'; readonly to: CellPosition; readonly extends?: boolean }
  | { readonly kind: 'edit'; readonly typed?: string }
  | { readonly kind: 'leaveEdit'; readonly next?: Move }
  /** Returns to a cell whose value was rejected; not while another one is edited. */
  | { readonly kind: 'editAgain'; readonly at: CellPosition }
  | { readonly kind: 'selectAll' }
  | { readonly kind: 'shape' };

/** Commands for the owner of the grid. */
export type GridCommand =
  | 'activateHeader'
  | 'toggleRow'
  | 'selectNone'
  | 'clear'
  | 'fillDown'
  | 'undo'
  | 'redo'
  | 'open'
  | 'create'
  | 'filter'
  | 'saveAll';

export type KeyAction =
  | { readonly event: GridEvent }
  | { readonly command: GridCommand }
  /** Undefined for keys of the browser: copy and paste come as clipboard events, Tab leaves the grid. */
  | undefined;

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

const MOVES: ReadonlyMap<string, Move> = new Map([
  ['ArrowUp', 'up'],
  ['ArrowDown', 'down'],
  ['ArrowLeft', 'left'],
  ['ArrowRight', 'right'],
  ['Home', 'rowStart'],
  ['End', 'rowEnd'],
  ['PageUp', 'pageUp'],
  ['PageDown', 'pageDown'],
]);

const CONTROL_MOVES: ReadonlyMap<string, Move> = new Map([
  ['Home', 'start'],
  ['End', 'end'],
  ['ArrowUp', 'columnStart'],
  ['ArrowDown', 'columnEnd'],
  ['ArrowLeft', 'rowStart'],
  ['ArrowRight', 'rowEnd'],
]);

const CONTROL_COMMANDS: ReadonlyMap<string, GridCommand> = new Map([
  ['d', 'fillDown'],
  ['s', 'saveAll'],
  ['y', 'redo'],
  ['Enter', 'open'],
]);

/**
 * Returns the action of a key while no cell is edited. Every character starts an edit of an `isEditable` cell: shortcuts
 * take Ctrl, or Shift and Enter.
 */
export function interpretKey(key: Key, { focus }: Pick<GridState, 'focus'>, isEditable: boolean): KeyAction {
  if (key.altKey) return undefined;
  const isControl = key.ctrlKey || key.metaKey;
  const move = (isControl ? CONTROL_MOVES : MOVES).get(key.key);
  if (move !== undefined) return { event: { kind: 'move', to: move, extends: key.shiftKey } };
  if (isControl) return interpretControlKey(key);
  const isHeader = focus.row < 0;
  if (key.key === 'Enter' && key.shiftKey && !isHeader) return { command: 'create' };
  if (key.key === 'Enter' || key.key === ' ' || key.key === 'F2') {
    if (isHeader) return key.key === 'F2' ? undefined : { command: 'activateHeader' };
    if (key.key === ' ') return { command: 'toggleRow' };
    return isEditable ? { event: { kind: 'edit' } } : { command: 'open' };
  }
  if (key.key === 'Escape') return { command: 'selectNone' };
  if (!isEditable || isHeader) return undefined;
  if (key.key === 'Delete' || key.key === 'Backspace') return { command: 'clear' };
  return isTyped(key.key) ? { event: { kind: 'edit', typed: key.key } } : undefined;
}

function interpretControlKey({ key, shiftKey }: Key): KeyAction {
  const name = key.length === 1 ? key.toLowerCase() : key;
  if (name === 'a') return { event: { kind: 'selectAll' } };
  if (name === 'z') return { command: shiftKey ? 'redo' : 'undo' };
  if (name === 'f') return shiftKey ? { command: 'filter' } : undefined;
  const command = CONTROL_COMMANDS.get(name);
  return command === undefined ? undefined : { command };
}

/** Returns whether a key is a character: names of keys are longer. */
const isTyped = (key: string): boolean => [...key].length === 1;

/** Returns the state after an event; the same object if nothing changes. */
export function reduce(state: GridState, event: GridEvent, extent: Extent): GridState {
  switch (event.kind) {
    case 'move':
      return focusCell(state, moveFrom(state.focus, event.to, extent), event.extends === true, extent);
    case 'go':
      return focusCell(state, event.to, event.extends === true, extent);
    case 'edit':
      return state.focus.row < 0 || state.focus.row >= extent.rowCount
        ? state
        : { focus: state.focus, anchor: state.focus, editing: { at: state.focus, typed: event.typed } };
    case 'leaveEdit': {
      const stopped = { ...state, editing: undefined };
      return event.next === undefined
        ? stopped
        : focusCell(stopped, moveFrom(stopped.focus, event.next, extent), false, extent);
    }
    case 'editAgain':
      return state.editing !== undefined || !isSame(event.at, clamp(event.at, extent)) || event.at.row < 0
        ? state
        : { focus: event.at, anchor: event.at, editing: { at: event.at, typed: undefined } };
    case 'selectAll':
      return extent.rowCount === 0
        ? focusCell(state, state.focus, false, extent)
        : {
            ...state,
            focus: { row: 0, column: 0 },
            anchor: clamp({ row: extent.rowCount, column: extent.columnCount }, extent),
          };
    case 'shape':
      return focusCell(state, state.focus, true, extent);
  }
}

function focusCell(state: GridState, to: CellPosition, isExtending: boolean, extent: Extent): GridState {
  const focus = clamp(to, extent);
  const anchor = isExtending ? clamp(state.anchor, extent) : focus;
  if (isSame(focus, state.focus) && isSame(anchor, state.anchor)) return state;
  return { ...state, focus, anchor };
}

function moveFrom({ row, column }: CellPosition, to: Move, { rowCount, columnCount, pageRows }: Extent): CellPosition {
  switch (to) {
    case 'up':
      return { row: row - 1, column };
    case 'down':
      return { row: row + 1, column };
    case 'left':
      return { row, column: column - 1 };
    case 'right':
      return { row, column: column + 1 };
    case 'rowStart':
      return { row, column: 0 };
    case 'rowEnd':
      return { row, column: columnCount - 1 };
    case 'start':
      return { row: 0, column: 0 };
    case 'end':
      return { row: rowCount - 1, column: columnCount - 1 };
    case 'pageUp':
      return { row: Math.max(0, row - pageRows), column };
    case 'pageDown':
      return { row: row + pageRows, column };
    case 'columnStart':
      return { row: 0, column };
    case 'columnEnd':
      return { row: rowCount - 1, column };
    case 'next':
      return column + 1 < columnCount || row + 1 >= rowCount
        ? { row, column: column + 1 }
        : { row: row + 1, column: 0 };
    case 'previous':
      return column > 0 || row <= 0 ? { row, column: column - 1 } : { row: row - 1, column: columnCount - 1 };
  }
}

/** Returns whether an event moves to the first column. */
export const isMoveToStart = (event: GridEvent): boolean =>
  event.kind === 'move' && (event.to === 'rowStart' || event.to === 'start');

const clamp = ({ row, column }: CellPosition, { rowCount, columnCount }: Extent): CellPosition => ({
  row: Math.max(-1, Math.min(row, rowCount - 1)),
  column: Math.max(0, Math.min(column, columnCount - 1)),
});

export const isSame = (one: CellPosition, other: CellPosition): boolean =>
  one.row === other.row && one.column === other.column;

/** Returns the cells between both corners; in the header only the header row. */
export function getRange({ focus, anchor }: Pick<GridState, 'focus' | 'anchor'>): Range {
  return {
    top: Math.min(focus.row, anchor.row),
    bottom: Math.max(focus.row, anchor.row),
    left: Math.min(focus.column, anchor.column),
    right: Math.max(focus.column, anchor.column),
  };
}

/** Counts the cells of a range without the header. */
export const countCells = ({ top, bottom, left, right }: Range): number =>
  Math.max(0, bottom - Math.max(0, top) + 1) * (right - left + 1);
