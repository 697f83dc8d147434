// One measure over the last hour as lines, with its current value. As an image its name has what it shows.
import { Text } from '@mantine/core';
import styles from './line-chart.module.css';

export interface Line {
  /** Name of the line in its chart, such as `p99`; empty for a line alone. */
  readonly name: string;
  /** Oldest first; null where there is no value. */
  readonly values: readonly (number | null)[];
}

interface LineChartProps {
  readonly title: string;
  /** Solid, and dashed. */
  readonly lines: readonly [Line, Line?];
  /** Milliseconds since 1970 for each value. */
  readonly times: readonly number[];
  readonly format: (value: number) => string;
}

const HOUR_MS = 3_600_000;
const [WIDTH, HEIGHT] = [240, 48];

export function LineChart({ title, lines, times, format }: LineChartProps) {
  const drawn = lines.filter((line) => line !== undefined);
  const highest = Math.max(0, ...drawn.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const end = times.at(-1) ?? 0;
  const formatLine = ({ name, values }: Line): string => {
    const last = values.findLast((value) => value !== null);
    return `${name === '' ? '' : `${name} `}${last === null || last === undefined ? 'none' : format(last)}`;
  };
  const current = drawn.map(formatLine).join(', ');
  return (
    <div className={styles.chart}>
      <Text size="xs" c="dimmed">
        {title}
      </Text>
      <Text size="sm">{current}</Text>
      <svg
        role="img"
        aria-label={`${title} in the last hour: now ${current}, at most ${format(highest)}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className={styles.lines}
      >
        {drawn.map(({ name, values }, at) => (
          <path
            key={name}
            d={drawPath(values, (index) => ((times[index] ?? end) - end + HOUR_MS) / HOUR_MS, highest)}
            className={at === 0 ? styles.solid : styles.dashed}
          />
        ))}
      </svg>
      <Text size="xs" c="dimmed" className={styles.axis}>
        <span>1 h ago</span>
        <span>at most {format(highest)}</span>
        <span>now</span>
      </Text>
    </div>
  );
}

/** Returns the path of a line, with a gap where there is no value. `place`: from 0 to 1. */
function drawPath(values: readonly (number | null)[], place: (index: number) => number, highest: number): string {
  let isGap = true;
  let path = '';
  values.forEach((value, index) => {
    if (value !== null) {
      const x = Math.max(0, place(index)) * WIDTH;
      const y = HEIGHT - 1 - (highest === 0 ? 0 : (value / highest) * (HEIGHT - 2));
      // A line of no length is a dot for a value alone.
      path += `${isGap ? `M${x.toFixed(1)} ${y.toFixed(1)}h0` : ''}L${x.toFixed(1)} ${y.toFixed(1)}`;
    }
    isGap = value === null;
  });
  return path;
}
