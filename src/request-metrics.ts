// Counts answered requests in plain numbers, whose sums the registry of metrics reads: the library's own counter and histogram
// validate and hash the labels of each request.

/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, Infinity];

/** A metric as the registry of prom-client reads it, for the text of this process and for the sum of several. */
export interface SummedMetric {
  readonly name: string;
  readonly get: () => {
    readonly name: string;
    readonly help: string;
    readonly type: 'counter' | 'histogram';
    readonly aggregator: 'sum';
    readonly values: readonly Sum[];
  };
}

interface Sum {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Name in place of the metric's own. */
  readonly metricName?: string;
}

/** Requests of an operation. */
interface Durations {
  readonly operation: string;
  /** Number of requests by bucket: those up to its bound, and above the bound before. */
  readonly buckets: number[];
  seconds: number;
  readonly byStatus: Map<number, { readonly labels: Sum['labels']; value: number }>;
}

export interface RequestMetrics {
  /** Counts a request. `operation` is a word of a small set, never a part of the URL: the numbers of all are kept. */
  readonly count: (operation: string, status: number, seconds: number) => void;
  readonly metrics: readonly SummedMetric[];
}

export function makeRequestMetrics(): RequestMetrics {
  const byOperation = new Map<string, Durations>();
  // In the order of the first request of each.
  const requests: { readonly labels: Sum['labels']; value: number }[] = [];
  return {
    count(operation, status, seconds) {
      let durations = byOperation.get(operation);
      if (durations === undefined) {
        durations = { operation, buckets: BOUNDS.map(() => 0), seconds: 0, byStatus: new Map() };
        byOperation.set(operation, durations);
      }
      let counter = durations.byStatus.get(status);
      if (counter === undefined) {
        counter = { labels: { operation, status: String(status) }, value: 0 };
        durations.byStatus.set(status, counter);
        requests.push(counter);
      }
      counter.value++;
      durations.seconds += seconds;
      const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
      durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1;
    },
    metrics: [
      toMetric('wda_requests_total', 'Answered requests', 'counter', () => requests),
      toMetric('wda_request_duration_seconds', 'Time from the head of a request to its response', 'histogram', (name) =>
        [...byOperation.values()].flatMap((durations) => toHistogram(name, durations)),
      ),
    ],
  };
}

function toMetric(
  name: string,
  help: string,
  type: 'counter' | 'histogram',
  read: (name: string) => readonly Sum[],
): SummedMetric {
  return { name, get: () => ({ name, help, type, aggregator: 'sum', values: read(name) }) };
}

/** Returns the sums of a histogram in the order of Prometheus: buckets that contain those before, sum, count. */
function toHistogram(name: string, { operation, buckets, seconds }: Durations): readonly Sum[] {
  let count = 0;
  const sums = BOUNDS.map((bound, index) => {
    count += buckets[index] ?? 0;
    const le = bound === Infinity ? '+Inf' : bound;
    return { metricName: `${name}_bucket`, labels: { le, operation }, value: count };
  });
  return [
    ...sums,
    { metricName: `${name}_sum`, labels: { operation }, value: seconds },
    { metricName: `${name}_count`, labels: { operation }, value: count },
  ];
}
