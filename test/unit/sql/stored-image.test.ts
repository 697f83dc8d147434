// What events show of images of records as they are stored, against the forms that PostgreSQL writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import type { FeedView } from '../../../src/plan/feed.ts';
import type { FeedRow } from '../../../src/plan/result.ts';
import { makeImageReader, splitMembers } from '../../../src/sql/stored-image.ts';

const MEMBERS: readonly (readonly [name: string, text: string, members: Readonly<Record<string, string>>])[] = [
  ['nothing', '{}', {}],
  ['a number with its digits', '{"a":12.50,"b":-1e-7}', { a: '12.50', b: '-1e-7' }],
  ['words', '{"a":null,"b":true,"c":false}', { a: 'null', b: 'true', c: 'false' }],
  ['spaces of jsonb', '{"a": 1, "b": "x", "c": null}', { a: '1', b: '"x"', c: 'null' }],
  ['quotes and backslashes', '{"a":"\\"}, {\\\\","b":"\\\\\\""}', { a: '"\\"}, {\\\\"', b: '"\\\\\\""' }],
  ['empty texts', '{"a":"","b":""}', { a: '""', b: '""' }],
  ['brackets in texts', '{"a":"[{","b":1}', { a: '"[{"', b: '1' }],
  ['values in values', '{"a":{"b":[1,{"c":"]}"}]},"d":[]}', { a: '{"b":[1,{"c":"]}"}]}', d: '[]' }],
  ['a name with an escape', '{"a\\"b":1}', { 'a"b': '1' }],
];
for (const [name, text, members] of MEMBERS) {
  test(`members: ${name}`, () => assert.deepEqual(Object.fromEntries(splitMembers(text)), members));
}

const DATETIMES: readonly (readonly [stored: string, shown: string])[] = [
  ['2026-11-22T00:43:53+00:00', '2026-11-22T00:43:53Z'],
  ['2026-11-22T00:43:53.838+00:00', '2026-11-22T00:43:53.838Z'],
  ['2026-11-22T00:43:53.8+00:00', '2026-11-22T00:43:53.800Z'],
  ['2026-11-22T01:43:53.83+01:00', '2026-11-22T00:43:53.830Z'],
  ['2026-11-22T06:13:53+05:30', '2026-11-22T00:43:53Z'],
  ['10000-01-01T00:00:00+00:00', '10000-01-01T00:00:00Z'],
  ['infinity', 'infinity'],
];
const FIELDS = [
  { name: 'id', column: 'id', type: 'bigint' },
  { name: 'at', column: 'moment', type: 'datetime' },
  { name: 'text', column: 'text', type: 'string' },
] as unknown as readonly Field[];
const view = { isAsStored: true, fields: FIELDS } as unknown as FeedView;
const ROW = { view: 0, before: false, after: true, old: null, new: null, changed: null, previous: null };
const read = (row: Partial<FeedRow>, previous = false): unknown => {
  const {
    old,
    changed,
    previous: before,
    new: after,
  } = makeImageReader({ views: [view], previous })({ ...ROW, ...row } as FeedRow);
  return { old, new: after, changed, previous: before };
};

for (const [stored, shown] of DATETIMES) {
  test(`datetimes: ${stored}`, () =>
    assert.deepEqual(read({ new: JSON.stringify({ id: 1, moment: stored, text: 'a' }) }), {
      old: null,
      new: JSON.stringify({ id: 1, at: shown, text: 'a' }),
      changed: null,
      previous: null,
    }));
}

const FLOATS: readonly (readonly [stored: string, shown: string])[] = [
  ['1e-07', '1e-07'],
  ['0.0000001', '1e-07'],
  ['0.0001', '0.0001'],
  ['-2.5', '-2.5'],
  ['100000000000000', '100000000000000'],
  ['1000000000000000', '1e+15'],
  ['1.5e+300', '1.5e+300'],
  ['-0', '-0'],
  ['"NaN"', '"NaN"'],
  ['null', 'null'],
];
for (const [stored, shown] of FLOATS) {
  test(`floats: ${stored}`, () => {
    const fields = [{ name: 'ratio', column: 'ratio', type: 'float' }] as unknown as readonly Field[];
    const one = { isAsStored: true, fields } as unknown as FeedView;
    const row = { ...ROW, new: `{"ratio":${stored}}` } as FeedRow;
    assert.equal(makeImageReader({ views: [one], previous: false })(row).new, `{"ratio":${shown}}`);
  });
}

const OLD = '{"id":1,"moment":"2026-11-22T01:00:00+01:00","text":"a"}';
const NEW = '{"id": 1, "moment": "2026-11-22T00:00:00+00:00", "text": "b", "later": 2}';
const SHOWN_OLD = '{"id":1,"at":"2026-11-22T00:00:00Z","text":"a"}';
const SHOWN_NEW = '{"id":1,"at":"2026-11-22T00:00:00Z","text":"b"}';

test('an update has the fields that differ, with their values before where they are asked for', () => {
  const update = { before: true, old: OLD, new: NEW };
  assert.deepEqual(read(update), { old: null, new: SHOWN_NEW, changed: '"text"', previous: null });
  assert.deepEqual(read(update, true), { old: null, new: SHOWN_NEW, changed: '"text"', previous: '{"text":"a"}' });
  assert.deepEqual(read({ ...update, old: NEW }, true), { old: null, new: SHOWN_NEW, changed: '', previous: '{}' });
});

test('a deletion has the record before where it is asked for, and a column that was added later is null', () => {
  const deletion = { before: true, after: false, old: OLD };
  assert.deepEqual(read(deletion), { old: null, new: null, changed: null, previous: null });
  assert.deepEqual(read(deletion, true), { old: SHOWN_OLD, new: null, changed: null, previous: null });
  assert.deepEqual(read({ new: '{"id":1}' }), {
    old: null,
    new: '{"id":1,"at":null,"text":null}',
    changed: null,
    previous: null,
  });
});

test('events without a record stay as they are', () => {
  const control = { after: false, new: '{"reason":"off"}' };
  assert.deepEqual(read(control), { old: null, new: '{"reason":"off"}', changed: null, previous: null });
});

const SAME = [
  { name: 'id', column: 'id', type: 'bigint' },
  { name: 'at', column: 'at', type: 'datetime' },
  { name: 'text', column: 'text', type: 'string' },
] as unknown as readonly Field[];
const TIME = '"2026-11-22T00:43:53.8+00:00"';
const SHOWN = '"2026-11-22T00:43:53.800Z"';
const ORDERS: readonly (readonly [name: string, stored: string, shown: string])[] = [
  [
    'the order of the fields',
    `{"id":1,"at":${TIME},"text":"a, \\"at\\":"}`,
    `{"id":1,"at":${SHOWN},"text":"a, \\"at\\":"}`,
  ],
  ['another order', `{"at":${TIME},"text":"}","id":1}`, `{"id":1,"at":${SHOWN},"text":"}"}`],
  ['a column that is not shown', `{"id":1,"at":null,"text":"a","more":2}`, '{"id":1,"at":null,"text":"a"}'],
  ['a column that was added later', `{"id":1,"at":${TIME}}`, `{"id":1,"at":${SHOWN},"text":null}`],
  ['spaces of jsonb', `{"id": 1, "at": ${TIME}, "text": "a, b"}`, `{"id":1,"at":${SHOWN},"text":"a, b"}`],
];
for (const [name, stored, shown] of ORDERS) {
  const same = { isAsStored: true, fields: SAME } as unknown as FeedView;
  const readSame = (row: Partial<FeedRow>) =>
    makeImageReader({ views: [same], previous: false })({ ...ROW, ...row } as unknown as FeedRow);
  test(`members in order: ${name}`, () => {
    assert.equal(readSame({ new: stored }).new, shown);
    const { new: after, changed } = readSame({ before: true, old: stored, new: stored });
    assert.deepEqual([after, changed], [shown, '']);
  });
}
