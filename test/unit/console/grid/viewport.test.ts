import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  getColumnEdges,
  getOffset,
  getPoolSize,
  getScrollHeight,
  getScrollTop,
  getVisibleColumns,
  getVisibleRows,
  ROW_HEIGHT,
  scrollToColumn,
  scrollToRow,
} from '../../../../console/src/grid/viewport.ts';

test('rows in view, and some beyond', () => {
  const heights = { rowCount: 1000, view: 10 * ROW_HEIGHT };
  assert.deepEqual(getVisibleRows(0, heights, 2), { from: 0, to: 12 });
  assert.deepEqual(getVisibleRows(100 * ROW_HEIGHT + 1, heights, 0), { from: 100, to: 111 });
  assert.deepEqual(getVisibleRows(990 * ROW_HEIGHT, heights, 5), { from: 985, to: 1000 });
  assert.deepEqual(getVisibleRows(0, { rowCount: 0, view: 300 }, 5), { from: 0, to: 0 });
});

test('a list of any length scrolls from its first row to its last, and no row shares the place of another in view', () => {
  const lists = fc.record({
    rowCount: fc.integer({ min: 30, max: 50_000_000 }),
    view: fc.integer({ min: 33, max: 900 }),
  });
  fc.assert(
    fc.property(lists, fc.double({ min: 0, max: 1, noNaN: true }), (heights, part) => {
      const end = getScrollHeight(heights) - heights.view;
      assert.ok(getScrollHeight(heights) <= 16_500_000);
      assert.ok(Math.abs(getOffset(end, heights) - (heights.rowCount * ROW_HEIGHT - heights.view)) < 1);
      const { from, to } = getVisibleRows(getOffset(end * part, heights), heights, 6);
      assert.ok(to - from <= getPoolSize(heights.view, 6));
    }),
  );
});

test('a row that is scrolled to is seen whole, and what is seen does not move', () => {
  const lists = fc.record({
    rowCount: fc.integer({ min: 100, max: 5_000_000 }),
    view: fc.integer({ min: 40, max: 900 }),
  });
  fc.assert(
    fc.property(lists, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (heights, any, part) => {
      const row = any % heights.rowCount;
      const before = part * (getScrollHeight(heights) - heights.view);
      const after = scrollToRow(row, before, heights) ?? before;
      const offset = getOffset(after, heights);
      assert.ok(row * ROW_HEIGHT >= offset - 0.01 && (row + 1) * ROW_HEIGHT <= offset + heights.view + 0.01);
      assert.equal(scrollToRow(row, getScrollTop(row, heights) - 0.001, heights), undefined);
    }),
  );
});

test('columns in view by their edges', () => {
  const edges = getColumnEdges([10, 20, 30, 40]);
  assert.deepEqual(edges, [0, 10, 30, 60, 100]);
  assert.deepEqual(getVisibleColumns(edges, 0, 10), { from: 0, to: 1 });
  assert.deepEqual(getVisibleColumns(edges, 10, 31), { from: 1, to: 3 });
  assert.deepEqual(getVisibleColumns(edges, 99, 500), { from: 3, to: 4 });
  assert.deepEqual(getVisibleColumns([0], 0, 100), { from: 0, to: 0 });
});

test('a column is scrolled to beside the pinned ones', () => {
  const widths = { edges: getColumnEdges([50, 100, 100, 100]), pinned: 1, view: 200 };
  assert.equal(scrollToColumn(0, 100, widths), undefined);
  assert.equal(scrollToColumn(1, 100, widths), 0);
  assert.equal(scrollToColumn(1, 0, widths), undefined);
  assert.equal(scrollToColumn(3, 0, widths), 150);
});
