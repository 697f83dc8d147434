import type { Shortcut } from '../../shell/shortcuts.ts';

const EDITING: readonly Shortcut[] = [
  { keys: 'Enter', description: 'Edit the cell; while editing: save and go down' },
  { keys: 'F2', description: 'Edit the cell' },
  { keys: 'Any character', description: 'Replace the value' },
  { keys: 'Tab', description: 'While editing: save and go on' },
  { keys: 'Esc', description: 'Restore the old value; deselect' },
  { keys: 'Delete', description: 'Set the cells to NULL' },
  { keys: 'Ctrl+V', description: 'Paste from here on' },
  { keys: 'Ctrl+D', description: 'Fill down' },
  { keys: 'Ctrl+Z', description: 'Undo' },
  { keys: 'Ctrl+Shift+Z', description: 'Redo' },
  { keys: 'Ctrl+S', description: 'Save what is queued' },
  { keys: 'Space', description: 'Select the record' },
  { keys: 'Shift+Enter', description: 'New record' },
];

const READING: readonly Shortcut[] = [
  { keys: 'Shift+Arrows', description: 'Select cells' },
  { keys: 'Ctrl+A', description: 'Select all cells' },
  { keys: 'Ctrl+C', description: 'Copy the cells' },
  { keys: 'Ctrl+Enter', description: 'Open the record over the grid' },
  { keys: 'Alt+PageDown', description: 'Next record, while one is open; Alt+PageUp the previous one' },
  { keys: 'Home', description: 'Go to the first column' },
  { keys: 'End', description: 'Go to the last column' },
  { keys: 'Ctrl+Home', description: 'Go to the first record' },
  { keys: 'Ctrl+End', description: 'Go to the last record' },
  { keys: 'Ctrl+Shift+F', description: 'Filter' },
  { keys: 'Shift+F10', description: 'Menu of the cell, the record or the column' },
];

/** Keyboard shortcuts of the grid while no cell is edited, where it does not say otherwise. */
export const KEYS: readonly Shortcut[] = [...EDITING, ...READING];

/** Shortcuts for those who may only read. */
export const READING_KEYS: readonly Shortcut[] = [{ keys: 'Enter', description: 'Open the record' }, ...READING];
