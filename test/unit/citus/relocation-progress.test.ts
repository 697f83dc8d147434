// What Citus tells of a move, as a phase and bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toProgress } from '../../../src/citus/relocation-progress.ts';

for (const [status, done, total, phase, bytes] of [
  ['Setting Up', '0', '4096', 'preparing', [0, 4096]],
  ['Copying Data', '1024', '4096', 'copying', [1024, 4096]],
  // The copy has indexes that are more compact, or less.
  ['Creating Constraints', '5000', '4096', 'indexing', [4096, 4096]],
  ['Catching Up', '4000', '4096', 'catchingUp', [4000, 4096]],
  ['Final Catchup', '4000', '4096', 'switching', [4000, 4096]],
  ['Creating Foreign Keys', '4000', '4096', 'switching', [4000, 4096]],
  ['Completing', '4000', '4096', 'switching', [4000, 4096]],
  ['Words of another version', null, null, 'preparing', [0, 0]],
] as const) {
  test(`${status} is ${phase}`, () => {
    assert.deepEqual(toProgress({ statuses: [status], done, total }), {
      phase,
      bytes: { done: bytes[0], total: bytes[1] },
    });
  });
}

test('of tables in several states the earliest is the phase', () => {
  const { phase } = toProgress({ statuses: ['Catching Up', 'Copying Data', 'Setting Up'], done: '1', total: '2' });
  assert.equal(phase, 'preparing');
});
