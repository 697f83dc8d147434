import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getRecordLabel, isId, printRecordSearch } from '../../../../console/src/records/record-search.ts';
import type { RecordValue } from '../../../../console/src/records/value.ts';

test('candidates are asked for by their label or their id', () => {
  for (const [label, typed, or, sort] of [
    ['name', '', [], 'name'],
    ['name', '  ada ', ['name,contains,ada'], 'name'],
    ['name', '17', ['id,eq,17;name,contains,17'], 'id'],
    ['name', 'a;b', ['name,contains,a\\;b'], 'name'],
    ['name', '9'.repeat(19), [`name,contains,${'9'.repeat(19)}`], 'name'],
    [undefined, '', [], 'id'],
    [undefined, '17', ['id,eq,17'], 'id'],
  ] as const) {
    const asked = new URLSearchParams(printRecordSearch(label, typed));
    assert.deepEqual(asked.getAll('or'), or, `${label} ${typed}`);
    assert.equal(asked.get('sort'), sort);
    assert.equal(asked.get('fields'), label === undefined ? 'id' : 'id,name');
  }
});

test('without a label only an id can be found', () => {
  assert.equal(printRecordSearch(undefined, 'ada'), undefined);
  assert.deepEqual(['0', '123456789012345678', '1234567890123456789', '-1', '', '1a'].map(isId), [
    ...[true, true],
    ...[false, false, false, false],
  ]);
});

test('a record is called by its label, else by its id', () => {
  const record: RecordValue = { id: '7', constructor: 'Ada', name: '', n: null };
  assert.equal(getRecordLabel(record, 'constructor'), 'Ada');
  for (const label of ['name', 'n', 'toString', undefined]) assert.equal(getRecordLabel(record, label), 'record 7');
});
