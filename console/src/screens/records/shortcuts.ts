import type { KeyLine } from '../../shell/shortcuts.tsx';

/** The keys of the grid. */
export const KEYS: readonly KeyLine[] = [
  { keys: 'Enter', does: 'Edit the cell, or save it and go down' },
  { keys: 'F2', does: 'Edit the cell' },
  { keys: 'Tab', does: 'While editing: save and go on' },
  { keys: 'Esc', does: 'Restore the cell; deselect' },
  { keys: 'Delete', does: 'Make the cells NULL' },
  { keys: 'Space', does: 'Select the record' },
  { keys: 'Shift+Arrows', does: 'Select cells' },
  { keys: 'Ctrl+A', does: 'Select all cells' },
  { keys: 'Ctrl+C', does: 'Copy the cells' },
  { keys: 'Ctrl+V', does: 'Paste from here on' },
  { keys: 'Ctrl+D', does: 'Fill down' },
  { keys: 'Ctrl+Z', does: 'Undo' },
  { keys: 'Ctrl+Shift+Z', does: 'Redo' },
  { keys: 'Ctrl+S', does: 'Save what is queued' },
  { keys: 'Ctrl+Enter', does: 'Open the record' },
  { keys: 'Ctrl+End', does: 'Go to the last record' },
  { keys: '/', does: 'Filter, from a cell that is not edited' },
  { keys: 'N', does: 'New record, from a cell that is not edited' },
];
