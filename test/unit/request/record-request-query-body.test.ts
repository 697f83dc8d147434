// The body of `_query` says the same as a query string.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../../src/request/body.ts';
import { encodeCursor } from '../../../src/request/page.ts';
import { parseListRequest, parseQueryBody } from '../../../src/request/record-request.ts';
import { LIMITS } from '../../support/fixture.ts';
import { refuses } from '../../support/refusal.ts';
import { filterText } from './filter-text.ts';

const query = (json: string) => parseQueryBody(parseBody(Buffer.from(json)), LIMITS);
const list = (text: string) => parseListRequest(text, LIMITS);
const cursor = encodeCursor({ sort: 'id,asc', keys: ['5'] });

for (const [json, same] of [
  ['{}', ''],
  ['{"page":2,"size":5}', 'page=2&size=5'],
  ['{"sort":["placedAt,desc","id"]}', 'sort=placedAt,desc&sort=id'],
  ['{"expand":["a.b","c,d"]}', 'expand=a.b&expand=c,d'],
  ['{"expand":[]}', 'expand='],
  ['{"expand":[""]}', 'expand='],
  ['{"fields":["a","b.c"]}', 'fields=a,b.c'],
  ['{"fields":[]}', 'fields='],
  ['{"count":"none"}', 'count=none'],
  [`{"after":"${cursor}"}`, `after=${cursor}`],
  ['{"page":null,"size":null,"sort":null,"expand":null,"fields":null,"count":null,"after":null,"filter":null}', ''],
  [`{"page":null,"after":"${cursor}"}`, `after=${cursor}`],
  ['{"size":1,"size":7}', 'size=7'],
] as const) {
  test(`${json} is ?${same}`, () => assert.deepEqual(query(json), list(same)));
}

test('filter is a tree', () => {
  const request = query(
    '{"filter":{"or":[{"field":"a","op":"eq","value":1.10},{"not":{"field":"b.c","op":"isNull"}}]}}',
  );
  assert.equal(filterText(request.filter), '(a eq 1.10 | !b.c isNull)');
});

for (const [json, message] of [
  ['null', 'The body must be one JSON object'],
  ['[]', 'The body must be one JSON object'],
  ['"x"', 'The body must be one JSON object'],
  ['1', 'The body must be one JSON object'],
  ['1.50', 'The body must be one JSON object'],
  [
    '{"limit":1}',
    /^Unknown member limit of the query\. Known: page, size, sort, expand, fields, count, after, filter, search, versions, preview$/,
  ],
  ['{"filters":{}}', /^Unknown member filters of the query\. Did you mean filter\?/],
  ['{"_":1}', /^Unknown member _ of the query\./],
  ['{"__proto__":{}}', /^Unknown member __proto__ of the query\./],
  ['{"or":[]}', /^Unknown member or of the query\./],
  ['{"page":"1"}', 'page must be an integer'],
  ['{"page":true}', 'page must be an integer'],
  ['{"page":1.5}', /^page must be an integer from 0/],
  ['{"page":-1}', /^page must be an integer from 0/],
  ['{"page":1e99}', /^page must be an integer from 0/],
  ['{"size":0}', 'size must be an integer from 1 to 1000'],
  ['{"size":[1]}', 'size must be an integer'],
  ['{"sort":"placedAt,desc"}', 'sort must be an array of strings'],
  ['{"sort":[["a"]]}', 'sort must be an array of strings'],
  ['{"sort":[null]}', 'sort must be an array of strings'],
  ['{"sort":[""]}', 'sort is malformed: a name is empty'],
  ['{"expand":"a"}', 'expand must be an array of strings'],
  ['{"expand":{"a":{}}}', 'expand must be an array of strings'],
  ['{"fields":[1]}', 'fields must be an array of strings'],
  ['{"count":1}', 'count must be a string'],
  ['{"count":"all"}', 'Unknown count all. Known: exact, estimated, none'],
  ['{"after":5}', 'after must be a string'],
  ['{"after":"junk"}', /^after is not a cursor/],
  [`{"page":0,"after":"${cursor}"}`, 'page and after do not go together: after continues from a cursor'],
  ['{"filter":"a,eq,1"}', /^filter is malformed/],
  ['{"filter":[]}', /^filter is malformed/],
] as const) {
  test(`${json} is refused`, () => refuses(() => query(json), message));
}
