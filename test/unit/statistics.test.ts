// Figures of the last hour, of texts of metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeStatistics, SAMPLE_MS, type SlowRequest } from '../../src/statistics.ts';

const writeMetrics = (list: number, failed: number): string => `# HELP wda_requests_total Answered requests
wda_requests_total{operation="list",status="200"} ${list}
wda_requests_total{operation="list",status="503"} ${failed}
wda_request_duration_seconds_bucket{le="0.01",operation="list"} ${list / 2}
wda_request_duration_seconds_bucket{le="0.1",operation="list"} ${list}
wda_request_duration_seconds_bucket{le="+Inf",operation="list"} ${list + failed}
wda_db_pool_connections{pool="read"} 4
wda_db_pool_connections{pool="write"} 3
wda_db_pool_pending{pool="read"} 2
wda_database_bytes 5000000
wda_workspace_requests_total{workspace="acme/shop"} ${list}
`;

function makeHour() {
  let at = 0;
  let text = '';
  const statistics = makeStatistics(
    async () => text,
    () => at,
  );
  return {
    statistics,
    async sample(metrics: string) {
      at += SAMPLE_MS;
      text = metrics;
      await statistics.sample();
    },
    pass: (milliseconds: number) => {
      at += milliseconds;
    },
  };
}

test('a sample has what was added since the one before, and what holds at its time', async () => {
  const hour = makeHour();
  await hour.sample(writeMetrics(100, 0));
  await hour.sample(writeMetrics(120, 5));
  const { samples } = await hour.statistics.read();
  const common = { connections: 7, waiting: 2, bytes: 5_000_000 };
  assert.deepEqual(samples, [
    { at: 15_000, requests: 100, errors: 0, p50Ms: 10, p99Ms: 98.2, ...common, workspaces: { 'acme/shop': 100 } },
    { at: 30_000, requests: 25, errors: 5, p50Ms: 32.5, p99Ms: 100, ...common, workspaces: { 'acme/shop': 20 } },
    { at: 30_000, requests: 0, errors: 0, p50Ms: null, p99Ms: null, ...common, workspaces: {} },
  ]);
});

test('a process that has ended takes nothing from the others, and an empty text counts nothing', async () => {
  const hour = makeHour();
  await hour.sample('');
  await hour.sample(writeMetrics(100, 0));
  await hour.sample(writeMetrics(60, 0));
  const { samples } = await hour.statistics.read();
  assert.deepEqual(
    samples.map(({ requests, bytes }) => [requests, bytes]),
    [
      [0, null],
      [100, 5_000_000],
      [0, 5_000_000],
      [0, 5_000_000],
    ],
  );
});

test('an hour is stored at most, and twenty slow requests', async () => {
  const hour = makeHour();
  const slow = (milliseconds: number, at: number): SlowRequest => ({
    ...{ id: 'x', method: 'GET', path: `/${'p'.repeat(1000)}`, operation: 'list', status: 200 },
    ...{ milliseconds, at },
  });
  for (let at = 1; at <= 300; at++) await hour.sample(writeMetrics(at, 0));
  for (let at = 1; at <= 30; at++) hour.statistics.addSlow(slow(200 + at, 300 * SAMPLE_MS));
  hour.statistics.addSlow(slow(9000, 0));
  const { samples, slowRequests } = await hour.statistics.read();
  assert.equal(samples.length, 241);
  assert.deepEqual(
    slowRequests.map(({ milliseconds }) => milliseconds),
    Array.from({ length: 19 }, (_, at) => 230 - at),
  );
  assert.equal(slowRequests[0]?.path.length, 300);
  hour.pass(3_600_001);
  const later = await hour.statistics.read();
  assert.deepEqual([later.samples.length, later.slowRequests.length], [1, 0]);
});
