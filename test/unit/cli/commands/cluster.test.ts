// Phases of a move as the command line prints them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Move } from '../../../../admin-types/admin-api.d.ts';
import { makeMoveTracker } from '../../../../src/cli/commands/cluster.ts';

const buildMove = (state: Move['state'], phase?: NonNullable<Move['progress']>['phase']): Move => ({
  id: 1,
  organization: 'acme',
  workspace: 'shop',
  from: 'a:1',
  to: 'b:1',
  state,
  bytes: 1,
  progress: phase === undefined ? null : { phase, bytes: { done: 0, total: 1 } },
  error: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  startedAt: null,
  finishedAt: null,
  createdBy: { kind: 'operator' } as Move['createdBy'],
});

test('a phase stays while there is no progress, so that none is printed again or after its end', () => {
  const track = makeMoveTracker();
  const labels = [
    buildMove('pending'),
    buildMove('running'),
    buildMove('running', 'copying'),
    buildMove('running'),
    buildMove('running', 'switching'),
    buildMove('running'),
  ].map((move, now) => track(move, now).label.slice('acme/shop: a:1 -> b:1: '.length));
  assert.deepEqual(labels, [
    'waiting for its turn',
    'preparing',
    'copying records',
    'copying records',
    'switching',
    'switching',
  ]);
});
