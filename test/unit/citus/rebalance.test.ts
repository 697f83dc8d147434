// The plan of a rebalance: tables, and what holds for every cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getLoad, planRebalance, TOLERANCE } from '../../../src/citus/rebalance.ts';

interface Case {
  readonly what: string;
  /** Node: whether it takes workspaces. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** Workspace, node, gigabytes. */
  readonly held: readonly (readonly [string, string, number])[];
  readonly moves: readonly string[];
}

const GB = 1_000_000_000;

const CASES: readonly Case[] = [
  { what: 'nothing is there', nodes: { a: true, b: true }, held: [], moves: [] },
  { what: 'there is no node for workspaces', nodes: { a: false }, held: [['w', 'a', 5]], moves: [] },
  {
    what: 'all hold about the same',
    nodes: { a: true, b: true },
    held: [
      ['w', 'a', 100],
      ['x', 'b', 90],
    ],
    moves: [],
  },
  {
    what: 'a new node gets what comes closest to what it lacks',
    nodes: { a: true, b: true },
    held: [
      ['large', 'a', 60],
      ['middle', 'a', 40],
      ['small', 'a', 10],
    ],
    moves: ['large a>b'],
  },
  {
    what: 'one huge workspace is not moved to and fro, and others are evened out',
    nodes: { a: true, b: true, c: true },
    held: [
      ['huge', 'a', 1000],
      ['w', 'b', 50],
      ['x', 'b', 50],
    ],
    moves: ['w b>c'],
  },
  {
    what: 'a node that takes none is emptied, the largest to the emptiest, and others are not evened out meanwhile',
    nodes: { a: false, b: true, c: true },
    held: [
      ['w', 'a', 10],
      ['x', 'a', 30],
      ['y', 'b', 20],
      ['z', 'b', 90],
    ],
    moves: ['x a>c', 'w a>c'],
  },
  {
    what: 'empty workspaces are balanced by their number',
    nodes: { a: true, b: true },
    held: [
      ['w', 'a', 0],
      ['x', 'a', 0],
      ['y', 'a', 0],
      ['z', 'b', 0],
    ],
    moves: ['w a>b'],
  },
];

const toNodes = (takes: readonly boolean[]) =>
  takes.map((takesWorkspaces, index) => ({ node: `n${index}`, takesWorkspaces }));

for (const { what, nodes, held, moves } of CASES) {
  test(what, () => {
    const holders = Object.entries(nodes).map(([node, takesWorkspaces]) => ({ node, takesWorkspaces }));
    const placed = held.map(([workspace, node, size]) => ({ workspace, node, bytes: size * GB }));
    const planned = planRebalance(holders, placed, 100);
    assert.deepEqual(
      planned.map(({ workspace, from, to }) => `${workspace} ${from}>${to}`),
      moves,
    );
    assert.deepEqual(planRebalance(holders, placed, 1), planned.slice(0, 1));
  });
}

/** Builds 203 workspaces of 336 KiB, one of 37 MiB, on two nodes in turn. */
const buildSmall = () =>
  Array.from({ length: 203 }, (_, workspace) => {
    return { workspace, node: `n${workspace % 2}`, bytes: (workspace === 5 ? 37 * 1024 : 336) * 1024 };
  });

test('a third node gets about a third of many small workspaces and one larger one, by as many moves as it gets', () => {
  const held = buildSmall();
  const moves = planRebalance(toNodes([true, true, true]), held, 1000);
  assert.equal(moves.length, 61);
  assert.ok(moves.every(({ to }) => to === 'n2'));
  const left = Map.groupBy(moves, ({ from }) => from);
  assert.deepEqual([left.get('n0')?.length, left.get('n1')?.length], [31, 30]);
});

test('a node that is taken out gives the workspaces that lie there, and no others are moved', () => {
  const held = buildSmall().map((one) => (one.workspace < 21 ? { ...one, node: 'n2' } : one));
  const moves = planRebalance(toNodes([true, true, false]), held, 1000);
  assert.deepEqual(
    moves.map(({ workspace }) => workspace).sort((a, b) => a - b),
    Array.from({ length: 21 }, (_, workspace) => workspace),
  );
});

const sizes = (maxLength: number, max: number) =>
  fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max })), { maxLength });
const place = (takes: readonly boolean[], all: readonly (readonly [number, number])[]) =>
  all.map(([at, bytes], workspace) => ({ workspace, node: `n${at % takes.length}`, bytes }));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('each workspace moves once at most, to a node that takes it, and the loads differ by what one workspace weighs', () => {
  const holders = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(holders, sizes(30, 5 * GB), (takes, all) => {
      const nodes = toNodes(takes);
      const held = place(takes, all);
      const moves = planRebalance(nodes, held, 1000);
      assert.equal(new Set(moves.map(({ workspace }) => workspace)).size, moves.length);
      const target = new Map(moves.map(({ workspace, to }) => [workspace, to]));
      const takesSome = new Set(nodes.flatMap(({ node, takesWorkspaces }) => (takesWorkspaces ? [node] : [])));
      for (const { from, to } of moves) assert.ok(from !== to && takesSome.has(to));
      if (takesSome.size === 0) return;
      const after = held.map((one) => ({ ...one, node: target.get(one.workspace) ?? one.node }));
      assert.ok(after.every(({ node }) => takesSome.has(node)));
      const misplaced = held.filter(({ node }) => !takesSome.has(node));
      if (misplaced.length > 0) {
        assert.equal(moves.length, misplaced.length);
        return;
      }
      const loads = [...takesSome].map((name) => sum(after.filter(({ node }) => node === name).map(getLoad)));
      const mean = sum(loads) / loads.length;
      const spread = Math.max(...loads) - Math.min(...loads);
      assert.ok(spread <= Math.max(2 * TOLERANCE * mean, ...held.map(getLoad)) + 1);
      if (loads.every((load) => Math.abs(load - mean) <= mean * TOLERANCE))
        assert.deepEqual(planRebalance(nodes, after, 1000), []);
    }),
  );
});

test('workspaces of one size are balanced by the fewest moves', () => {
  const cases = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(4), { maxLength: 40 }));
  fc.assert(
    fc.property(cases, ([count, places]) => {
      const takes = Array.from({ length: count }, () => true);
      const held = place(
        takes,
        places.map((at) => [at, 336 * 1024] as const),
      );
      const counts = toNodes(takes).map(({ node }) => held.filter((one) => one.node === node).length);
      const mean = held.length / count;
      const most = Math.max(Math.floor(mean * (1 + TOLERANCE)), Math.ceil(mean));
      const least = Math.min(Math.ceil(mean * (1 - TOLERANCE)), Math.floor(mean));
      const fewest = Math.max(
        sum(counts.map((one) => Math.max(0, one - most))),
        sum(counts.map((one) => Math.max(0, least - one))),
      );
      assert.equal(planRebalance(toNodes(takes), held, 1000).length, fewest);
    }),
  );
});

test('a plan that reaches the balance has one move more than the fewest at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 3 }), sizes(6, 3 * GB), (count, all) => {
      const takes = Array.from({ length: count }, () => true);
      const held = place(takes, all);
      const before = held.map(({ node }) => Number(node.slice(1)));
      const mean = sum(held.map(getLoad)) / count;
      const isBalanced = (places: readonly number[]): boolean =>
        takes.every((_, node) => {
          const load = sum(held.filter((__, index) => places[index] === node).map(getLoad));
          return Math.abs(load - mean) <= mean * TOLERANCE;
        });
      const moves = planRebalance(toNodes(takes), held, 1000);
      const target = new Map(moves.map(({ workspace, to }) => [workspace, Number(to.slice(1))]));
      if (!isBalanced(before.map((at, index) => target.get(index) ?? at))) return;
      const fewest = Array.from({ length: count ** held.length }, (_, number) =>
        before.map((__, index) => Math.floor(number / count ** index) % count),
      )
        .filter(isBalanced)
        .map((places) => places.filter((at, index) => at !== before[index]).length);
      assert.ok(moves.length <= Math.min(...fewest) + 1);
    }),
  );
});
