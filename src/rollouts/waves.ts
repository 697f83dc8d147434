// The arithmetic of a rollout: how many workspaces each wave has, and how many may fail.

/** A number of workspaces, or a percentage of all of them: `"5%"`. */
export type Share = number | `${number}%`;

/** Sizes of the waves in turn. `"rest"` is last and may be left out. */
export type Waves = readonly (Share | 'rest')[];

export const DEFAULT_WAVES: Waves = [1, 10, 'rest'];

/** Returns the number of workspaces of a share, rounded up. Percentages are integers, so nothing is lost by a fraction. */
export function countShare(share: Share, total: number): number {
  return typeof share === 'number' ? share : Math.ceil((Number.parseInt(share, 10) * total) / 100);
}

/**
 * Returns after how many workspaces each wave ends; no wave is empty, and the last one has what is left. `total`: all
 * workspaces of the rollout, which percentages are about. `changing`: those that are not at its version yet, which fill the
 * waves. There is one wave at least.
 */
export function planWaves(waves: Waves, total: number, changing: number): readonly number[] {
  const ends: number[] = [];
  let end = 0;
  for (const wave of waves) {
    if (end >= changing) break;
    end = wave === 'rest' ? changing : Math.min(changing, end + countShare(wave, total));
    ends.push(end);
  }
  if (end < changing || ends.length === 0) ends.push(changing);
  return ends;
}
