// Room for bodies: nobody beyond the total, no group beyond its share, and no group behind another that has its share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { makeMemoryBudget, type Release, type Transfer } from '../../../src/limits/memory-budget.ts';

const PUNCTUAL: Transfer = { isLate: () => false, cutOff: () => assert.fail('it is not late') };

const make = () => makeMemoryBudget({ totalBytes: 10, maxGroupBytes: 6, timeoutMs: 60_000, fullMessage: 'full' });

/** Who has come in, in order, by name. */
function taker(room: ReturnType<typeof make>) {
  const inside: string[] = [];
  const leaves = new Map<string, Release>();
  const take = (name: string, bytes: number): void => {
    void room.reserve(name[0] as string, bytes, PUNCTUAL).then((leave) => {
      inside.push(name);
      leaves.set(name, leave);
    });
  };
  return { inside, take, leave: (name: string) => leaves.get(name)?.() };
}

test('a group has its share, and others pass those of it that wait', async () => {
  const { inside, take, leave } = taker(make());
  take('a1', 4);
  take('a2', 4);
  take('b1', 4);
  await turn();
  assert.deepEqual(inside, ['a1', 'b1']);
  leave('a1');
  leave('a1');
  await turn();
  assert.deepEqual(inside, ['a1', 'b1', 'a2']);
});

test('a body larger than the share, or than all, comes alone', async () => {
  const { inside, take, leave } = taker(make());
  take('a1', 100);
  take('b1', 1);
  await turn();
  assert.deepEqual(inside, ['a1']);
  leave('a1');
  await turn();
  assert.deepEqual(inside, ['a1', 'b1']);
});

test('who waits for too long is refused', async () => {
  const room = makeMemoryBudget({ totalBytes: 10, maxGroupBytes: 10, timeoutMs: 1, fullMessage: 'full' });
  await room.reserve('a', 10, PUNCTUAL);
  await assert.rejects(room.reserve('b', 1, PUNCTUAL), { code: 'SERVICE_UNAVAILABLE' });
});

test('while others wait, bodies that are late are cut off, and no others', async () => {
  const room = make();
  let isCutOff = false;
  const late: Transfer = {
    isLate: () => !isCutOff,
    cutOff: () => {
      isCutOff = true;
      leave();
    },
  };
  const leave = await room.reserve('a', 5, late);
  await room.reserve('b', 5, PUNCTUAL);
  assert.equal(isCutOff, false);
  await room.reserve('c', 5, PUNCTUAL);
  assert.equal(isCutOff, true);
});

test('whatever comes and goes, all get in at last and the bounds hold', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 8 })), { maxLength: 20 }),
      async (bodies) => {
        const room = make();
        const held: { group: string; bytes: number; leave: Release }[] = [];
        let done = 0;
        for (const [group, bytes] of bodies) {
          void room.reserve(group, bytes, PUNCTUAL).then((leave) => held.push({ group, bytes, leave }));
        }
        for (;;) {
          await turn();
          const sum = (of: typeof held): number => of.reduce((all, { bytes }) => all + bytes, 0);
          assert.ok(held.length === 1 || sum(held) <= 10);
          for (const group of ['a', 'b', 'c']) {
            const own = held.filter((one) => one.group === group);
            assert.ok(own.length === 1 || sum(own) <= 6);
          }
          const next = held.shift();
          if (next === undefined) break;
          done++;
          next.leave();
        }
        assert.equal(done, bodies.length);
      },
    ),
  );
});

test('what is there already is counted whatever the limits, and the group is full then, others are not', () => {
  const room = make();
  const leave = room.add('a', 8, PUNCTUAL);
  assert.deepEqual([room.isFull('a'), room.isFull('b'), room.totalBytes], [true, false, 8]);
  const leaveOther = room.add('b', 2, PUNCTUAL);
  assert.equal(room.isFull('c'), true);
  leave();
  leaveOther();
  assert.deepEqual([room.isFull('a'), room.isFull('c'), room.totalBytes], [false, false, 0]);
});

test('bytes that are there already cut off late transfers of their group, then of others', () => {
  const room = make();
  const ended: string[] = [];
  const add = (name: string, bytes: number, isLate: boolean): void => {
    const leave = room.add(name[0] as string, bytes, {
      isLate: () => isLate,
      cutOff() {
        ended.push(name);
        leave();
      },
    });
  };
  add('a1', 2, true);
  add('b1', 4, true);
  add('b2', 1, false);
  add('b3', 5, false);
  assert.deepEqual(ended, ['b1']);
  add('c1', 4, false);
  assert.deepEqual(ended, ['b1', 'a1']);
  assert.equal(room.totalBytes, 10);
});

test('late transfers make room for others, those of the largest group first', () => {
  const room = make();
  const ended: string[] = [];
  const add = (name: string, bytes: number, isLate: boolean): void => {
    const leave = room.add(name[0] as string, bytes, {
      isLate: () => isLate,
      cutOff() {
        ended.push(name);
        leave();
      },
    });
  };
  add('a1', 2, true);
  add('b1', 3, true);
  add('b2', 3, false);
  add('c1', 2, true);
  // The late transfers of others could be cut off, those of the group itself could not.
  assert.deepEqual([room.isFull('c'), room.isFull('d')], [false, false]);
  assert.equal(room.hasRoom(3), true);
  assert.deepEqual(ended, ['b1']);
  assert.equal(room.hasRoom(9), false);
  assert.deepEqual(ended, ['b1', 'a1', 'c1']);
  assert.equal(room.cutOffCount, 3);
});

test('a message that waits for the share of its group cuts off no late transfer of another', async () => {
  const room = make();
  const ended: string[] = [];
  const add = (group: string, bytes: number): void => {
    const leave = room.add(group, bytes, {
      isLate: () => true,
      cutOff() {
        ended.push(group);
        leave();
      },
    });
  };
  add('b', 5);
  add('a', 3);
  // The group has 6 bytes at most, and all together 10: only its own late transfer is in the way.
  await room.reserve('a', 4, PUNCTUAL);
  assert.deepEqual(ended, ['a']);
});
