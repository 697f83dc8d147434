// When connections are left as their server takes no writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRenewal } from '../../../src/db/renewal.ts';
import { until } from '../../support/until.ts';

function makeScene(pauseMs: number) {
  const scene = { renewed: 0 };
  const renewal = makeRenewal({ pauseMs, renew: () => void scene.renewed++ });
  return { scene, renewal };
}

test('connections are left at once, and those of a moment later with the pause', async () => {
  const { scene, renewal } = makeScene(20);
  renewal.met();
  assert.equal(scene.renewed, 1);
  await until('those that came since are left, too', () => scene.renewed === 2);
});

test('many writes in a pause leave connections once', () => {
  const { scene, renewal } = makeScene(60_000);
  for (let count = 0; count < 10; count++) renewal.met();
  assert.equal(scene.renewed, 1);
  renewal.stop();
});
