// The body of `_query` says the same as a query string.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../../src/request/body.ts';
import { encodeCursor } from '../../../src/request/page.ts';
import { listParameterNames } from '../../../src/request/parameters.ts';
import { parseListRequest, parseQueryBody } from '../../../src/request/record-request.ts';
import { refuses } from '../../support/error-response.ts';
import { LIMITS } from '../../support/field-types-fixture.ts';
import { filterText } from './filter-text.ts';

const query = (json: string) => parseQueryBody(parseBody(Buffer.from(json)), LIMITS);
const list = (text: string) => parseListRequest(text, LIMITS);
const cursor = encodeCursor({ sort: 'id,asc', keys: ['5'] });

for (const [json, same] of [
  ['{}', ''],
  ['{"page":2,"size":5}', 'page=2&size=5'],
  ['{"versions":true,"preview":80}', 'versions=true&preview=80'],
  ['{"versions":false}', 'versions=false'],
  ['{"sort":["placedAt,desc","id"]}', 'sort=placedAt,desc&sort=id'],
  ['{"expand":["a.b","c,d"]}', 'expand=a.b&expand=c,d'],
  ['{"expand":[]}', 'expand='],
  ['{"fields":["a","b.c"]}', 'fields=a,b.c'],
  ['{"count":"none"}', 'count=none'],
  [`{"after":"${cursor}"}`, `after=${cursor}`],
  ['{"page":null,"size":null,"sort":null,"expand":null,"fields":null,"count":null,"after":null,"filter":null}', ''],
  [`{"page":null,"after":"${cursor}"}`, `after=${cursor}`],
  ['{"size":1,"size":7}', 'size=7'],
  ['{"narrow":{}}', ''],
  [
    '{"narrow":{"a":{"size":5,"sort":["b,desc","c"],"search":"ann"},"a.b":{"size":1}}}',
    'a.size=5&a.sort=b,desc&a.sort=c&a.search=ann&a.b.size=1',
  ],
  ['{"narrow":{"a":{"size":1,"sort":null,"filter":null,"search":null}}}', 'a.size=1'],
] as const) {
  test(`${json} is ?${same}`, () => assert.deepEqual(query(json), list(same)));
}

test('filter is a tree', () => {
  const request = query(
    '{"filter":{"or":[{"field":"a","op":"eq","value":1.10},{"not":{"field":"b.c","op":"isNull"}}]}}',
  );
  assert.equal(filterText(request.filter), '(a eq 1.10 | !b.c isNull)');
});

test('a narrowing has a filter tree of its own', () => {
  const { selection } = query('{"narrow":{"a.b":{"filter":{"not":{"field":"c.d","op":"gt","value":1.10}}}}}');
  assert.deepEqual(
    selection.narrowings.map(({ path, filter }) => [path, filterText(filter)]),
    [[['a', 'b'], '!c.d gt 1.10']],
  );
});

test('filters and narrowings of a body are counted together', () => {
  const tree = (count: number) => ({ and: Array.from({ length: count }, () => ({ field: 'a', op: 'isNull' })) });
  const body = (first: number, second: number) =>
    JSON.stringify({ filter: tree(first), narrow: { a: { filter: tree(second) } } });
  assert.equal(query(body(50, 50)).selection.narrowings.length, 1);
  refuses(() => query(body(50, 51)), 'More than 100 filter conditions');
  const nested = JSON.stringify({ filter: { and: Array(150).fill({ and: [] }) }, narrow: { a: { filter: tree(49) } } });
  refuses(() => query(nested), 'narrow.a.filter has more than 200 nodes');
});

test('more paths than a request can expand are refused', () => {
  const paths = Array.from({ length: 101 }, (_, index) => [`r${index}`, {}]);
  refuses(() => query(JSON.stringify({ narrow: Object.fromEntries(paths) })), 'narrow names more than 100 paths');
});

for (const [json, message] of [
  ['{"narrow":[]}', 'narrow must be an object of paths, such as {"items": {"size": 5}}'],
  ['{"narrow":{"a":5}}', 'narrow.a must be an object with any of size, sort, filter, search'],
  ['{"narrow":{"":{}}}', 'narrow is malformed: a name is empty'],
  ['{"narrow":{"a..b":{}}}', 'narrow is malformed: a..b has an empty name'],
  [
    '{"narrow":{"a":{"siz":1}}}',
    'Unknown member siz of narrow.a. Did you mean size? Known: size, sort, filter, search',
  ],
  ['{"narrow":{"a":{"size":0}}}', 'narrow.a.size must be an integer from 1 to 1000'],
  ['{"narrow":{"a":{"sort":"b,desc"}}}', 'narrow.a.sort must be an array of strings'],
  ['{"narrow":{"a":{"filter":"b,eq,1"}}}', /^narrow\.a\.filter is malformed: each node is /],
  ['{"narrow":{"a":{"search":5}}}', 'narrow.a.search must be a string'],
  ['{"narrow":{"a":{"search":"-"}}}', /^narrow\.a\.search must have a word to look for/],
  ['[]', 'The body must be one JSON object'],
  ['null', 'The body must be one JSON object'],
  ['1.50', 'The body must be one JSON object'],
  ['{"limit":1}', `Unknown member limit of the query. Known: ${listParameterNames('query', 'body')}`],
  ['{"filters":{}}', /^Unknown member filters of the query\. Did you mean filter\?/],
  ['{"__proto__":{}}', /^Unknown member __proto__ of the query\./],
  ['{"or":[]}', /^Unknown member or of the query\./],
  ['{"page":"1"}', 'page must be an integer'],
  ['{"page":1e99}', /^page must be an integer from 0/],
  ['{"page":1.5}', /^page must be an integer from 0/],
  ['{"size":0}', 'size must be an integer from 1 to 1000'],
  ['{"sort":"placedAt,desc"}', 'sort must be an array of strings'],
  ['{"sort":[null]}', 'sort must be an array of strings'],
  ['{"expand":"a"}', 'expand must be an array of strings'],
  ['{"versions":"true"}', 'versions must be true or false, not "true"'],
  ['{"preview":0}', 'preview must be an integer from 1 to 10000'],
  ['{"count":1}', 'count must be a string'],
  ['{"count":"all"}', 'Unknown count all. Known: exact, estimated, none'],
  ['{"after":5}', 'after must be a string'],
  ['{"after":"junk"}', /^after is not a cursor/],
  [`{"page":0,"after":"${cursor}"}`, 'page and after do not go together: after continues from a cursor'],
  ['{"filter":"a,eq,1"}', /^filter is malformed/],
] as const) {
  test(`${json} is refused`, () => refuses(() => query(json), message));
}
