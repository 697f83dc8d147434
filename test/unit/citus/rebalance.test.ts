// The plan of a rebalance: tables, and what holds for every cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planRebalance, TOLERANCE } from '../../../src/citus/rebalance.ts';

interface Case {
  readonly what: string;
  /** Node: whether it takes workspaces. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** Workspace, node, bytes. */
  readonly held: readonly (readonly [string, string, number])[];
  readonly moves: readonly string[];
}

const CASES: readonly Case[] = [
  { what: 'nothing is there', nodes: { a: true, b: true }, held: [], moves: [] },
  { what: 'there is no node for workspaces', nodes: { a: false }, held: [['w', 'a', 5]], moves: [] },
  {
    what: 'all hold the same',
    nodes: { a: true, b: true },
    held: [
      ['w', 'a', 100],
      ['x', 'b', 95],
    ],
    moves: [],
  },
  {
    what: 'a new node gets what comes closest to half of the difference',
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
    what: 'a node that takes none is emptied first, the largest to the emptiest',
    nodes: { a: false, b: true, c: true },
    held: [
      ['w', 'a', 10],
      ['x', 'a', 30],
      ['y', 'b', 20],
    ],
    moves: ['x a>c', 'w a>b'],
  },
];

for (const { what, nodes, held, moves } of CASES) {
  test(what, () => {
    const holders = Object.entries(nodes).map(([node, takesWorkspaces]) => ({ node, takesWorkspaces }));
    const placed = held.map(([workspace, node, bytes]) => ({ workspace, node, bytes }));
    const planned = planRebalance(holders, placed, 100);
    assert.deepEqual(
      planned.map(({ workspace, from, to }) => `${workspace} ${from}>${to}`),
      moves,
    );
    assert.deepEqual(planRebalance(holders, placed, 1), planned.slice(0, 1));
  });
}

test('each workspace moves once at most, to a node that takes it, and a plan that is done leaves nothing to do', () => {
  const holders = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });
  const sizes = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 1000 })), { maxLength: 30 });
  fc.assert(
    fc.property(holders, sizes, (takes, of) => {
      const nodes = takes.map((takesWorkspaces, index) => ({ node: `n${index}`, takesWorkspaces }));
      const held = of.map(([at, bytes], workspace) => ({ workspace, node: `n${at % takes.length}`, bytes }));
      const moves = planRebalance(nodes, held, 1000);
      assert.equal(new Set(moves.map(({ workspace }) => workspace)).size, moves.length);
      const target = new Map(moves.map(({ workspace, to }) => [workspace, to]));
      const takesSome = new Set(nodes.flatMap(({ node, takesWorkspaces }) => (takesWorkspaces ? [node] : [])));
      for (const { from, to } of moves) assert.ok(from !== to && takesSome.has(to));
      if (takesSome.size === 0) return;
      const after = held.map((one) => ({ ...one, node: target.get(one.workspace) ?? one.node }));
      assert.ok(after.every(({ node }) => takesSome.has(node)));
      const spread = (all: typeof held): number => {
        const sums = [...takesSome].map((name) =>
          all.reduce((sum, { node, bytes }) => (node === name ? sum + bytes : sum), 0),
        );
        return Math.max(...sums) - Math.min(...sums);
      };
      if (takesSome.size === takes.length) assert.ok(spread(after) <= spread(held));
      const fair = held.reduce((sum, { bytes }) => sum + bytes, 0) / takesSome.size;
      if (spread(after) <= fair * TOLERANCE) assert.deepEqual(planRebalance(nodes, after, 1000), []);
    }),
  );
});
