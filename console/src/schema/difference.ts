// Difference of two texts by line, as in `diff -u` (the greedy algorithm of E. Myers, 1986). By hand, as that of
// CodeMirror would load the editor with every plan.

export interface Line {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  /** Line number from 1, if the line is in that text. */
  readonly before?: number;
  readonly after?: number;
}

/** Adjacent lines of a diff; unchanged ones between two hunks are left out. */
export type Hunk = readonly Line[];

// Limit above which the texts have little in common, and all of the middle counts as changed: the work grows with the
// square.
const MAX_EDITS = 800;

/** Returns the hunks with `context` unchanged lines around each change. */
export function diffLines(before: string, after: string, context = 3): readonly Hunk[] {
  return toHunks(toLines(split(before), split(after)), context);
}

const split = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');

function toLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let tail = 0;
  while (
    tail < before.length - start &&
    tail < after.length - start &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail += 1;
  const kinds = findEdits(before.slice(start, before.length - tail), after.slice(start, after.length - tail));
  const all: Line['kind'][] = [...same(start), ...kinds, ...same(tail)];
  let [old, now] = [0, 0];
  return all.map((kind): Line => {
    if (kind === 'removed') return { kind, text: before[old++] as string, before: old };
    if (kind === 'added') return { kind, text: after[now++] as string, after: now };
    return { kind, text: before[old++] as string, before: old, after: ++now };
  });
}

const same = (length: number): Line['kind'][] => new Array<Line['kind']>(length).fill('same');

/** Finds the shortest edit script: `trail[d]` is how far each diagonal reaches with d edits. */
function findEdits(before: readonly string[], after: readonly string[]): readonly Line['kind'][] {
  const [rows, columns] = [before.length, after.length];
  const trail: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(rows + columns, MAX_EDITS); edits += 1) {
    const next = new Map(reach);
    trail.push(reach);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isDown(reach, diagonal, edits) ? (reach.get(diagonal + 1) ?? 0) : (reach.get(diagonal - 1) ?? 0) + 1;
      while (x < rows && x - diagonal < columns && before[x] === after[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= rows && x - diagonal >= columns) return traceBack(trail, rows, columns);
    }
    reach = next;
  }
  return [...before.map(() => 'removed' as const), ...after.map(() => 'added' as const)];
}

const isDown = (reach: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean =>
  diagonal === -edits || (diagonal !== edits && (reach.get(diagonal - 1) ?? -1) < (reach.get(diagonal + 1) ?? -1));

function traceBack(
  trail: readonly ReadonlyMap<number, number>[],
  rows: number,
  columns: number,
): readonly Line['kind'][] {
  const kinds: Line['kind'][] = [];
  let [x, y] = [rows, columns];
  for (let edits = trail.length - 1; edits >= 0; edits -= 1) {
    const reach = trail[edits] as ReadonlyMap<number, number>;
    const from = isDown(reach, x - y, edits) ? x - y + 1 : x - y - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    for (; x > fromX && y > fromY; x -= 1, y -= 1) kinds.push('same');
    if (edits > 0) kinds.push(x === fromX ? 'added' : 'removed');
    [x, y] = [fromX, fromY];
  }
  return kinds.reverse();
}

function toHunks(lines: readonly Line[], context: number): readonly Hunk[] {
  const hunks: Line[][] = [];
  let end = -1;
  lines.forEach((line, index) => {
    if (line.kind === 'same') return;
    const from = Math.max(index - context, end);
    const to = Math.min(index + context + 1, lines.length);
    if (end < 0 || from > end || hunks.length === 0) hunks.push(lines.slice(Math.max(index - context, 0), to));
    else hunks.at(-1)?.push(...lines.slice(end, to));
    end = to;
  });
  return hunks;
}
