import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntityDocument } from '../../../../console/src/api/schema.ts';
import { findRecordLabel, getRecordLabel, listLabelPaths } from '../../../../console/src/records/record-label.ts';
import { isId, listHintColumns, printRecordSearch } from '../../../../console/src/records/record-search.ts';
import type { RecordValue } from '../../../../console/src/records/value.ts';

const entity = (label: string | null, fields: Readonly<Record<string, object>>): EntityDocument => ({
  name: 'people',
  label,
  timestamps: true,
  operations: [],
  settings: { defaultExpand: [], expandable: null, maxExpandDepth: null, defaultFields: null },
  fields: new Map(Object.entries(fields).map(([name, field]) => [name, { name, type: 'string', ...field }])),
  relations: new Map(),
});

const NAMED = entity('name', { name: {} });
const STAFF = entity('{first} {last}', {
  first: {},
  title: {},
  last: {},
  code: { unique: true },
  bio: { type: 'text', searchable: true },
  data: { type: 'json' },
});

test('candidates are asked for by their texts or their id', () => {
  for (const [target, typed, or, sort] of [
    [NAMED, '', [], 'name'],
    [NAMED, '  ada ', ['name,contains,ada'], 'name'],
    [NAMED, '17', ['id,eq,17;name,contains,17'], 'id'],
    [NAMED, 'a;b', ['name,contains,a\\;b'], 'name'],
    [NAMED, '9'.repeat(19), [`name,contains,${'9'.repeat(19)}`], 'name'],
    [
      STAFF,
      'ada x',
      ['ada', 'x'].map((word) =>
        ['first', 'last', 'bio', 'code', 'title'].map((name) => `${name},contains,${word}`).join(';'),
      ),
      'first',
    ],
    [entity(null, { n: { type: 'integer' } }), '', [], 'id'],
    [entity(null, { n: { type: 'integer' } }), '17', ['id,eq,17'], 'id'],
  ] as const) {
    const asked = new URLSearchParams(printRecordSearch(target, typed));
    assert.deepEqual(asked.getAll('or'), or, typed);
    assert.equal(asked.get('sort'), sort);
  }
  assert.equal(new URLSearchParams(printRecordSearch(STAFF, '')).get('fields'), 'id,first,last,code,title');
  assert.deepEqual(
    listHintColumns(STAFF).map(({ name }) => name),
    ['code', 'title'],
  );
});

test('without a text only an id can be found', () => {
  assert.equal(printRecordSearch(entity(null, { n: { type: 'integer' } }), 'ada'), undefined);
  assert.equal(printRecordSearch(undefined, ''), undefined);
  assert.deepEqual(['0', '123456789012345678', '1234567890123456789', '-1', '', '1a'].map(isId), [
    ...[true, true],
    ...[false, false, false, false],
  ]);
});

test('a record is called by its label, else by its id', () => {
  const record: RecordValue = { id: '7', constructor: 'Ada', name: '', n: null, last: 'Lovelace' };
  assert.equal(getRecordLabel(record, 'constructor'), 'Ada');
  assert.equal(getRecordLabel(record, '{constructor} {last}'), 'Ada Lovelace');
  for (const label of ['name', 'n', 'toString', undefined]) assert.equal(getRecordLabel(record, label), 'record 7');
  assert.equal(findRecordLabel(record, '{name} {n}'), undefined);
  assert.deepEqual(listLabelPaths('{first} {last}', 'boss'), ['boss.first', 'boss.last']);
});
