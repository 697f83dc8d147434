import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../../console/src/api/json.ts';
import { complete } from '../../../../console/src/schema/completion.ts';
import { findCursor } from '../../../../console/src/schema/cursor.ts';
import { SCHEMA_DOCUMENT_JSON_SCHEMA } from '../../../../src/schema/format.ts';

const SHAPE = JSON.parse(JSON.stringify(SCHEMA_DOCUMENT_JSON_SCHEMA)) as Json;

/** `|` is the cursor. */
const at = (text: string, format: 'yaml' | 'json') => {
  const offset = text.indexOf('|');
  return [text.replace('|', ''), offset, format] as const;
};

const labels = (text: string, format: 'yaml' | 'json' = 'yaml'): readonly string[] =>
  complete(...at(text, format), SHAPE)?.options.map(({ label }) => label) ?? [];

test('where the cursor stands', () => {
  const path = (text: string, format: 'yaml' | 'json' = 'yaml') => {
    const cursor = findCursor(...at(text, format));
    return cursor === undefined ? undefined : `${cursor.isName ? 'in' : 'of'} ${cursor.path.join('.')}`;
  };
  assert.equal(path('entities:\n  a:\n    fi|'), 'in entities.a');
  assert.equal(path('entities:\n  a:\n    fields:\n      n: { type: integer, mi| }'), 'in entities.a.fields.n');
  assert.equal(path('entities:\n  a:\n    fields:\n      n: { type: in|'), 'of entities.a.fields.n.type');
  assert.equal(path('entities:\n  a:\n    timestamps: t|'), 'of entities.a.timestamps');
  assert.equal(path('entities:\n  a:\n    fields:\n      n:\n        type: date\n  b:\n    de|'), 'in entities.b');
  assert.equal(path('entities: # wh|'), undefined);
  assert.equal(path('{"entities": {"a": {"fields": {"n": {"type": "in|', 'json'), 'of entities.a.fields.n.type');
  assert.equal(path('{"entities": {"a": {"fields": {"n": {"type": "date", "re|', 'json'), 'in entities.a.fields.n');
  assert.equal(path('{"entities": {"a": {"indexes": [{"fields": ["x"]}, {"un|', 'json'), 'in entities.a.indexes.1');
});

test('names that the object may still have', () => {
  const names = labels('entities:\n  a:\n    fields:\n      n: { type: decimal, | }');
  assert.ok(names.includes('precision') && !names.includes('type'), names.join());
  const members = labels('entities:\n  a:\n    description: x\n    |');
  assert.ok(members.includes('fields') && !members.includes('description'), members.join());
  assert.deepEqual(labels('{|', 'json'), ['$schema', 'roles', 'entities']);
  assert.deepEqual(labels('entities:\n  a:\n    indexes:\n      - fi|'), ['fields', 'unique']);
});

test('words that a value may be', () => {
  assert.deepEqual(labels('entities:\n  a:\n    relations:\n      r: { kind: | }'), [
    'belongsTo',
    'hasMany',
    'hasOne',
    'manyToMany',
  ]);
  assert.deepEqual(labels('entities:\n  a:\n    timestamps: |'), ['true', 'false']);
  assert.deepEqual(labels('entities:\n  one: {}\n  two:\n    relations:\n      r: { entity: | }'), ['one', 'two']);
  const words = complete(...at('{"entities": {"a": {"fields": {"n": {"type": |', 'json'), SHAPE);
  assert.equal(words?.options[0]?.apply, '"string"');
});
