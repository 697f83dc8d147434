import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits } from '../../../../console/src/api/json.ts';
import type { RecordColumn } from '../../../../console/src/records/fields.ts';
import { describeActor, listChanges, listRestored } from '../../../../console/src/records/record-history.ts';

test('who made a change is told by name and kind', () => {
  const cases = [
    [null, 'SQL, not this API'],
    [{ kind: 'operator', id: 'operator', name: 'operator', via: 'api' }, 'operator'],
    [{ kind: 'key', id: '12', name: 'website', via: 'api' }, 'website (key)'],
    [{ kind: 'key', id: '12', name: 'Ada', via: 'console' }, 'Ada (key) in the console'],
    [{ kind: 'client', id: '7', name: null, via: 'mcp' }, 'client 7, an agent'],
  ] as const;
  assert.deepEqual(
    cases.map(([actor]) => describeActor(actor)),
    cases.map(([, words]) => words),
  );
});

const at = '2026-11-22T00:43:53.838Z';

test('an update lists its fields before and after, others their whole record', () => {
  const record = { id: new Digits('1'), constructor: 'b', total: null };
  const previous = { constructor: 'a' };
  assert.deepEqual(listChanges({ id: 'e', type: 'updated', at, changed: ['constructor'], record, previous }), [
    { name: 'constructor', before: 'a', after: 'b' },
  ]);
  assert.deepEqual(listChanges({ id: 'e', type: 'created', at, record }).at(-1), {
    name: 'total',
    before: undefined,
    after: null,
  });
  assert.deepEqual(listChanges({ id: 'e', type: 'removed', at, previous }), [
    { name: 'constructor', before: 'a', after: undefined },
  ]);
  assert.deepEqual(listChanges({ id: 'e', type: 'updated', at, redacted: true }), []);
});

test('a restore changes the writable fields that differ, and leaves those out that are not kept', () => {
  const column = (name: string, isReadOnly = false): RecordColumn => ({
    name,
    type: 'string',
    isReadOnly,
    isRequired: false,
  });
  const columns = [
    column('id', true),
    column('text'),
    column('total'),
    column('secret'),
    column('kind'),
    column('updatedAt', true),
  ];
  const record = {
    id: new Digits('1'),
    text: 'a',
    total: new Digits('1.50'),
    updatedAt: 'then',
    dropped: 'x',
    kind: null,
  };
  const current = { ...record, text: 'b', total: new Digits('1.50'), secret: 's', kind: 'k', updatedAt: 'now' };
  assert.deepEqual([...listRestored(columns, { record, unknown: ['kind'] }, current)], [['text', 'a']]);
  assert.deepEqual([...listRestored(columns, { record, unknown: ['kind'] }, undefined).keys()], ['text', 'total']);
});
