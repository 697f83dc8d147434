// The short form of `npm run chaos`: the first faults of one seed, over both kinds of database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './chaos.ts';
import type { GroundKind } from './ground.ts';

const skip = process.platform === 'linux' ? false : 'finds the processes in /proc';
// The same each time, so that a failure is one of the change that is tested; CHAOS_SEED tries others.
const SEED = Number(process.env.CHAOS_SEED ?? 20_261);

// The promise is 5 s; the machine of the tests has other tests to run.
const WELL_WITHIN_MS = 15_000;

const LENGTHS: Readonly<Record<GroundKind, number>> = { own: 45, embedded: 25 };

for (const [kind, seconds] of Object.entries(LENGTHS) as [GroundKind, number][]) {
  test(`${kind}: under faults nothing acknowledged is lost, nothing is shown, nobody waits for ever`, {
    skip,
  }, async (t) => {
    const lines: string[] = [];
    const say = (line: string): void => {
      lines.push(line);
      // What this machine has not got.
      if (line.startsWith('no ')) t.diagnostic(line);
    };
    const { violations, faults, done } = await chaos({ kind, seed: SEED, seconds, wellWithin: WELL_WITHIN_MS, say });
    t.diagnostic(`seed ${SEED}: ${faults} faults, ${JSON.stringify(done)}`);
    assert.deepEqual(violations, [], lines.join('\n'));
    // A run that met nothing proves nothing.
    assert.ok(faults >= 5, `only ${faults} faults`);
    for (const what of [
      'writes',
      'reads of users',
      'acknowledged imports',
      'acknowledged batches',
      'revoked',
      'acknowledged changes of the schema',
      'acknowledged marks',
      'events of a feed',
    ])
      assert.ok((done[what] ?? 0) > 0, `no ${what} in ${JSON.stringify(done)}`);
  });
}
