// Formats tables and single lines for a terminal. Escapes control characters of servers and files, so that no record can move
// the cursor or colour the screen.
import Table from 'cli-table3';
import { numberText } from '../model/exact-json.ts';

/** Value of a response; numbers may be raw JSON (see model/exact-json.ts). */
export type Cell = unknown;

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
} as const;

/** Formats a table without rules, columns two spaces apart; a missing value is a dash. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  rightAligned: readonly string[] = [],
): string {
  const table = new Table({
    head: [...head],
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: head.map((title) => (rightAligned.includes(title) ? 'right' : 'left')),
  });
  for (const row of rows) table.push(row.map(cellText));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Formats names and values, one pair a line. */
export function renderPairs(pairs: readonly (readonly [string, Cell])[]): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join('\n');
}

/** Escapes control characters (C0, C1, line separators, bidirectional overrides) visibly. */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Formats 1234567 as `1,234,567`, whatever the locale. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a count with its noun, such as `1 record` or `1,200 records`. */
export const formatQuantity = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return printable(numberText(cell) ?? String(cell));
}

// Tables and lines are for reading; --json has complete values.
const MAX_CELL_CHARACTERS = 60;

/** Cuts a long text. */
export function shorten(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_CELL_CHARACTERS ? text : `${characters.slice(0, MAX_CELL_CHARACTERS - 1).join('')}…`;
}
