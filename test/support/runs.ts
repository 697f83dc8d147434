// How much tests of random requests draw. The seed is the same each time, so that a failure is one of the change that is
// tested. TEST_SEED=7 tries another one, and TEST_RUNS=10 draws ten times as much.
const SEED = Number(process.env.TEST_SEED ?? 20_261);
const TIMES = Number(process.env.TEST_RUNS ?? 1);

/** Parameters of fast-check for `runs` draws. */
export const draws = (runs: number): { readonly numRuns: number; readonly seed: number } => ({
  numRuns: Math.ceil(runs * TIMES),
  seed: SEED,
});
