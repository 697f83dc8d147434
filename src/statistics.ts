// Figures of the last hour for the operator's screen: samples of the metrics, and the slowest requests, in memory.

/** Figures from the sample before to this one. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly requests: number;
  /** Requests that were answered with 500 or above. */
  readonly errors: number;
  /** Milliseconds within which half of the requests, and 99 of 100, were answered; null without requests. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Connections to the database, and what waits for one, at the time of the sample. */
  readonly connections: number;
  readonly waiting: number;
  /** Size of the database on disk; null before its first measurement. */
  readonly bytes: number | null;
  /** Requests by workspace (`organization/slug`, or `other`), where there were any. */
  readonly workspaces: Readonly<Record<string, number>>;
}

export interface SlowRequest {
  readonly id: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly operation: string;
  readonly status: number;
  readonly milliseconds: number;
  /** End of the request in milliseconds since 1970. */
  readonly at: number;
}

export interface Statistics {
  readonly samples: readonly Sample[];
  /** Slowest first. */
  readonly slowRequests: readonly SlowRequest[];
}

export interface StatisticsRecorder {
  /** Takes a sample, of which the last hour is stored. */
  readonly sample: () => Promise<void>;
  readonly addSlow: (request: SlowRequest) => void;
  /** Returns the stored samples with one of this moment. */
  readonly read: () => Promise<Statistics>;
}

export const SAMPLE_MS = 15_000;
const MAX_SAMPLES = 240;
const HOUR_MS = SAMPLE_MS * MAX_SAMPLES;
/** A request that takes longer is slow: as long as a statement may take among others. */
export const SLOW_MS = 200;
const MAX_SLOW = 20;
const MAX_PATH_LENGTH = 300;

/** `metrics`: gives the text for Prometheus; `now`: milliseconds since 1970. */
export function makeStatistics(metrics: () => Promise<string>, now: () => number): StatisticsRecorder {
  const samples: Sample[] = [];
  let slowRequests: SlowRequest[] = [];
  let last = readTotals('');
  const isRecent = ({ at }: { readonly at: number }): boolean => now() - at < HOUR_MS;
  return {
    async sample() {
      const totals = readTotals(await metrics());
      samples.push(compareTotals(totals, last, now()));
      last = totals;
      if (samples.length > MAX_SAMPLES) samples.shift();
    },
    addSlow(request) {
      const entry = { ...request, path: request.path.slice(0, MAX_PATH_LENGTH) };
      slowRequests = [...slowRequests.filter(isRecent), entry]
        .sort((one, other) => other.milliseconds - one.milliseconds)
        .slice(0, MAX_SLOW);
    },
    async read() {
      const current = compareTotals(readTotals(await metrics()), last, now());
      return { samples: [...samples.filter(isRecent), current], slowRequests: slowRequests.filter(isRecent) };
    },
  };
}

/** Values of the metrics since the start of the server, or at this moment. */
interface Totals {
  requests: number;
  errors: number;
  connections: number;
  waiting: number;
  bytes: number | null;
  readonly workspaces: Record<string, number>;
  /** Requests by the upper bound of their duration in seconds: as in a histogram, each with those of lower bounds. */
  readonly durations: Map<number, number>;
}

const LINE = /^(wda_\w+?)(?:\{(.*)\})? (\S+)$/;
const readLabel = (labels: string, name: string): string =>
  new RegExp(`(?:^|,)${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1] ?? '';

/** Reads the text format of Prometheus. */
export function readTotals(text: string): Totals {
  const totals: Totals = {
    requests: 0,
    errors: 0,
    connections: 0,
    waiting: 0,
    bytes: null,
    workspaces: Object.create(null),
    durations: new Map(),
  };
  for (const line of text.split('\n')) {
    const [, name, labels = '', digits] = LINE.exec(line) ?? [];
    const value = Number(digits);
    if (name === 'wda_requests_total') {
      totals.requests += value;
      if (readLabel(labels, 'status') >= '500') totals.errors += value;
    } else if (name === 'wda_request_duration_seconds_bucket') {
      const bound = readLabel(labels, 'le') === '+Inf' ? Number.POSITIVE_INFINITY : Number(readLabel(labels, 'le'));
      totals.durations.set(bound, (totals.durations.get(bound) ?? 0) + value);
    } else if (name === 'wda_db_pool_connections') totals.connections += value;
    else if (name === 'wda_db_pool_pending') totals.waiting += value;
    else if (name === 'wda_database_bytes') totals.bytes = value > 0 ? value : null;
    else if (name === 'wda_workspace_requests_total') totals.workspaces[readLabel(labels, 'workspace')] = value;
  }
  return totals;
}

/** A process that has ended takes its part of the totals with it: nothing counts below zero. */
const subtract = (now: number, before: number): number => Math.max(0, now - before);

export function compareTotals(totals: Totals, last: Totals, at: number): Sample {
  const durations = [...totals.durations]
    .map(([bound, count]) => [bound, subtract(count, last.durations.get(bound) ?? 0)] as const)
    .sort(([one], [other]) => one - other);
  const workspaces = Object.entries(totals.workspaces)
    .map(([name, count]) => [name, subtract(count, last.workspaces[name] ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return {
    at,
    requests: subtract(totals.requests, last.requests),
    errors: subtract(totals.errors, last.errors),
    p50Ms: estimateQuantile(durations, 0.5),
    p99Ms: estimateQuantile(durations, 0.99),
    connections: totals.connections,
    waiting: totals.waiting,
    bytes: totals.bytes,
    workspaces: Object.fromEntries(workspaces),
  };
}

/**
 * Estimates a quantile of a histogram in milliseconds, on a straight line within its bucket as Prometheus does; the highest
 * finite bound for what lies above it, null for an empty histogram. `durations`: counts by bounds in ascending order.
 */
function estimateQuantile(
  durations: readonly (readonly [bound: number, count: number])[],
  share: number,
): number | null {
  const total = durations.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  let [lower, below] = [0, 0];
  for (const [bound, count] of durations) {
    if (count >= share * total) {
      const seconds = Number.isFinite(bound)
        ? lower + ((bound - lower) * (share * total - below)) / (count - below)
        : lower;
      return Math.round(seconds * 10_000) / 10;
    }
    [lower, below] = [bound, count];
  }
  return lower * 1000;
}
