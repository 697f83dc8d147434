import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choicesOf, editorOf } from '../../../../console/src/records/editors.ts';
import type { ColumnType } from '../../../../console/src/records/fields.ts';
import { FIELD_TYPE_NAMES } from '../../../../src/model/field-types.ts';

test('each type of field has the editor that fits it', () => {
  const kinds = FIELD_TYPE_NAMES.map((type) => [
    type,
    editorOf({ type: type as ColumnType, field: { name: 'x', type, values: ['a', 'b'] } }).kind,
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
  assert.equal(editorOf({ type: 'relation' }).kind, 'record');
});

test('dates and moments have a calendar beside their text', () => {
  const calendars = (['date', 'datetime', 'time', 'string'] as const).map((type) => {
    const editor = editorOf({ type });
    return editor.kind === 'line' ? editor.calendar : 'none';
  });
  assert.deepEqual(calendars, ['date', 'datetime', undefined, undefined]);
});

test('an enum without values is typed as text', () => {
  assert.deepEqual(choicesOf({ type: 'enum' }), []);
  assert.equal(editorOf({ type: 'enum' }).kind, 'line');
});
