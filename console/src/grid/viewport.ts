// Visible rows and columns by scroll position. All rows have one height, so this is arithmetic. Positions are CSS pixels.
// By hand, as TanStack Virtual has no scaling: it cannot scroll a list that is taller than the tallest element of a browser.

export const ROW_HEIGHT = 33;

// Height limit of the scrolled element: browsers draw none taller than some 17.9 million px (Firefox) or 33.5
// (Chromium).
const TALLEST = 500_000 * ROW_HEIGHT;

/** First visible row, and the end (exclusive). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Heights {
  readonly rowCount: number;
  /** Height of the visible rows, without the header. */
  readonly view: number;
}

/** Returns the height of the scrolled element: that of all rows, or the limit. */
export const getScrollHeight = ({ rowCount }: Pick<Heights, 'rowCount'>): number =>
  Math.min(rowCount * ROW_HEIGHT, TALLEST);

/** Returns the pixels of rows per pixel of the scroll bar: more than 1 for lists above the limit. */
function getScale({ rowCount, view }: Heights): number {
  const full = rowCount * ROW_HEIGHT;
  return full <= TALLEST ? 1 : (full - view) / (TALLEST - view);
}

/** Returns the offset of the first visible pixel within all rows. */
export const getOffset = (scrollTop: number, heights: Heights): number => scrollTop * getScale(heights);

/** Returns the rows at an offset, and `beyond` more on either side. */
export function getVisibleRows(offset: number, { rowCount, view }: Heights, beyond: number): Span {
  const first = Math.floor(offset / ROW_HEIGHT) - beyond;
  const last = Math.ceil((offset + view) / ROW_HEIGHT) + beyond;
  return { from: Math.min(Math.max(0, first), rowCount), to: Math.min(Math.max(0, last), rowCount) };
}

/** Returns the number of reused row elements: a row takes the element with its number modulo this. */
export const getPoolSize = (view: number, beyond: number): number => Math.ceil(view / ROW_HEIGHT) + 1 + 2 * beyond;

/** Returns the scroll position with a row at the top. */
export const getScrollTop = (row: number, heights: Heights): number => (row * ROW_HEIGHT) / getScale(heights);

/** Returns the scroll position with the whole row in view, or undefined if it is. */
export function scrollToRow(row: number, scrollTop: number, heights: Heights): number | undefined {
  const offset = getOffset(scrollTop, heights);
  const top = row * ROW_HEIGHT;
  if (top < offset) return top / getScale(heights);
  if (top + ROW_HEIGHT > offset + heights.view) return (top + ROW_HEIGHT - heights.view) / getScale(heights);
  return undefined;
}

/** Returns the left edge of each column, and the total width at the end. */
export function getColumnEdges(widths: readonly number[]): readonly number[] {
  const edges = [0];
  for (const width of widths) edges.push((edges.at(-1) as number) + width);
  return edges;
}

/** Returns the columns that overlap a range of pixels. */
export function getVisibleColumns(edges: readonly number[], from: number, to: number): Span {
  const count = edges.length - 1;
  let first = 0;
  while (first < count - 1 && (edges[first + 1] as number) <= from) first++;
  let last = first;
  while (last < count && (edges[last] as number) < to) last++;
  return { from: Math.min(first, count), to: last };
}

export interface Widths {
  readonly edges: readonly number[];
  /** Number of pinned columns. */
  readonly pinned: number;
  readonly view: number;
}

/** Returns the scroll position with the whole column in view, or undefined if it is, as pinned ones are. */
export function scrollToColumn(
  column: number,
  scrollLeft: number,
  { edges, pinned, view }: Widths,
): number | undefined {
  if (column < pinned) return undefined;
  const pinnedWidth = edges[pinned] as number;
  const start = edges[column] as number;
  const end = edges[column + 1] as number;
  if (start < scrollLeft + pinnedWidth) return start - pinnedWidth;
  if (end > scrollLeft + view) return Math.min(end - view, start - pinnedWidth);
  return undefined;
}
