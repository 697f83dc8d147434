// Input of a grid: what keys, pointer and clipboard do in a cell or a heading. state.ts interprets keys.
import { type KeyboardEvent, type MouseEvent, type PointerEvent, useEffect, useRef } from 'react';
import type { GridProps } from './grid-types.ts';
import { type CellPosition, interpretKey, isMoveToStart } from './state.ts';

function findCell(target: EventTarget): CellPosition | undefined {
  const cell = target instanceof Element ? target.closest<HTMLElement>('[data-spot]') : null;
  const [row, column] = (cell?.dataset.spot ?? '').split(':').map(Number);
  return row === undefined || column === undefined ? undefined : { row, column };
}

const isControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, [role=listbox]') !== null;

export function onKey<Row>(
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

export function onPointer<Row>(event: PointerEvent, { control }: GridProps<Row>): void {
  const spot = findCell(event.target);
  if (spot === undefined || event.button !== 0 || isControl(event.target)) return;
  if (event.shiftKey) event.preventDefault();
  const { editing } = control.state;
  if (editing?.at.row === spot.row && editing.at.column === spot.column) return;
  control.send({ kind: 'go', to: spot, extends: event.shiftKey && spot.row >= 0 });
}

export function onContextMenu<Row>(event: MouseEvent, { control, columns, onMenu }: GridProps<Row>): void {
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

export function onDrag<Row>(event: PointerEvent, { control }: GridProps<Row>): void {
  if (event.buttons !== 1 || event.pointerType === 'touch' || control.state.editing !== undefined) return;
  const spot = findCell(event.target);
  if (spot === undefined || spot.row < 0 || control.state.focus.row < 0) return;
  if (spot.row === control.state.focus.row && spot.column === control.state.focus.column) return;
  getSelection()?.removeAllRanges();
  control.send({ kind: 'go', to: spot, extends: true });
}

export function onDoubleClick<Row>(event: MouseEvent, { control, columns, isReadOnly }: GridProps<Row>): void {
  const spot = findCell(event.target);
  if (spot !== undefined && spot.row >= 0 && columns[spot.column]?.isEditable === true && !isReadOnly)
    control.send({ kind: 'edit' });
}

export function onClick<Row>(event: MouseEvent, { columns, onHead }: GridProps<Row>): void {
  const spot = findCell(event.target);
  const column = spot?.row === -1 ? columns[spot.column] : undefined;
  if (column !== undefined && !column.isSelector) onHead(column, event.shiftKey);
}

/** Handles copy and paste, which the document receives wherever the focus is. */
export function useClipboard<Row>(scroller: { readonly current: HTMLDivElement | null }, props: GridProps<Row>): void {
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
