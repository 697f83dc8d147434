// Scroll position of a grid: follows the element, the list and the focused cell. viewport.ts computes positions.
import { useCallback, useLayoutEffect, useRef, useState } from 'react';
import type { GridProps } from './grid-types.ts';
import type { CellPosition } from './state.ts';
import { getScrollTop, scrollToColumn, scrollToRow } from './viewport.ts';

const HEADER = 34;

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
export function useView(scroller: { readonly current: HTMLDivElement | null }) {
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
export function useStart<Row>(
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
export function useReveal(
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
export function scrollIntoView(
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
