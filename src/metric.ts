// A figure that a room gives about itself, for metrics. The room names it; the observer shows it.

export interface Metric {
  /** Prometheus's form: `wda_…`, with `_total` for what only grows. */
  readonly name: string;
  /** What is counted, in one line. */
  readonly help: string;
  /**
   * The figure now: a number, or one for each value of the label. For several processes the sum is shown, or the greatest.
   */
  readonly read: () => number | Readonly<Record<string, number>>;
  /** Name of the label; by default `kind`. */
  readonly label?: string;
  /** What is shown for several processes: missing, their sum; `max` where all of them tell of the same thing. */
  readonly aggregator?: 'max';
}
