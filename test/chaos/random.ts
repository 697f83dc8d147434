// Chance that a seed repeats: the same seed draws the same numbers, on every machine.

export interface Random {
  /** At least 0, less than 1. */
  next(): number;
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number;
  pick<T>(values: readonly T[]): T;
}

/** mulberry32: 32 bits of state are enough for a run, and the sequence is easily written down. */
export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (values) => values[Math.floor(next() * values.length)] as (typeof values)[number],
  };
}
