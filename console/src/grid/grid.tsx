// Grid after the pattern of the WAI-ARIA authoring practices, for lists of any length: only visible rows and columns
// and the focused cell are in the document. grid-input.ts handles keys and the pointer, use-scroll.ts scrolls.
import './grid.css';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { GridHeader } from './grid-header.tsx';
import { onClick, onContextMenu, onDoubleClick, onDrag, onKey, onPointer, useClipboard } from './grid-input.ts';
import { GridRow } from './grid-row.tsx';
import type { GridProps } from './grid-types.ts';
import { countCells } from './state.ts';
import type { GridControl } from './use-grid.ts';
import { scrollIntoView, useReveal, useStart, useView } from './use-scroll.ts';
import {
  getColumnEdges,
  getOffset,
  getPoolSize,
  getScrollHeight,
  getVisibleColumns,
  getVisibleRows,
  ROW_HEIGHT,
} from './viewport.ts';

const OVERSCAN = 6;

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
      onDoubleClick={(event) => onDoubleClick(event, props)}
      onContextMenu={(event) => onContextMenu(event, props)}
      onClick={(event) => onClick(event, props)}
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
