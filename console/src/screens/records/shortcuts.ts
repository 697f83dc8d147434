import type { Shortcut } from '../../shell/shortcuts.tsx';

/** Keyboard shortcuts of the grid. */
export const KEYS: readonly Shortcut[] = [
  { keys: 'Enter', description: 'Edit the cell, or save it and go down' },
  { keys: 'F2', description: 'Edit the cell' },
  { keys: 'Tab', description: 'While editing: save and go on' },
  { keys: 'Esc', description: 'Restore the cell; deselect' },
  { keys: 'Delete', description: 'Make the cells NULL' },
  { keys: 'Space', description: 'Select the record' },
  { keys: 'Shift+Arrows', description: 'Select cells' },
  { keys: 'Ctrl+A', description: 'Select all cells' },
  { keys: 'Ctrl+C', description: 'Copy the cells' },
  { keys: 'Ctrl+V', description: 'Paste from here on' },
  { keys: 'Ctrl+D', description: 'Fill down' },
  { keys: 'Ctrl+Z', description: 'Undo' },
  { keys: 'Ctrl+Shift+Z', description: 'Redo' },
  { keys: 'Ctrl+S', description: 'Save what is queued' },
  { keys: 'Ctrl+Enter', description: 'Open the record' },
  { keys: 'Ctrl+End', description: 'Go to the last record' },
  { keys: '/', description: 'Filter, from a cell that is not edited' },
  { keys: 'N', description: 'New record, from a cell that is not edited' },
];
