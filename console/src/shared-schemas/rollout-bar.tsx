// A rollout as a bar by wave: each wave is as wide as it has workspaces, and has the colours of their states.
import { Progress } from '@mantine/core';
import type { Rollout } from '../api/types.ts';
import classes from './rollout.module.css';
import { type Counts, countAll, countEnded, WORKSPACE_COLORS, WORKSPACE_STATES } from './states.ts';

export interface RolloutBarProps {
  readonly rollout: Rollout;
  readonly label: string;
  readonly size: 'sm' | 'xl';
}

export function RolloutBar({ rollout: { counts, waves }, label, size }: RolloutBarProps) {
  const [ended, all] = [countEnded(counts), countAll(counts)];
  return (
    <div
      className={classes.bar}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={all}
      aria-valuenow={ended}
      aria-valuetext={`${ended} of ${all} workspaces`}
    >
      {waves.map((wave, index) => (
        <WaveBar key={index} wave={wave} count={waves.length} size={size} />
      ))}
    </div>
  );
}

// The shade of filled gray is nearly black, which would look like a mistake.
const QUIET_COLOR = 'gray.5';

interface WaveBarProps {
  readonly wave: Counts;
  /** Number of waves: one workspace among thousands stays visible, and a hundred waves fit. */
  readonly count: number;
  readonly size: RolloutBarProps['size'];
}

function WaveBar({ wave, count, size }: WaveBarProps) {
  const all = countAll(wave);
  return (
    <Progress.Root
      size={size}
      className={classes.wave}
      style={{ flexGrow: Math.max(all, 1), minWidth: `min(10px, ${50 / count}%)` }}
    >
      {WORKSPACE_STATES.filter((state) => state !== 'waiting' && wave[state] > 0).map((state) => (
        <Progress.Section
          key={state}
          value={(wave[state] / all) * 100}
          color={state === 'unchanged' || state === 'skipped' ? QUIET_COLOR : WORKSPACE_COLORS[state]}
          withAria={false}
        />
      ))}
    </Progress.Root>
  );
}
