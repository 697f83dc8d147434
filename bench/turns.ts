// Two sides of one comparison: they take turns, so that whatever else the machine does meets both, and the medians of
// their single times are compared.

/** Does the work once; resolves when it is done, and throws when it is refused. */
export type Ask = (turn: number) => Promise<unknown>;

/** Sides of a comparison: this server's, and the one it is held against. */
export type Sides = { readonly ours: Ask; readonly byHand: Ask };

/** A line of the table. */
export type Row = {
  readonly work: string;
  /** With their unit. */
  readonly ours: string;
  readonly byHand: string;
  /** How many times as fast as the other side ours is. */
  readonly ratio: number;
  readonly goal: string;
  /** Undefined where the goal is for another size of the data set. */
  readonly met: boolean | undefined;
};

/**
 * Medians of the milliseconds that each side took. The first `warmUps` turns do not count; `before` runs untimed ahead of
 * each single piece of work.
 */
export async function takeTurns(
  { ours, byHand }: Sides,
  turns: number,
  warmUps = 3,
  before: () => Promise<void> = async () => {},
): Promise<{ readonly ours: number; readonly byHand: number }> {
  const [mine, theirs]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < warmUps + turns; turn++) {
    const sides: (readonly [Ask, number[]])[] = [
      [ours, mine],
      [byHand, theirs],
    ];
    for (const [ask, times] of turn % 2 === 0 ? sides : sides.reverse()) {
      await before();
      const began = performance.now();
      await ask(turn);
      if (turn >= warmUps) times.push(performance.now() - began);
    }
  }
  return { ours: median(mine), byHand: median(theirs) };
}

/** A row of two times, in milliseconds; the goal is how many times as fast ours is, at least. */
export function rowOfTimes(work: string, times: { readonly ours: number; readonly byHand: number }, goal: number): Row {
  const ratio = times.byHand / times.ours;
  return {
    work,
    ours: milliseconds(times.ours),
    byHand: milliseconds(times.byHand),
    ratio,
    goal: `${goal}`,
    met: ratio >= goal,
  };
}

export function milliseconds(time: number): string {
  return `${time.toFixed(time < 10 ? 2 : 1)} ms`;
}

/** In Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['| Work | ours | by hand | times as fast | goal | met |', '|---|--:|--:|--:|--:|---|'];
  const lines = rows.map(({ work, ours, byHand, ratio, goal, met }) =>
    ['', work, ours, byHand, ratio.toFixed(2), goal, met === undefined ? '' : met ? 'yes' : 'no', '']
      .join(' | ')
      .trim(),
  );
  return [...head, ...lines].join('\n');
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
