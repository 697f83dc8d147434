// Tab-separated text, as spreadsheets copy and paste it: a cell with tabs, line breaks or quotes is quoted, and its quotes are
// doubled. An empty cell is no value; `""` is the empty text. By hand, as csv-parse rejects a quote that is never closed.

export interface TsvCell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Prints rows; null is an empty cell. */
export const writeTsv = (rows: readonly (readonly (string | null)[])[]): string =>
  rows.map((row) => row.map(writeCell).join('\t')).join('\n');

const writeCell = (text: string | null): string =>
  text === null ? '' : text === '' || /[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** Parses rows, which may differ in length; the final line break of spreadsheets adds no row. */
export function readTsv(text: string): readonly (readonly TsvCell[])[] {
  const rows: TsvCell[][] = [];
  let row: TsvCell[] = [];
  let at = 0;
  while (at < text.length || row.length > 0) {
    const { cell, end } = text[at] === '"' ? readQuoted(text, at) : readPlain(text, at);
    row.push(cell);
    at = end + 1;
    if (text[end] === '\t') continue;
    rows.push(row);
    row = [];
    if (text[end] === '\r' && text[at] === '\n') at++;
  }
  return rows;
}

interface Read {
  readonly cell: TsvCell;
  /** Position of the separator or of the end of the text. */
  readonly end: number;
}

function readPlain(text: string, from: number): Read {
  let end = from;
  while (end < text.length && !'\t\r\n'.includes(text[end] as string)) end++;
  return { cell: { text: text.slice(from, end), isQuoted: false }, end };
}

/** Reads a quoted cell; it is a plain one if its quote never ends or text follows it. */
function readQuoted(text: string, from: number): Read {
  let inside = '';
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return readPlain(text, from);
    inside += text.slice(at, quote);
    at = quote + 1;
    if (text[at] !== '"') break;
    inside += '"';
    at++;
  }
  if (at < text.length && !'\t\r\n'.includes(text[at] as string)) return readPlain(text, from);
  return { cell: { text: inside, isQuoted: true }, end: at };
}
