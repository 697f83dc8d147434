import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  arranged,
  layoutOf,
  layoutText,
  PLAIN,
  pinnedCount,
  withMoved,
  withPinned,
  withShown,
  withWidth,
} from '../../../../console/src/grid/columns.ts';

const ALL = ['id', 'name', 'constructor', 'total'];

test('columns are hidden and come back where they were', () => {
  const hidden = withShown(PLAIN, ALL, 'name', false);
  assert.deepEqual(arranged(hidden, ALL), ['id', 'constructor', 'total']);
  assert.deepEqual(withShown(hidden, ALL, 'name', true), PLAIN);
  const moved = withMoved(hidden, ALL, 'total', -1);
  assert.deepEqual(arranged(withShown(moved, ALL, 'name', true), ALL), ['id', 'total', 'constructor', 'name']);
  const last = withShown(
    withShown(withShown(hidden, ALL, 'id', false), ALL, 'total', false),
    ALL,
    'constructor',
    false,
  );
  assert.deepEqual(arranged(last, ALL), ['constructor'], 'the last one stays');
});

test('pinned columns stand first, and neither kind moves among the other', () => {
  const layout = withPinned(PLAIN, 'total', true);
  const names = arranged(layout, ALL);
  assert.deepEqual(names, ['total', 'id', 'name', 'constructor']);
  assert.equal(pinnedCount(layout, names), 1);
  assert.deepEqual(arranged(withMoved(layout, ALL, 'id', -1), ALL), names);
  assert.deepEqual(arranged(withMoved(layout, ALL, 'id', 1), ALL), ['total', 'name', 'id', 'constructor']);
  assert.deepEqual(withPinned(layout, 'total', false), PLAIN);
});

test('a layout is kept as text; what is no layout, and what is gone, is forgotten', () => {
  const layout = withWidth(withPinned(withShown(PLAIN, ALL, 'name', false), 'id', true), 'total', 5000);
  assert.deepEqual(layoutOf(layoutText(layout)), layout);
  assert.equal(layout.widths.get('total'), 900);
  for (const text of [null, '', 'null', '[]', '{"shown":[1],"pinned":{},"widths":[["a"]]}']) {
    assert.deepEqual(layoutOf(text), PLAIN, String(text));
  }
  assert.deepEqual(arranged({ ...PLAIN, shown: ['gone', 'total'] }, ALL), ['total']);
});
