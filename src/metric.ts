// Metrics that a folder defines; the observer registers them with Prometheus.

export interface Metric {
  /** Name as Prometheus wants it: `wda_…`, with `_total` for a counter. */
  readonly name: string;
  /** Description in one line. */
  readonly help: string;
  /** Reads the current value: a number, or one for each value of the label. */
  readonly read: () => number | Readonly<Record<string, number>>;
  /** Name of the label; by default `kind`. */
  readonly label?: string;
  /** How the values of several processes are combined: `max` where all report the same thing; by default the sum. */
  readonly aggregator?: 'max';
}

/** A histogram of durations. */
export interface HistogramMetric extends Pick<Metric, 'name' | 'help'> {
  /** Upper bounds in seconds. */
  readonly buckets: readonly number[];
  /** Gives the function that counts a duration in seconds. */
  readonly connect: (observe: (seconds: number) => void) => void;
}
