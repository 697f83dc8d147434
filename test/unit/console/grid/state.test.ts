import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  countCells,
  type Extent,
  type GridEvent,
  type GridState,
  getRange,
  interpretKey,
  type Key,
  type Move,
  reduce,
  START,
} from '../../../../console/src/grid/state.ts';

const EXTENT: Extent = { rowCount: 100, columnCount: 5, pageRows: 20 };
const at = (row: number, column: number): GridState => ({
  focus: { row, column },
  anchor: { row, column },
  editing: undefined,
});

test('where each move leads', () => {
  for (const [from, to, row, column] of [
    [[5, 2], 'up', 4, 2],
    [[5, 2], 'down', 6, 2],
    [[5, 2], 'left', 5, 1],
    [[5, 2], 'right', 5, 3],
    [[5, 2], 'rowStart', 5, 0],
    [[5, 2], 'rowEnd', 5, 4],
    [[5, 2], 'start', 0, 0],
    [[5, 2], 'end', 99, 4],
    [[5, 2], 'pageUp', 0, 2],
    [[5, 2], 'pageDown', 25, 2],
    [[95, 2], 'pageDown', 99, 2],
    [[5, 2], 'columnStart', 0, 2],
    [[5, 2], 'columnEnd', 99, 2],
    [[0, 2], 'up', -1, 2],
    [[-1, 2], 'up', -1, 2],
    [[-1, 2], 'down', 0, 2],
    [[-1, 2], 'pageUp', 0, 2],
    [[99, 4], 'down', 99, 4],
    [[5, 0], 'left', 5, 0],
    [[5, 4], 'next', 6, 0],
    [[99, 4], 'next', 99, 4],
    [[5, 0], 'previous', 4, 4],
    [[0, 0], 'previous', 0, 0],
  ] as const)
    assert.deepEqual(
      reduce(at(from[0], from[1]), { kind: 'move', to }, EXTENT).focus,
      { row, column },
      `${to} from ${from}`,
    );
});

test('Shift moves one corner of the range, and any other move ends it', () => {
  let state = at(5, 1);
  for (const to of ['down', 'down', 'right'] satisfies Move[])
    state = reduce(state, { kind: 'move', to, extends: true }, EXTENT);
  assert.deepEqual(getRange(state), { top: 5, bottom: 7, left: 1, right: 2 });
  assert.equal(countCells(getRange(state)), 6);
  assert.equal(countCells(getRange(reduce(state, { kind: 'move', to: 'left' }, EXTENT))), 1);
  const all = reduce(state, { kind: 'selectAll' }, EXTENT);
  assert.equal(countCells(getRange(all)), 500);
});

test('an edit ends where it began, or moves on', () => {
  const editing = reduce(at(5, 1), { kind: 'edit', typed: 'x' }, EXTENT);
  assert.deepEqual(editing.editing, { at: { row: 5, column: 1 }, typed: 'x' });
  assert.deepEqual(reduce(editing, { kind: 'leaveEdit' }, EXTENT), at(5, 1));
  assert.deepEqual(reduce(editing, { kind: 'leaveEdit', next: 'down' }, EXTENT), at(6, 1));
  assert.equal(reduce(at(-1, 1), { kind: 'edit' }, EXTENT).editing, undefined, 'a head is not edited');
});

test('a rejected value is edited again in its cell, unless another one is edited', () => {
  const event = { kind: 'editAgain', at: { row: 5, column: 1 } } as const;
  assert.deepEqual(reduce(at(6, 1), event, EXTENT), {
    ...at(5, 1),
    editing: { at: { row: 5, column: 1 }, typed: undefined },
  });
  const editing = reduce(at(6, 1), { kind: 'edit', typed: 'x' }, EXTENT);
  assert.equal(reduce(editing, event, EXTENT), editing);
  for (const gone of [-1, 100]) {
    const state = at(6, 1);
    assert.equal(reduce(state, { kind: 'editAgain', at: { row: gone, column: 1 } }, EXTENT), state);
  }
});

const key = (text: string): Key => {
  const names = text.split('+');
  return {
    key: (names.at(-1) as string).replace('Plus', '+'),
    ctrlKey: names.includes('Ctrl'),
    metaKey: names.includes('Meta'),
    shiftKey: names.includes('Shift'),
    altKey: names.includes('Alt'),
  };
};

test('what keys mean in a cell that can be edited', () => {
  for (const [text, meaning] of [
    ['ArrowDown', { event: { kind: 'move', to: 'down', extends: false } }],
    ['Shift+ArrowDown', { event: { kind: 'move', to: 'down', extends: true } }],
    ['Ctrl+Home', { event: { kind: 'move', to: 'start', extends: false } }],
    ['Meta+End', { event: { kind: 'move', to: 'end', extends: false } }],
    ['Ctrl+ArrowRight', { event: { kind: 'move', to: 'rowEnd', extends: false } }],
    ['Enter', { event: { kind: 'edit' } }],
    ['F2', { event: { kind: 'edit' } }],
    ['x', { event: { kind: 'edit', typed: 'x' } }],
    ['é', { event: { kind: 'edit', typed: 'é' } }],
    ['n', { event: { kind: 'edit', typed: 'n' } }],
    ['/', { event: { kind: 'edit', typed: '/' } }],
    ['Shift+?', { event: { kind: 'edit', typed: '?' } }],
    ['Shift+Enter', { command: 'create' }],
    ['Ctrl+Shift+F', { command: 'filter' }],
    [' ', { command: 'toggleRow' }],
    ['Delete', { command: 'clear' }],
    ['Escape', { command: 'selectNone' }],
    ['Ctrl+a', { event: { kind: 'selectAll' } }],
    ['Ctrl+z', { command: 'undo' }],
    ['Ctrl+Shift+Z', { command: 'redo' }],
    ['Ctrl+d', { command: 'fillDown' }],
    ['Ctrl+Enter', { command: 'open' }],
    ['Ctrl+c', undefined],
    ['Ctrl+v', undefined],
    ['Ctrl+f', undefined],
    ['Alt+ArrowLeft', undefined],
    ['Tab', undefined],
    ['Shift', undefined],
    ['F5', undefined],
  ] as const)
    assert.deepEqual(interpretKey(key(text), at(5, 1), true), meaning, text);
});

test('what keys mean in a head, and in a cell that is only read', () => {
  assert.deepEqual(interpretKey(key('Enter'), at(-1, 1), true), { command: 'activateHeader' });
  assert.deepEqual(interpretKey(key(' '), at(-1, 1), false), { command: 'activateHeader' });
  assert.equal(interpretKey(key('x'), at(-1, 1), true), undefined);
  assert.deepEqual(interpretKey(key('Enter'), at(5, 1), false), { command: 'open' });
  assert.deepEqual(interpretKey(key('Shift+Enter'), at(-1, 1), false), { command: 'activateHeader' });
  for (const text of ['n', '/', 'Shift+?']) assert.equal(interpretKey(key(text), at(5, 1), false), undefined, text);
  assert.equal(interpretKey(key('Delete'), at(5, 1), false), undefined);
});

test('whatever happens, the focus stays within the grid', () => {
  const move = fc.constantFrom<Move>(
    'up',
    'down',
    'left',
    'right',
    'end',
    'start',
    'pageUp',
    'pageDown',
    'next',
    'previous',
  );
  const event: fc.Arbitrary<GridEvent> = fc.oneof(
    fc.record({ kind: fc.constant('move' as const), to: move, extends: fc.boolean() }),
    fc.record({ kind: fc.constant('go' as const), to: fc.record({ row: fc.integer(), column: fc.integer() }) }),
    fc.constant({ kind: 'selectAll' as const }),
    fc.constant({ kind: 'shape' as const }),
  );
  const extent = fc.record({
    rowCount: fc.nat(30),
    columnCount: fc.integer({ min: 1, max: 9 }),
    pageRows: fc.constant(5),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(event, extent)), (events) => {
      let state = START;
      for (const [one, now] of events) {
        state = reduce(state, one, now);
        for (const { row, column } of [state.focus]) {
          assert.ok(row >= -1 && row < Math.max(1, now.rowCount));
          assert.ok(column >= 0 && column < now.columnCount);
        }
      }
    }),
    { numRuns: 1000 },
  );
});
