import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEditor, listChoices } from '../../../../console/src/records/editors.ts';
import type { ColumnType } from '../../../../console/src/records/fields.ts';
import { FIELD_TYPE_NAMES } from '../../../../src/model/field-types.ts';

test('each type of field has the editor that fits it', () => {
  const kinds = FIELD_TYPE_NAMES.map((type) => [
    type,
    getEditor({ type: type as ColumnType, field: { name: 'x', type, values: ['a', 'b'] } }).kind,
  ]);
  assert.deepEqual(Object.fromEntries(kinds), {
    string: 'line',
    text: 'lines',
    integer: 'line',
    bigint: 'line',
    decimal: 'line',
    float: 'line',
    boolean: 'choice',
    date: 'line',
    datetime: 'line',
    time: 'line',
    uuid: 'line',
    json: 'lines',
    enum: 'choice',
  });
  assert.equal(getEditor({ type: 'relation' }).kind, 'record');
});

test('dates and moments have a calendar beside their text', () => {
  const calendars = (['date', 'datetime', 'time', 'string'] as const).map((type) => {
    const editor = getEditor({ type });
    return editor.kind === 'line' ? editor.calendar : 'none';
  });
  assert.deepEqual(calendars, ['date', 'datetime', undefined, undefined]);
});

test('an enum without values is typed as text', () => {
  assert.deepEqual(listChoices({ type: 'enum' }), []);
  assert.equal(getEditor({ type: 'enum' }).kind, 'line');
});
