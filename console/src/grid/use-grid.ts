// Hook with the state of a grid and the number of its rows and columns.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type Extent, type GridEvent, type GridState, getRange, type Range, reduce, START } from './state.ts';

export interface GridControl {
  readonly state: GridState;
  readonly range: Range;
  /** Applies an event and returns the next state. */
  readonly send: (event: GridEvent) => GridState;
  /** Sets the number of visible rows, for PageUp and PageDown. */
  readonly setPageRows: (rows: number) => void;
  readonly focusGrid: () => void;
  /** Slot for the grid's function that takes the focus. */
  readonly takesFocus: { current: (() => void) | undefined };
}

export function useGrid(shape: Pick<Extent, 'rowCount' | 'columnCount'>): GridControl {
  const [stored, setState] = useState<GridState>(START);
  const pageRows = useRef(10);
  const takesFocus = useRef<(() => void) | undefined>(undefined);
  const extent = useRef<Extent>({ ...shape, pageRows: 10 });
  extent.current = { ...shape, pageRows: pageRows.current };
  const state = reduce(stored, { kind: 'shape' }, extent.current);
  const current = useRef(state);
  current.current = state;
  const send = useCallback((event: GridEvent): GridState => {
    const next = reduce(current.current, event, { ...extent.current, pageRows: pageRows.current });
    current.current = next;
    setState(next);
    return next;
  }, []);
  const setPageRows = useCallback((rows: number) => {
    pageRows.current = Math.max(1, rows);
  }, []);
  const focusGrid = useCallback(() => takesFocus.current?.(), []);
  return useMemo(
    () => ({ state, range: getRange(state), send, setPageRows, focusGrid, takesFocus }),
    [state, send, setPageRows, focusGrid],
  );
}

/** Returns the focus to the grid when a dialog over it closes. */
export function useFocusBack(isOpen: boolean, { focusGrid }: GridControl): void {
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    const hasClosed = wasOpen.current && !isOpen;
    wasOpen.current = isOpen;
    if (!hasClosed) return;
    const timer = setTimeout(focusGrid);
    return () => clearTimeout(timer);
  }, [isOpen, focusGrid]);
}
