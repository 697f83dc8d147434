// Log lines in JSON and metrics of the server. No other file writes logs. Credentials, record values and the queries of URLs
// never get here.

import pino from 'pino';
import pretty from 'pino-pretty';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from './config.ts';
import type { HistogramMetric, Metric } from './metric.ts';
import { makeRequestMetrics } from './request-metrics.ts';
import {
  makeStatistics,
  SAMPLE_MS,
  SLOW_MS,
  type SlowRequest,
  type Statistics,
  type StatisticsRecorder,
} from './statistics.ts';
import { isWorker, requestPrimary, respondToWorkers } from './workers/primary.ts';

export interface Log {
  debug(message: string, facts?: Record<string, unknown>): void;
  info(message: string, facts?: Record<string, unknown>): void;
  warn(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
}

/** One answered request. `operation` is a word of a small set, never a part of the URL. */
export interface RequestObservation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly operation: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly error?: unknown;
}

export interface Observer {
  readonly log: Log;
  request(observation: RequestObservation): void;
  /** Registers metrics, whose values are read when metrics are requested. */
  registerMetrics(metrics: readonly (Metric | HistogramMetric)[]): void;
  /** Returns the metrics in Prometheus text format 0.0.4. */
  metrics(): Promise<string>;
  /** Returns figures of the last hour, of all processes of this server. */
  statistics(): Promise<Statistics>;
  /** Writes the lines that are left, for a second at most. Nothing can be logged afterwards. */
  close(): Promise<void>;
}

// Time for a reader of the log that is slow.
const CLOSE_MS = 1000;

export function makeObserver(config: Pick<Config, 'logLevel'>, isTerminal: boolean): Observer {
  const destination = isTerminal ? undefined : pino.destination({ dest: 1, sync: false });
  const options = { level: config.logLevel, timestamp: makeTimestamp(Date.now) };
  const logger = destination
    ? pino(options, destination)
    : pino(
        options,
        pretty({
          sync: true,
          singleLine: true,
          // Prints a request in one line, in the order in which people read it.
          ignore: 'pid,hostname,requestId,method,path,status,ms',
          translateTime: 'HH:MM:ss',
          messageFormat: ({ msg, method, path, status, ms }) =>
            method === undefined ? String(msg) : `${method} ${path} ${status} ${ms} ms`,
        }),
      );
  const registry = new Registry();
  if (isWorker()) {
    // Responds when the primary requests the metrics of this process.
    new AggregatorRegistry();
    AggregatorRegistry.setRegistries(registry);
  }
  collectDefaultMetrics({ register: registry });
  const requests = makeRequestMetrics();
  // The library's types know only its own classes, and its registry only `get` of them.
  for (const metric of requests.metrics) registry.registerMetric(metric as unknown as Counter);
  const statistics = isWorker() ? undefined : startStatistics(() => registry.metrics());
  const addSlow = statistics?.addSlow ?? sendSlow;

  return {
    log: {
      debug: (message, facts = {}) => logger.debug(facts, message),
      info: (message, facts = {}) => logger.info(facts, message),
      warn: (message, facts = {}) => logger.warn(facts, message),
      error: (message, facts = {}) => logger.error(facts, message),
    },
    request(observation) {
      const { operation, status, milliseconds, error } = observation;
      requests.count(operation, status, milliseconds / 1000);
      if (milliseconds >= SLOW_MS) {
        const { id, method, path } = observation;
        addSlow({ id, method, path, operation, status, milliseconds, at: Date.now() });
      }
      if (status >= 500 && error !== undefined && status !== 503) {
        logger.error({ ...toLogFields(observation), err: getRootCause(error) }, 'request failed');
      } else if (logger.isLevelEnabled('info')) logger.info(toLogFields(observation), 'request');
    },
    registerMetrics(metrics) {
      for (const metric of metrics)
        registry.registerMetric('buckets' in metric ? toHistogram(metric) : toPrometheusMetric(metric));
    },
    metrics: () => (isWorker() ? requestPrimary(METRICS, undefined, METRICS_TIMEOUT_MS) : registry.metrics()),
    statistics: () => statistics?.read() ?? requestPrimary(STATISTICS, undefined, METRICS_TIMEOUT_MS),
    async close() {
      statistics?.stop();
      await closeDestination(destination);
    },
  };
}

/**
 * Creates the function that returns the member `time` of a log line, in ISO 8601 with milliseconds. It formats all but the
 * milliseconds once a second: pino's own takes 0.7 us for each line, a third more.
 */
export function makeTimestamp(now: () => number): () => string {
  let second = -1;
  let prefix = '';
  return () => {
    const at = now();
    const milliseconds = at % 1000;
    if (at - milliseconds !== second) {
      second = at - milliseconds;
      prefix = `,"time":"${new Date(second).toISOString().slice(0, -4)}`;
    }
    return `${prefix}${String(milliseconds).padStart(3, '0')}Z"`;
  };
}

/**
 * Closes the destination when its lines are written, or when no reader takes them: at the exit of the process the library
 * would try again without end.
 */
async function closeDestination(destination: ReturnType<typeof pino.destination> | undefined): Promise<void> {
  if (destination === undefined) return;
  await new Promise<void>((resolve) => {
    for (const event of ['close', 'error']) destination.once(event, () => resolve());
    setTimeout(resolve, CLOSE_MS);
    destination.end();
  });
  destination.destroy();
}

/** Milliseconds for which metrics are cached: Prometheus asks every few seconds, and their text takes 5 ms per process. */
export const METRICS_TTL_MS = 1000;

/**
 * Caches the result of `work` for `ttlMs` from its start; callers share a run in progress, and a failure is not cached.
 * `now`: milliseconds of a clock that never goes back.
 */
export function memoize<T>(work: () => Promise<T>, ttlMs: number, now: () => number): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly since: number; isRunning: boolean } | undefined;
  return () => {
    if (last !== undefined && (last.isRunning || now() - last.since < ttlMs)) return last.result;
    const entry = { result: work(), since: now(), isRunning: true };
    last = entry;
    entry.result.then(
      () => {
        entry.isRunning = false;
      },
      () => {
        if (last === entry) last = undefined;
      },
    );
    return entry.result;
  };
}

function toHistogram({ name, help, buckets, connect }: HistogramMetric): Histogram {
  const histogram = new Histogram({ name, help, buckets: [...buckets], registers: [] });
  connect((seconds) => histogram.observe(seconds));
  return histogram;
}

/** Makes a counter of a metric whose name ends in `_total`, and a gauge of any other. */
function toPrometheusMetric({ name, help, label = 'kind', read, aggregator }: Metric): Counter | Gauge {
  const labelled = (): (readonly [labels: Record<string, string>, value: number])[] => {
    const value = read();
    if (typeof value === 'number') return [[{}, value]];
    return Object.entries(value).map(([value, amount]) => [{ [label]: value }, amount]);
  };
  const shape = {
    name,
    help,
    aggregator: aggregator ?? ('sum' as const),
    ...(typeof read() === 'number' ? {} : { labelNames: [label] }),
    // The observer registers it.
    registers: [],
  };
  if (!name.endsWith('_total')) {
    return new Gauge({
      ...shape,
      collect() {
        for (const [labels, value] of labelled()) this.set(labels, value);
      },
    });
  }
  return new Counter({
    ...shape,
    collect() {
      this.reset();
      for (const [labels, value] of labelled()) this.inc(labels, value);
    },
  });
}

const METRICS = 'metrics';
const STATISTICS = 'statistics';
const SLOW_REQUEST = 'slow request';
const METRICS_TIMEOUT_MS = 5000;

/** Runs in the primary: responds to workers that need the metrics of all processes. */
export function serveWorkerMetrics(): void {
  const aggregator = new AggregatorRegistry();
  const metrics = memoize(
    () => aggregator.clusterMetrics(),
    METRICS_TTL_MS,
    () => performance.now(),
  );
  respondToWorkers(METRICS, metrics);
  const statistics = startStatistics(metrics);
  respondToWorkers(STATISTICS, statistics.read);
  respondToWorkers(SLOW_REQUEST, statistics.addSlow);
}

/** Takes samples until stop(). */
function startStatistics(metrics: () => Promise<string>): StatisticsRecorder & { readonly stop: () => void } {
  const statistics = makeStatistics(metrics, Date.now);
  // A worker that ends in the meantime may not respond; the next sample has what this one lacks.
  const timer = setInterval(() => void statistics.sample().catch(() => undefined), SAMPLE_MS).unref();
  return { ...statistics, stop: () => clearInterval(timer) };
}

/** Sends a slow request from a worker to the primary, as far as that responds. */
function sendSlow(request: SlowRequest): void {
  requestPrimary(SLOW_REQUEST, request, METRICS_TIMEOUT_MS).catch(() => undefined);
}

function toLogFields({ id, method, path, status, milliseconds }: RequestObservation): Record<string, unknown> {
  return { requestId: id, method, path, status, ms: Math.round(milliseconds * 100) / 100 };
}

/** Returns the first cause with its stack; of an error of the database only its code, as its message may hold values. */
export function getRootCause(error: unknown): unknown {
  let root = error;
  while (root instanceof Error && root.cause !== undefined) root = root.cause;
  if (root instanceof Error && /^(?=.*\d)[0-9A-Z]{5}$/.test(String((root as { code?: unknown }).code))) {
    const { code, routine } = root as Error & { code: string; routine?: string };
    return { type: 'DatabaseError', code, routine, stack: root.stack?.split('\n').slice(1).join('\n') };
  }
  return root;
}
