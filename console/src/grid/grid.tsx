// Grid after the pattern of the WAI-ARIA authoring practices, for lists of any length: only visible rows and columns
// and the focused cell are in the document. state.ts interprets keys, viewport.ts computes positions.
import './grid.css';
import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { GridHeader } from './grid-header.tsx';
import { GridRow } from './grid-row.tsx';
import type { GridColumn, GridDrawing, GridRowView } from './grid-types.ts';
import { type CellPosition, countCells, type GridCommand, interpretKey, isMoveToStart } from './state.ts';
import type { GridControl } from './use-grid.ts';
import {
  getColumnEdges,
  getOffset,
  getPoolSize,
  getScrollHeight,
  getScrollTop,
  getVisibleColumns,
  getVisibleRows,
  ROW_HEIGHT,
  scrollToColumn,
  scrollToRow,
} from './viewport.ts';

const HEADER = 34;
const OVERSCAN = 6;

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

export function Grid<Row>(props: GridProps<Row>) {
  const { label, columns, pinned, rowCount, isCountExact, viewAt, control, drawing, isReadOnly, onRows } = props;
  const { state, range } = control;
  const scroller = useRef<HTMLDivElement>(null);
  const edges = useMemo(() => getColumnEdges(columns.map(({ width }) => width)), [columns]);
  const pinnedColumns = Math.min(pinned, columns.length);
  const { view, setView, read } = useView(scroller);
  const heights = useMemo(() => ({ rowCount, view: view.height }), [rowCount, view.height]);
  useReveal(state.focus, setView, (from) =>
    scrollIntoView(from, state.focus, { edges, pinnedColumns: pinnedColumns, heights }),
  );
  const offset = getOffset(view.top, heights);
  const rows = getVisibleRows(offset, heights, OVERSCAN);
  const pool = getPoolSize(view.height, OVERSCAN);
  const span = getVisibleColumns(edges, view.left + (edges[pinnedColumns] as number), view.left + view.width);
  const renderedColumns = listRenderedColumns(columns.length, pinnedColumns, span.from, span.to, state.focus.column);
  useEffect(() => {
    control.setPageRows(Math.floor(view.height / ROW_HEIGHT) - 1);
  }, [control.setPageRows, view.height]);
  useEffect(() => onRows(rows.from, rows.to), [onRows, rows.from, rows.to]);
  useStart(scroller, props, read);
  useFocus(scroller, control);
  useClipboard(scroller, props);

  const rowIndexes = rangeArray(rows.from, rows.to);
  const focusRow = state.focus.row;
  if (focusRow >= 0 && focusRow < rowCount && (focusRow < rows.from || focusRow >= rows.to)) rowIndexes.push(focusRow);
  const editing = state.editing;
  const isRange = countCells(range) > 1;
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={isCountExact ? rowCount + 1 : -1}
      aria-colcount={columns.length}
      aria-readonly={isReadOnly}
      aria-multiselectable="true"
      className="grid"
      onKeyDown={(event) => onKey(event, props, () => setView((from) => ({ ...from, left: 0, isWanted: true })))}
      onPointerDown={(event) => onPointer(event, props)}
      onPointerOver={(event) => onDrag(event, props)}
      onDoubleClick={(event) => {
        const spot = findCell(event.target);
        if (spot !== undefined && spot.row >= 0 && columns[spot.column]?.isEditable === true && !isReadOnly)
          control.send({ kind: 'edit' });
      }}
      onContextMenu={(event) => onContextMenu(event, props)}
      onClick={(event) => {
        const spot = findCell(event.target);
        const column = spot?.row === -1 ? columns[spot.column] : undefined;
        if (column !== undefined && !column.isSelector) props.onHead(column, event.shiftKey);
      }}
    >
      <GridHeader
        columns={columns}
        edges={edges}
        pinned={pinnedColumns}
        renderedColumns={renderedColumns}
        focused={focusRow === -1 ? state.focus.column : rowCount === 0 ? state.focus.column : -1}
        head={drawing.head}
        onResize={props.onResize}
      />
      <div role="rowgroup" className="grid-rows" style={{ height: getScrollHeight(heights), width: edges.at(-1) }}>
        {rowIndexes.map((index) => {
          const isIn = index >= rows.from && index < rows.to;
          const { row, revision, isSelected, note } = viewAt(index);
          const isRanged = isRange && index >= range.top && index <= range.bottom;
          return (
            <GridRow
              key={isIn ? index % pool : 'focused'}
              index={index}
              top={index * ROW_HEIGHT - offset + view.top}
              row={row}
              revision={revision}
              isSelected={isSelected}
              note={note}
              columns={columns}
              edges={edges}
              pinned={pinnedColumns}
              renderedColumns={renderedColumns}
              focused={index === focusRow ? state.focus.column : -1}
              rangeStart={isRanged ? range.left : 1}
              rangeEnd={isRanged ? range.right : 0}
              editedColumn={editing?.at.row === index ? editing.at.column : -1}
              initialText={editing?.at.row === index ? editing.typed : undefined}
              drawing={drawing}
            />
          );
        })}
      </div>
      {props.children}
    </div>
  );
}

function rangeArray(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/** Lists the pinned columns, those in view, and the focused one. */
function listRenderedColumns(count: number, pinnedColumns: number, from: number, to: number, focused: number): string {
  const all = new Set(rangeArray(0, pinnedColumns));
  for (const at of rangeArray(Math.max(pinnedColumns, from), to)) all.add(at);
  if (focused < count) all.add(focused);
  return [...all].sort((one, other) => one - other).join(',');
}

interface Viewport {
  readonly top: number;
  readonly left: number;
  readonly width: number;
  /** Height without the header. */
  readonly height: number;
  /** Whether the element still has to scroll there. */
  readonly isWanted?: boolean;
}

/** Returns the visible part of the scrolled element; setting another one scrolls there. */
function useView(scroller: { readonly current: HTMLDivElement | null }) {
  const [view, setView] = useState<Viewport>({ top: 0, left: 0, width: 0, height: 0 });
  const read = useCallback(
    () =>
      setView((last) => {
        const element = scroller.current as HTMLDivElement;
        const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight } = element;
        const height = Math.max(0, clientHeight - HEADER);
        const isSame = last.top === top && last.left === left && last.width === width && last.height === height;
        return isSame ? last : { top, left, width, height };
      }),
    [scroller],
  );
  useLayoutEffect(() => {
    if (view.isWanted !== true) return;
    const element = scroller.current as HTMLDivElement;
    element.scrollTop = view.top;
    element.scrollLeft = view.left;
  }, [scroller, view]);
  useLayoutEffect(() => {
    const element = scroller.current as HTMLDivElement;
    read();
    const sizes = new ResizeObserver(read);
    sizes.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, [scroller, read]);
  return { view, setView, read };
}

/** Scrolls another list to its first row, or to the one in the address. */
function useStart<Row>(
  scroller: { readonly current: HTMLDivElement | null },
  props: GridProps<Row>,
  read: () => void,
): void {
  const latest = useRef(props);
  latest.current = props;
  const { list } = props;
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    const { startRow, rowCount, control } = latest.current;
    const element = scroller.current;
    if (element === null || (isFirst.current && startRow === 0)) {
      isFirst.current = false;
      return;
    }
    isFirst.current = false;
    element.scrollTop = getScrollTop(Math.min(startRow, rowCount), { rowCount, view: element.clientHeight - HEADER });
    read();
    const { row, column } = control.state.focus;
    if (row >= 0) control.send({ kind: 'go', to: { row: startRow, column } });
  }, [scroller, list, read]);
}

interface Geometry {
  readonly edges: readonly number[];
  readonly pinnedColumns: number;
  readonly heights: { readonly rowCount: number; readonly view: number };
}

/**
 * Scrolls to the focused cell when the focus moves, but not when the list does. The rows there render at once: after
 * the scroll event each PageDown would render twice, with a layout and a focus each.
 */
function useReveal(
  { row, column }: CellPosition,
  setView: (change: (from: Viewport) => Viewport) => void,
  reveal: (from: Viewport) => Viewport,
): void {
  const [last, setLast] = useState<CellPosition>({ row, column });
  if (last.row === row && last.column === column) return;
  setLast({ row, column });
  setView(reveal);
}

/** Returns the scroll position at which the cell is visible. */
function scrollIntoView(
  from: Viewport,
  { row, column }: CellPosition,
  { edges, pinnedColumns, heights }: Geometry,
): Viewport {
  if (from.height === 0) return from;
  const top = row < 0 ? undefined : scrollToRow(row, from.top, heights);
  const left = scrollToColumn(column, from.left, { edges, pinned: pinnedColumns, view: from.width });
  if (top === undefined && left === undefined) return from;
  return { ...from, top: top ?? from.top, left: left ?? from.left, isWanted: true };
}

/** Moves the browser's focus with that of the state while the grid has it. */
function useFocus(scroller: { readonly current: HTMLDivElement | null }, control: GridControl): void {
  const hasFocus = useRef(false);
  const { state, takesFocus } = control;
  const take = useCallback(() => {
    const spot = scroller.current?.querySelector<HTMLElement>('[data-spot][tabindex="0"]');
    spot?.focus({ preventScroll: true });
  }, [scroller]);
  takesFocus.current = take;
  useEffect(() => {
    const element = scroller.current as HTMLDivElement;
    const into = () => {
      hasFocus.current = true;
    };
    // Removing the focused cell from the document is not leaving the grid.
    const out = ({ relatedTarget: to }: FocusEvent) => {
      if (to instanceof Node && !element.contains(to)) hasFocus.current = false;
    };
    const press = ({ target }: globalThis.PointerEvent) => {
      if (target instanceof Node && !element.contains(target)) hasFocus.current = false;
    };
    element.addEventListener('focusin', into);
    element.addEventListener('focusout', out);
    document.addEventListener('pointerdown', press, true);
    return () => {
      element.removeEventListener('focusin', into);
      element.removeEventListener('focusout', out);
      document.removeEventListener('pointerdown', press, true);
    };
  }, [scroller]);
  const wasEditing = useRef(false);
  useLayoutEffect(() => {
    const isEditing = state.editing !== undefined;
    const hasLeft =
      wasEditing.current && !isEditing && (document.activeElement === document.body || document.activeElement === null);
    wasEditing.current = isEditing;
    if (isEditing || !(hasFocus.current || hasLeft)) return;
    const active = document.activeElement;
    if (active instanceof HTMLElement && active.dataset.spot === `${state.focus.row}:${state.focus.column}`) return;
    // A control inside the focused cell keeps the focus.
    if (
      active instanceof HTMLElement &&
      active.closest('[data-spot][tabindex="0"]') !== null &&
      active.dataset.spot === undefined
    )
      return;
    take();
  });
}

/** Handles copy and paste, which the document receives wherever the focus is. */
function useClipboard<Row>(scroller: { readonly current: HTMLDivElement | null }, props: GridProps<Row>): void {
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const isOurs = (): boolean => {
      const active = document.activeElement;
      return (
        active !== null &&
        scroller.current?.contains(active) === true &&
        active.closest('input, textarea, select') === null &&
        (getSelection()?.isCollapsed ?? true)
      );
    };
    const copy = (event: ClipboardEvent) => {
      if (!isOurs() || event.clipboardData === null || latest.current.onCopy === undefined) return;
      event.preventDefault();
      latest.current.onCopy(event.clipboardData);
    };
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!isOurs() || text === undefined || latest.current.onPaste === undefined) return;
      event.preventDefault();
      latest.current.onPaste(text);
    };
    document.addEventListener('copy', copy);
    document.addEventListener('paste', paste);
    return () => {
      document.removeEventListener('copy', copy);
      document.removeEventListener('paste', paste);
    };
  }, [scroller]);
}

function findCell(target: EventTarget): CellPosition | undefined {
  const cell = target instanceof Element ? target.closest<HTMLElement>('[data-spot]') : null;
  const [row, column] = (cell?.dataset.spot ?? '').split(':').map(Number);
  return row === undefined || column === undefined ? undefined : { row, column };
}

const isControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, [role=listbox]') !== null;

function onKey<Row>(
  event: KeyboardEvent,
  { control, columns, isReadOnly, onCommand, onHead }: GridProps<Row>,
  scrollToStart: () => void,
): void {
  const { state } = control;
  if (state.editing !== undefined || isControl(event.target) || findCell(event.target) === undefined) return;
  const column = columns[state.focus.column];
  const meaning = interpretKey(event, state, !isReadOnly && column?.isEditable === true);
  // A link or a checkbox in a cell handles Enter and Space itself.
  if (meaning === undefined || (event.key === ' ' && event.target instanceof HTMLInputElement)) return;
  event.preventDefault();
  event.stopPropagation();
  if ('event' in meaning) {
    control.send(meaning.event);
    // The first column may be pinned: it is in sight while those after it are not.
    if (isMoveToStart(meaning.event)) scrollToStart();
  } else if (meaning.command === 'activateHeader' && column !== undefined && !column.isSelector)
    onHead(column, event.shiftKey);
  else onCommand(meaning.command, state.focus);
}

function onPointer<Row>(event: PointerEvent, { control }: GridProps<Row>): void {
  const spot = findCell(event.target);
  if (spot === undefined || event.button !== 0 || isControl(event.target)) return;
  if (event.shiftKey) event.preventDefault();
  const { editing } = control.state;
  if (editing?.at.row === spot.row && editing.at.column === spot.column) return;
  control.send({ kind: 'go', to: spot, extends: event.shiftKey && spot.row >= 0 });
}

function onContextMenu<Row>(event: MouseEvent, { control, columns, onMenu }: GridProps<Row>): void {
  const spot = findCell(event.target);
  const { state, range } = control;
  // The menu of the browser has its own commands for text that is edited, and for links with Shift.
  if (spot === undefined || onMenu === undefined || isControl(event.target) || event.shiftKey) return;
  if (state.editing !== undefined || columns[spot.column]?.isSelector === true) return;
  event.preventDefault();
  const isInRange =
    spot.row >= range.top && spot.row <= range.bottom && spot.column >= range.left && spot.column <= range.right;
  if (!isInRange) control.send({ kind: 'go', to: spot });
  const cell = (event.target as Element).closest('[data-spot]')?.getBoundingClientRect();
  const isByKey = event.clientX === 0 && event.clientY === 0;
  onMenu(spot, {
    left: isByKey || event.button !== 2 ? (cell?.left ?? 0) : event.clientX,
    top: isByKey || event.button !== 2 ? (cell?.bottom ?? 0) : event.clientY,
  });
}

function onDrag<Row>(event: PointerEvent, { control }: GridProps<Row>): void {
  if (event.buttons !== 1 || event.pointerType === 'touch' || control.state.editing !== undefined) return;
  const spot = findCell(event.target);
  if (spot === undefined || spot.row < 0 || control.state.focus.row < 0) return;
  if (spot.row === control.state.focus.row && spot.column === control.state.focus.column) return;
  getSelection()?.removeAllRanges();
  control.send({ kind: 'go', to: spot, extends: true });
}
