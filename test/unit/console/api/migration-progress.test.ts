import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addSample,
  formatDuration,
  getDroppedName,
  getProgress,
  measureThroughput,
  type Sample,
} from '../../../../console/src/api/migration-progress.ts';
import type { PlannedStep } from '../../../../console/src/api/types.ts';

const step = (kind: string, entity: string, description: string): PlannedStep => ({
  kind,
  entity,
  description,
  destructive: true,
  blocksReads: false,
  blocksWrites: false,
  estimatedSeconds: 0,
  conflicts: null,
});

test('what is dropped has a name', () => {
  assert.equal(getDroppedName(step('dropField', 'orders', 'drop field total of orders and its values')), 'total');
  assert.equal(getDroppedName(step('dropRelation', 'orders', 'drop relation customer of orders')), 'customer');
  assert.equal(getDroppedName(step('dropEntity', 'orders', 'drop entity orders and all of its records')), 'orders');
});

test('the pace is that of the last ten seconds', () => {
  const samples = [0, 500, 1000].reduce<readonly Sample[]>((all, at) => addSample(all, { at, done: at * 2 }), []);
  assert.deepEqual(measureThroughput(samples, 10_000), { perSecond: 2000, secondsLeft: 4 });
  assert.equal(measureThroughput(samples.slice(0, 1), 10_000), undefined);
  assert.deepEqual(
    measureThroughput(
      [
        { at: 0, done: 5 },
        { at: 1000, done: 5 },
      ],
      10,
    ),
    { perSecond: 0, secondsLeft: undefined },
  );
  assert.deepEqual(addSample(samples, { at: 20_000, done: 3000 }), [{ at: 20_000, done: 3000 }]);
  assert.deepEqual(addSample(samples, { at: 1500, done: 1 }), [{ at: 1500, done: 1 }], 'another step has begun');
});

test('progress is that of all steps', () => {
  const entityRef = (progress: number) => ({
    ...step('addIndex', 'a', ''),
    state: 'running' as const,
    progress,
    records: null,
  });
  const migration = { id: 1, state: 'running' as const, strategy: 'online' as const, error: null, waitingFor: null };
  const times = { createdBy: null, createdAt: '', startedAt: null, finishedAt: null };
  assert.equal(getProgress({ ...migration, ...times, steps: [entityRef(1), entityRef(0.5)] }), 0.75);
  assert.equal(getProgress({ ...migration, ...times, steps: [] }), 0);
  assert.equal(getProgress({ ...migration, ...times, state: 'succeeded', steps: [entityRef(0)] }), 1);
});

test('durations in words', () => {
  assert.deepEqual([0.2, 40.2, 90, 7200].map(formatDuration), ['less than 1 s', '41 s', '2 min', '2.0 h']);
});
