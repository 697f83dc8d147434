// Bars and lines as SVG: 4 kB, where a library of charts is 60 to 300; of its features an aggregate needs an axis, bars and lines.
import type { Series } from './chart-data.ts';
import { makeTicks } from './chart-data.ts';

const WIDTH = 720;
const HEIGHT = 260;
const LEFT = 64;
const TOP = 8;
const BOTTOM = 28;
const RIGHT = 8;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
/** Width of a label below the axis in pixels; others are left out. */
const LABEL_WIDTH = 76;
const LONGEST_LABEL = 12;

export interface ChartProps {
  readonly kind: 'bars' | 'line';
  readonly title: string;
  readonly series: readonly Series[];
}

export function Chart({ kind, title, series }: ChartProps) {
  const labels = series[0]?.points.map(({ label }) => label) ?? [];
  const ticks = makeTicks(series.flatMap(({ points }) => points.flatMap(({ value }) => value ?? [])));
  const low = ticks[0] ?? 0;
  const high = ticks.at(-1) ?? 1;
  const toY = (value: number): number => TOP + PLOT_HEIGHT * (1 - (value - low) / (high - low));
  const step = PLOT_WIDTH / Math.max(1, labels.length);
  const toX = (index: number): number => LEFT + step * (index + 0.5);
  const every = Math.ceil(LABEL_WIDTH / step);
  return (
    <figure className="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={describe(title, series)}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={toY(tick)} y2={toY(tick)} className="chart-line" />
            <text x={LEFT - 6} y={toY(tick) + 4} textAnchor="end">
              {tick.toLocaleString('en', { maximumFractionDigits: 6 })}
            </text>
          </g>
        ))}
        {labels.map(
          (label, index) =>
            index % every === 0 && (
              <text key={label} x={toX(index)} y={HEIGHT - 8} textAnchor="middle">
                {label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label}
              </text>
            ),
        )}
        {kind === 'bars' ? (
          <Bars series={series} step={step} toX={toX} toY={toY} />
        ) : (
          <Lines series={series} toX={toX} toY={toY} />
        )}
      </svg>
      {series.length > 1 && (
        <figcaption className="records-line chart-legend">
          {series.map(({ name }, index) => (
            <span key={name}>
              <span className="chart-key" data-series={index} aria-hidden="true" /> <bdi>{name}</bdi>
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

interface MarksProps {
  readonly series: readonly Series[];
  readonly toX: (index: number) => number;
  readonly toY: (value: number) => number;
}

function Bars({ series, step, toX, toY }: MarksProps & { readonly step: number }) {
  const width = Math.max(1, Math.min(48, (step * 0.8) / series.length));
  return series.map(({ name, points }, at) => (
    <g key={name} data-series={at}>
      {points.map(({ label, value, text }, index) => {
        if (value === undefined) return null;
        const top = Math.min(toY(value), toY(0));
        return (
          <rect
            key={label}
            x={toX(index) + width * (at - series.length / 2)}
            y={top}
            width={Math.max(1, width - 1)}
            height={Math.max(1, Math.abs(toY(value) - toY(0)))}
          >
            <title>{`${label}, ${name}: ${text}`}</title>
          </rect>
        );
      })}
    </g>
  ));
}

function Lines({ series, toX, toY }: MarksProps) {
  return series.map(({ name, points }, at) => {
    const places = points.map(({ value }, index) => (value === undefined ? undefined : `${toX(index)} ${toY(value)}`));
    // A missing value interrupts the line.
    const path = places
      .map((place, index) => (place === undefined ? '' : `${places[index - 1] === undefined ? 'M' : 'L'}${place}`))
      .join('');
    return (
      <g key={name} data-series={at}>
        <path d={path} className="chart-path" />
        {points.map(
          ({ label, value, text }, index) =>
            value !== undefined && (
              <circle key={label} cx={toX(index)} cy={toY(value)} r={3}>
                <title>{`${label}, ${name}: ${text}`}</title>
              </circle>
            ),
        )}
      </g>
    );
  });
}

/** Number of values that the name of the image has; the table below has all. */
const MOST_SPOKEN = 12;

function describe(title: string, series: readonly Series[]): string {
  const values = series.flatMap(({ name, points }) =>
    points.map(({ label, text }) => `${label}${series.length > 1 ? `, ${name}` : ''}: ${text === '' ? 'none' : text}`),
  );
  return `${title}. ${values.slice(0, MOST_SPOKEN).join('; ')}${values.length > MOST_SPOKEN ? '; …' : ''}`;
}
