// Progress bar. The whole bar has the role: at 0 % its filled part has no width, and screen readers would not find it.
import { Progress } from '@mantine/core';

export interface ProgressBarProps {
  readonly label: string;
  /** Ratio from 0 to 1. */
  readonly value: number;
  readonly size?: 'sm' | 'lg';
  readonly width?: number;
}

export function ProgressBar({ label, value, size = 'sm', width }: ProgressBarProps) {
  const percent = Math.floor(value * 100);
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      style={width === undefined ? undefined : { width, flex: 'none' }}
    >
      <Progress.Root size={size}>
        <Progress.Section value={percent} withAria={false} />
      </Progress.Root>
    </div>
  );
}
