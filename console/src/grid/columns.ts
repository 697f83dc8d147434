// Column layout of a list: visible columns, order, widths and pins. Unknown names are ignored when read. By hand, as
// TanStack Table keeps visibility and order apart, while both are one list here: `fields` of the address bar.

export interface ColumnLayout {
  /** Visible columns in order, or undefined for all of them. */
  readonly visible: readonly string[] | undefined;
  readonly pinned: readonly string[];
  readonly widths: ReadonlyMap<string, number>;
}

/** Default: all columns, with the id pinned, so that at the right end a cell still shows which record it belongs to. */
export const DEFAULT_LAYOUT: ColumnLayout = { visible: undefined, pinned: ['id'], widths: new Map() };

const NARROWEST = 56;
const WIDEST = 900;

/** Returns the visible columns in order: pinned ones first, each group in the order of `visible`. */
export function orderColumns({ visible, pinned }: ColumnLayout, all: readonly string[]): readonly string[] {
  const existing = new Set(all);
  const matches = visible?.filter((name) => existing.has(name)) ?? [];
  // A saved view may name columns alone that are gone.
  const names = matches.length === 0 ? all : matches;
  const pinnedNames = new Set(pinned);
  return [...names.filter((name) => pinnedNames.has(name)), ...names.filter((name) => !pinnedNames.has(name))];
}

export const countPinned = ({ pinned }: ColumnLayout, names: readonly string[]): number =>
  names.filter((name) => pinned.includes(name)).length;

/** Shows a column, or hides it; the last one stays. */
export function setVisible(layout: ColumnLayout, all: readonly string[], name: string, isShown: boolean): ColumnLayout {
  const visibleNow = layout.visible ?? all;
  if (visibleNow.includes(name) === isShown) return layout;
  const names = isShown
    ? insertInOrder([...visibleNow, name], layout.visible === undefined ? all : visibleNow, all)
    : visibleNow.filter((one) => one !== name);
  return names.length === 0 ? layout : { ...layout, visible: isDefaultOrder(names, all) ? undefined : names };
}

/** Inserts a column after the one that it follows in `all` if the others have the order of `all`, else at the end. */
function insertInOrder(names: readonly string[], before: readonly string[], all: readonly string[]): readonly string[] {
  const order = new Map(all.map((name, index) => [name, index]));
  const isSorted = before.every((name, index) => index === 0 || rank(order, before[index - 1]) < rank(order, name));
  return isSorted ? [...names].sort((one, other) => rank(order, one) - rank(order, other)) : names;
}

const rank = (order: ReadonlyMap<string, number>, name: string | undefined): number =>
  (name === undefined ? undefined : order.get(name)) ?? Number.POSITIVE_INFINITY;

const isDefaultOrder = (names: readonly string[], all: readonly string[]): boolean =>
  names.length === all.length && names.every((name, index) => name === all[index]);

/** Moves a column to the left (-1) or right (1), within the pinned or the other columns. */
export function moveColumn(layout: ColumnLayout, all: readonly string[], name: string, by: -1 | 1): ColumnLayout {
  const names = [...orderColumns(layout, all)];
  const from = names.indexOf(name);
  const other = names[from + by];
  if (from < 0 || other === undefined || layout.pinned.includes(other) !== layout.pinned.includes(name)) return layout;
  names[from] = other;
  names[from + by] = name;
  return { ...layout, visible: isDefaultOrder(names, all) ? undefined : names };
}

export const setPinned = (layout: ColumnLayout, name: string, isPinned: boolean): ColumnLayout => ({
  ...layout,
  pinned: isPinned
    ? [...layout.pinned.filter((one) => one !== name), name]
    : layout.pinned.filter((one) => one !== name),
});

export const setWidth = (layout: ColumnLayout, name: string, width: number): ColumnLayout => ({
  ...layout,
  widths: new Map(layout.widths).set(name, Math.round(Math.max(NARROWEST, Math.min(width, WIDEST)))),
});

/** Serializes a layout as JSON. */
export const printLayout = ({ visible, pinned, widths }: ColumnLayout): string =>
  JSON.stringify({ visible, pinned, widths: [...widths] });

/** Parses a layout; returns the default one for other text. */
export function parseLayout(text: string | null): ColumnLayout {
  try {
    const { visible, pinned, widths } = JSON.parse(text ?? '') as Record<string, unknown>;
    return {
      visible: isNames(visible) && visible.length > 0 ? visible : undefined,
      pinned: isNames(pinned) ? pinned : DEFAULT_LAYOUT.pinned,
      widths: new Map(Array.isArray(widths) ? widths.filter(isWidth) : []),
    };
  } catch {
    return DEFAULT_LAYOUT;
  }
}

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isWidth = (value: unknown): value is [string, number] =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && Number.isFinite(value[1]);
