// The counts of answered requests, as Prometheus reads them: the text that the library's own counter and histogram print.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AggregatorRegistry, Counter, Histogram, Registry } from 'prom-client';
import { makeRequestMetrics } from '../../src/request-metrics.ts';

type Observation = readonly [operation: string, status: number, seconds: number];

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function countPlainly(observations: readonly Observation[]): Registry {
  const registry = new Registry();
  const { count, metrics } = makeRequestMetrics();
  for (const metric of metrics) registry.registerMetric(metric as unknown as Counter);
  for (const observation of observations) count(...observation);
  return registry;
}

function countInLibrary(observations: readonly Observation[]): Registry {
  const registry = new Registry();
  const requests = new Counter({
    name: 'wda_requests_total',
    help: 'Answered requests',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'wda_request_duration_seconds',
    help: 'Time from the head of a request to its response',
    labelNames: ['operation'],
    buckets: BOUNDS,
    registers: [registry],
  });
  for (const [operation, status, seconds] of observations) {
    requests.inc({ operation, status: String(status) });
    duration.observe({ operation }, seconds);
  }
  return registry;
}

const seconds = fc.oneof(fc.constantFrom(0, ...BOUNDS), fc.double({ min: 0, max: 20, noNaN: true }));
const observation = fc.tuple(fc.constantFrom('read', 'list', 'mcp_"'), fc.constantFrom(200, 404, 503), seconds);
const processes = fc.array(fc.array(observation), { maxLength: 3 });

test('requests are counted as by the counter and the histogram of the library, in one process', async () => {
  const property = fc.asyncProperty(fc.array(observation), async (observations) => {
    assert.equal(await countPlainly(observations).metrics(), await countInLibrary(observations).metrics());
  });
  await fc.assert(property);
});

test('so are those of several processes, which send their sums as JSON', async () => {
  async function sum(registries: readonly Registry[]): Promise<string> {
    const sums = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
    return AggregatorRegistry.aggregate(JSON.parse(JSON.stringify(sums))).metrics();
  }
  const property = fc.asyncProperty(processes, async (observations) => {
    assert.equal(await sum(observations.map(countPlainly)), await sum(observations.map(countInLibrary)));
  });
  await fc.assert(property);
});
