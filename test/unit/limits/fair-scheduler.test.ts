// Requests that come at once are begun in turns: each group some, and nobody behind all of another group.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeFairScheduler, parseGroup } from '../../../src/limits/fair-scheduler.ts';

function busy(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

test('a burst of one group is begun in its order over many turns, and another group at once', async () => {
  const { admit } = makeFairScheduler();
  const begun: number[] = [];
  for (let index = 0; index < 100; index++) {
    admit('noisy', () => {
      busy(1);
      begun.push(index);
    });
  }
  assert.ok(begun.length < 100, 'all of the burst was begun at once');
  let isCalmBegun = false;
  admit('calm', () => {
    isCalmBegun = true;
  });
  assert.ok(isCalmBegun);
  let turns = 0;
  for (; begun.length < 100; turns++) await nextTurn();
  assert.ok(turns > 5, `${turns} turns`);
  assert.deepEqual(
    begun,
    Array.from({ length: 100 }, (_, index) => index),
  );
});

test('groups that wait take turns, whatever the length of their lines', async () => {
  const { admit } = makeFairScheduler();
  const begun: string[] = [];
  const begin = (group: string) => () => {
    busy(2);
    begun.push(group);
  };
  for (let index = 0; index < 60; index++) admit('a', begin('a'));
  for (let index = 0; index < 12; index++) admit('b', begin('b'));
  while (begun.length < 72) await nextTurn();
  const last = begun.lastIndexOf('b');
  assert.ok(last < 40, `the last of b was number ${last}`);
});

for (const [path, group] of [
  ['/api/v1/acme/shop/orders?size=1', 'acme/shop'],
  ['/api/v1/acme/shop/', 'acme/shop'],
  ['/api/v1/acme/shop', ''],
  ['/api/v1/', ''],
] as const) {
  test(`${path} is of ${group === '' ? 'no workspace' : group}`, () =>
    assert.equal(parseGroup(path, '/api/v1/'), group));
}

test('of the pieces that wait one runs each turn, the groups in rotation', async () => {
  const { slices } = makeFairScheduler();
  const ran: string[] = [];
  const work = async (group: string, name: string) => {
    const slice = slices(group);
    for (let piece = 0; piece < 2; piece++) {
      await slice.next();
      ran.push(`${name}${piece}`);
    }
  };
  await Promise.all([work('a', 'x'), work('a', 'y'), work('b', 'z')]);
  assert.deepEqual(ran.slice(0, 3), ['x0', 'z0', 'y0']);
  assert.deepEqual([...ran].sort(), ['x0', 'x1', 'y0', 'y1', 'z0', 'z1']);
});

test('what was done at once counts for this time round only', async () => {
  const slices = makeFairScheduler().slices('a');
  assert.ok(slices.hasTime());
  slices.addTime(1);
  assert.ok(slices.hasTime());
  slices.addTime(50);
  assert.ok(!slices.hasTime());
  await nextTurn();
  await nextTurn();
  assert.ok(slices.hasTime());
});
