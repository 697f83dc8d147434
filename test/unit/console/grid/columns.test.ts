import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countPinned,
  DEFAULT_LAYOUT,
  moveColumn,
  orderColumns,
  parseLayout,
  printLayout,
  setPinned,
  setVisible,
  setWidth,
} from '../../../../console/src/grid/columns.ts';

const ALL = ['id', 'name', 'constructor', 'total'];

test('columns are hidden and come back where they were', () => {
  const hidden = setVisible(DEFAULT_LAYOUT, ALL, 'name', false);
  assert.deepEqual(orderColumns(hidden, ALL), ['id', 'constructor', 'total']);
  assert.deepEqual(setVisible(hidden, ALL, 'name', true), DEFAULT_LAYOUT);
  const moved = moveColumn(hidden, ALL, 'total', -1);
  assert.deepEqual(orderColumns(setVisible(moved, ALL, 'name', true), ALL), ['id', 'total', 'constructor', 'name']);
  const last = setVisible(
    setVisible(setVisible(hidden, ALL, 'id', false), ALL, 'total', false),
    ALL,
    'constructor',
    false,
  );
  assert.deepEqual(orderColumns(last, ALL), ['constructor'], 'the last one stays');
});

test('pinned columns stand first, and neither kind moves among the other', () => {
  const layout = setPinned(DEFAULT_LAYOUT, 'total', true);
  const names = orderColumns(layout, ALL);
  assert.deepEqual(names, ['id', 'total', 'name', 'constructor']);
  assert.equal(countPinned(layout, names), 2);
  assert.deepEqual(orderColumns(moveColumn(layout, ALL, 'name', -1), ALL), names);
  assert.deepEqual(orderColumns(moveColumn(layout, ALL, 'name', 1), ALL), ['id', 'total', 'constructor', 'name']);
  assert.deepEqual(setPinned(layout, 'total', false), DEFAULT_LAYOUT);
});

test('a layout is kept as text; what is no layout, and what is gone, is forgotten', () => {
  const layout = setWidth(setPinned(setVisible(DEFAULT_LAYOUT, ALL, 'name', false), 'id', true), 'total', 5000);
  assert.deepEqual(parseLayout(printLayout(layout)), layout);
  assert.equal(layout.widths.get('total'), 900);
  for (const text of [null, '', 'null', '[]', '{"shown":[1],"pinned":{},"widths":[["a"]]}']) {
    assert.deepEqual(parseLayout(text), DEFAULT_LAYOUT, String(text));
  }
  assert.deepEqual(orderColumns({ ...DEFAULT_LAYOUT, visible: ['gone', 'total'] }, ALL), ['total']);
});
