// Visible rows and columns by scroll position. All rows have one height, so this is arithmetic. Positions are CSS pixels.
// By hand, as TanStack Virtual has no scaling: it cannot scroll a list that is taller than the tallest element of a browser.

export const ROW_HEIGHT = 33;

// Browsers draw no element taller than some 17.9 million px (Firefox) or 33.5 (Chromium). Half a million rows stay below.
const TALLEST = 500_000 * ROW_HEIGHT;

/** The first row that is seen and the one behind the last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Heights {
  readonly rowCount: number;
  /** Height of the visible rows, without the header. */
  readonly view: number;
}

/** How tall the scrolled element is: as tall as its rows, or as browsers can. */
export const getScrollHeight = ({ rowCount }: Pick<Heights, 'rowCount'>): number =>
  Math.min(rowCount * ROW_HEIGHT, TALLEST);

/** Pixels of rows for a pixel of the scroll bar: 1, or more for lists taller than browsers can. */
function getScale({ rowCount, view }: Heights): number {
  const full = rowCount * ROW_HEIGHT;
  return full <= TALLEST ? 1 : (full - view) / (TALLEST - view);
}

/** Where the first pixel that is seen lies in all rows. */
export const getOffset = (scrollTop: number, heights: Heights): number => scrollTop * getScale(heights);

/** The rows at an offset, and `beyond` more on either side. */
export function getVisibleRows(offset: number, { rowCount, view }: Heights, beyond: number): Span {
  const first = Math.floor(offset / ROW_HEIGHT) - beyond;
  const last = Math.ceil((offset + view) / ROW_HEIGHT) + beyond;
  return { from: Math.min(Math.max(0, first), rowCount), to: Math.min(Math.max(0, last), rowCount) };
}

/** How many rows are ever drawn at once: a row is drawn where the one with the same number modulo this was. */
export const getPoolSize = (view: number, beyond: number): number => Math.ceil(view / ROW_HEIGHT) + 1 + 2 * beyond;

/** Where to scroll so that a row is the first that is seen. */
export const getScrollTop = (row: number, heights: Heights): number => (row * ROW_HEIGHT) / getScale(heights);

/** Where to scroll so that a row is seen whole; undefined when it is. */
export function scrollToRow(row: number, scrollTop: number, heights: Heights): number | undefined {
  const offset = getOffset(scrollTop, heights);
  const top = row * ROW_HEIGHT;
  if (top < offset) return top / getScale(heights);
  if (top + ROW_HEIGHT > offset + heights.view) return (top + ROW_HEIGHT - heights.view) / getScale(heights);
  return undefined;
}

/** Where each column begins; one number more than columns, the last their width together. */
export function getColumnEdges(widths: readonly number[]): readonly number[] {
  const edges = [0];
  for (const width of widths) edges.push((edges.at(-1) as number) + width);
  return edges;
}

/** The columns between two places: those whose edges overlap. */
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
  /** How many columns stay where they are, and how wide they are together. */
  readonly pinned: number;
  readonly view: number;
}

/** Where to scroll so that a column is seen whole; undefined when it is, as pinned ones are. */
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
