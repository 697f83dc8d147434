// Bodies and parameters of bulk writes, by table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../../src/request/body.ts';
import { parseDeleteBody, parseIds, parseItem, parseRecords } from '../../../src/request/bulk.ts';
import { refuses } from '../../support/refusal.ts';

const json = (text: string): unknown => parseBody(Buffer.from(text));

const IDS: readonly (readonly [query: string, ids: readonly string[]])[] = [
  ['ids=', []],
  ['ids=1', ['1']],
  ['ids=3,1,3', ['3', '1']],
  ['ids=01,1,-0', ['1', '0']],
  ['ids=1, 2', ['1', '2']],
  // No record has it.
  ['ids=9223372036854775808', ['0']],
];
for (const [query, ids] of IDS) {
  test(`${query} names ${ids.length} records`, () => assert.deepEqual(parseIds(query, 5).ids, ids));
}

test('ids that are none, or too many', () => {
  refuses(() => parseIds('ids=a', 5), 'ids must be integers, and a is none');
  refuses(() => parseIds('', 5), 'ids is missing: DELETE …/_bulk?ids=1,2,3');
  refuses(
    () => parseIds('ids=1,2,3', 2),
    'The request names 3 records, and 2 are the most; send them in parts',
    'PAYLOAD_TOO_LARGE',
  );
});

const ITEMS: readonly (readonly [text: string, expected: unknown])[] = [
  ['{"id": 7, "a": 1}', { id: '7', version: undefined, fields: ['a'] }],
  ['{"id": "007", "$version": "12.abc"}', { id: '7', version: '12', fields: [] }],
  ['{"id": 99999999999999999999}', { id: '0', version: undefined, fields: [] }],
  ['{"a": 1}', ['id']],
  ['{"id": null}', ['id']],
  ['{"id": 1.0}', ['id']],
  ['{"id": {}}', ['id']],
  ['{"id": 1, "$version": null}', ['$version']],
  ['[1]', [null]],
  ['5', [null]],
];
for (const [text, expected] of ITEMS) {
  test(`an item of an update: ${text}`, () => {
    const item = parseItem(json(text), 0);
    const found = 'id' in item ? { ...item, fields: Object.keys(item.fields) } : item.map(({ field }) => field);
    assert.deepEqual(found, expected);
  });
}

test('versions are of ids that are listed', () => {
  const { ids, versions } = parseDeleteBody(json('{"ids": [2, "1"], "versions": {"01": "5.x"}}'), 5);
  assert.deepEqual([ids, [...versions]], [['2', '1'], [['1', '5']]]);
  refuses(
    () => parseDeleteBody(json('{"ids": [2], "versions": {"1": "5"}}'), 5),
    'versions names 1, which is not among the ids',
  );
  refuses(
    () => parseDeleteBody(json('{"ids": [2], "versions": []}'), 5),
    'versions must be an object: a version by id',
  );
  refuses(() => parseDeleteBody(json('{"ids": 2}'), 5), 'ids must be an array of ids');
});

test('records are a list named data', () => {
  assert.equal(parseRecords(json('{"data": [{}, {}]}'), 2).length, 2);
  refuses(() => parseRecords(json('{"data": {}}'), 2), 'The body must be {"data": [record, …]}');
  refuses(() => parseRecords(json('[]'), 2), 'The body must be one JSON object');
});
