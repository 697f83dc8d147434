// The body and the parameters of a batch, by table; its references are tested where they lead, in test/api/writing/.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBatch, parseBatchOptions } from '../../../src/request/batch.ts';
import { parseBody } from '../../../src/request/body.ts';
import { refuses } from '../../support/error-response.ts';

for (const [query, isDryRun] of [
  ['', false],
  ['dryRun=true&_=1', true],
] as const) {
  test(`a batch with ${query || 'nothing'}`, () => assert.deepEqual(parseBatchOptions(query), { isDryRun }));
}

for (const [query, message] of [
  ['dryRun=no', 'dryRun must be true or false, not no'],
  ['return=minimal', 'Unknown query parameter return. Known: dryRun'],
] as const) {
  test(`a batch with ${query} is refused`, () => refuses(() => parseBatchOptions(query), message));
}

const itemOf = (text: string) => parseBatch(parseBody(Buffer.from(`{"operations": [${text}]}`)), 5)[0];

for (const [text, expected] of [
  ['{"method": "GET", "entity": "a", "query": "size=1"}', { id: undefined, query: 'size=1' }],
  ['{"method": "GET", "entity": "a", "id": 9007199254740993}', { id: '9007199254740993', query: '' }],
  ['{"method": "DELETE", "entity": "a", "id": "-7"}', { id: '-7', query: '' }],
  ['{"method": "PUT", "entity": "a", "id": {"$ref": "b.id"}, "body": {}}', { id: { $ref: 'b.id' }, query: '' }],
  [
    '{"method": "POST", "entity": "a", "body": {}, "onConflict": "b,c", "conflict": "skip"}',
    { id: undefined, query: 'onConflict=b%2Cc&conflict=skip' },
  ],
  [
    '{"method": "POST", "entity": "a", "query": "_=1", "onConflict": "\\ud800"}',
    { id: undefined, query: '_=1&onConflict=%EF%BF%BD' },
  ],
] as const) {
  test(`the operation ${text}`, () => {
    const { id, query } = itemOf(text) ?? assert.fail();
    assert.deepEqual({ id, query }, expected);
  });
}

for (const [text, message] of [
  ['{"method": "GET", "entity": "a", "id": 1.5}', 'Id 1.5 is malformed: an integer is needed'],
  ['{"method": "GET", "entity": "a", "id": "x"}', 'Id x is malformed: an integer is needed'],
  ['{"method": "GET", "entity": "a", "id": ""}', 'id must be an integer or {"$ref": "<ref>.<field>"}'],
  ['{"method": "GET", "entity": "a", "id": [1]}', 'id must be an integer or {"$ref": "<ref>.<field>"}'],
  ['{"method": "GET", "entity": "a", "onConflict": "b"}', 'onConflict and conflict are for POST'],
  ['{"method": "POST", "entity": "a", "ifMatch": "x"}', 'ifMatch needs an id'],
  ['{"method": "POST", "entity": 5}', 'entity must be a string'],
] as const) {
  test(`the operation ${text} is refused`, () => refuses(() => itemOf(text), message));
}
