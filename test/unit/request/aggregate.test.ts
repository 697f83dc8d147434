// Both forms of an aggregate become one request; nothing unknown passes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FIELD_TYPE_NAMES } from '../../../src/model/field-types.ts';
import { type AggregateRequest, parseAggregateBody, parseAggregateRequest } from '../../../src/request/aggregate.ts';
import { parseBody } from '../../../src/request/body.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';
import { filterText } from './filter-text.ts';

/** The request in a line: what is not said is left out. */
function line(request: AggregateRequest): string {
  const { select, group, filter, having, sort, zone, page, size } = request;
  return [
    select.map(({ function: word, path }) => `${word}(${path?.join('.') ?? '*'})`).join(' '),
    group.length === 0
      ? ''
      : `by ${group.map(({ path, part }) => `${path.join('.')}${part ? `/${part}` : ''}`).join(' ')}`,
    filter === undefined ? '' : `where ${filterText(filter)}`,
    having === undefined ? '' : `having ${filterText(having)}`,
    sort.length === 0 ? '' : `sort ${sort.map(({ path, direction }) => `${path.join('.')} ${direction}`).join(', ')}`,
    zone === 'UTC' ? '' : `in ${zone}`,
    page === 0 && size === 100 ? '' : `page ${page} of ${size}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

const post = (text: string) => parseAggregateBody(parseBody(new TextEncoder().encode(text)));

const REQUESTS: readonly (readonly [query: string, body: string, request: string])[] = [
  ['select=count', '{"select":["count"]}', 'count(*)'],
  [
    'select=count:id,countDistinct:a.b&select=sum:total',
    '{"select":["count:id,countDistinct:a.b","sum:total"]}',
    'count(id) countDistinct(a.b) sum(total)',
  ],
  ['select=min:x, max:x', '{"select":["min:x"," max:x"]}', 'min(x) max(x)'],
  [
    'select=count&group=status,customer.country&group=placedAt:month',
    '{"select":["count"],"group":["status,customer.country","placedAt:month"]}',
    'count(*) by status customer.country placedAt/month',
  ],
  ['select=count&group=', '{"select":["count"],"group":[]}', 'count(*)'],
  ['select=count&tz=Europe/Berlin', '{"select":["count"],"tz":"Europe/Berlin"}', 'count(*) in Europe/Berlin'],
  ['select=count&page=2&size=1000', '{"select":["count"],"page":2,"size":1000}', 'count(*) page 2 of 1000'],
  [
    'select=count,avg:x&sort=avg:x,desc&sort=a.b',
    '{"select":["count","avg:x"],"sort":["avg:x,desc","a.b"]}',
    'count(*) avg(x) sort avg:x desc, a.b asc',
  ],
  [
    'select=count&having=count,gte,5&having=sum:a.b,in,1,2',
    '{"select":["count"],"having":["count,gte,5","sum:a.b,in,1,2"]}',
    'count(*) having (count gte [5] & sum:a.b in [1] [2])',
  ],
];

for (const [query, body, request] of REQUESTS) {
  test(`?${query} is ${request}`, () => assert.equal(line(parseAggregateRequest(query)), request));
  test(`${body} is ${request}`, () => assert.equal(line(post(body)), request));
}

for (const [text, request] of [
  ['{"select":["count"],"having":null,"filter":null,"tz":null,"sort":null,"page":null}', 'count(*)'],
  [
    '{"select":["count"],"having":["count,gt,1",{"not":{"field":"count","op":"eq","value":7}}]}',
    'count(*) having (count gt [1] & (!count eq 7))',
  ],
  ['{"select":["count"],"filter":{"field":"a.b","op":"eq","value":"1"}}', 'count(*) where a.b eq "1"'],
  ['{"select":["count"],"having":[{"or":[]}]}', 'count(*) having (())'],
] as const) {
  test(`${text} is ${request}`, () => assert.equal(line(post(text)), request));
}

const many = (count: number, name: string): string => Array.from({ length: count }, (_, at) => `${name}${at}`).join();

test('?filter and ?or are those of a list', () =>
  assert.equal(
    line(parseAggregateRequest('select=count&filter=a,eq,1&or=b,lt,2;c,isNull')),
    'count(*) where (a eq [1] & (b lt [2] | c isNull))',
  ));

for (const [query, message] of [
  ['', /^select is missing: .* Known: count, countDistinct, sum, avg, min, max$/],
  ['group=status', /^select is missing/],
  ['select=', /^select is missing/],
  [
    'select=total',
    /^Unknown function total in select\. Known: count, countDistinct, sum, avg, min, max, each with a field/,
  ],
  ['select=cuont', /^Unknown function cuont in select\. Did you mean count\?/],
  ['select=sum', 'select sum needs a field: sum:<field>'],
  ['select=countDistinct', 'select countDistinct needs a field: countDistinct:<field>'],
  ['select=sum:', 'select is malformed: a name is empty'],
  ['select=count,', /^Unknown function {2}in select\./],
  ['select=count,count', 'select names count twice'],
  [`select=${many(21, 'sum:a')}`, 'select names more than 20'],
  [`select=count&group=${many(6, 'a')}`, 'group names more than 5'],
  ['select=count&group=a,a', 'group names a twice'],
  [
    'select=count&group=at:minute',
    /^Unknown part minute in group at:minute\. Known: year, quarter, month, week, day, hour$/,
  ],
  ['select=count&group=count', /^count is named by select and by group.*count:id counts the records, too$/],
  ['select=min:day&group=min:day', /^min:day is named by select and by group, and the answer can hold one of them$/],
  ['select=count&tz=Mars', /^Unknown time zone Mars/],
  ['select=count&size=1001', 'size must be an integer from 1 to 1000'],
  [
    'select=count&fields=id',
    /^Unknown query parameter fields\. Known: page, filter, or, search, select, group, tz, having, sort, size$/,
  ],
  ['slect=count', /^Unknown query parameter slect\. Did you mean select\?/],
] as const) {
  test(`?${query.slice(0, 60)} is refused`, () => refuses(() => parseAggregateRequest(query), message));
}

for (const [text, message] of [
  ['7', 'The body must be one JSON object'],
  ['{}', /^select is missing/],
  ['{"select":"count"}', 'select must be an array of strings'],
  ['{"select":["count"],"having":{"field":"count","op":"gt","value":1}}', /^having must be an array of conditions/],
  ['{"select":["count"],"having":[{"field":"count"}]}', /^having is malformed: each node is/],
  [
    '{"select":["count"],"or":["a,eq,1"]}',
    /^Unknown member or of the query\. Known: page, filter, search, select, group, tz, having/,
  ],
  [`{"select":[${Array(100_000).fill('"count"').join()}]}`, 'select names more than 20'],
  [
    `{"select":["count"],"having":[${Array(300).fill('{"field":"count","op":"gt","value":1}').join()}]}`,
    'having has more than 200 nodes',
  ],
  // Counted before any is read.
  [
    `{"select":["count"],"having":["count",${Array(100).fill('"count,gt,1"').join()}]}`,
    'More than 100 filter conditions',
  ],
  [`{"select":["count"],"having":[7${',7'.repeat(100_000)}]}`, 'having has more than 200 nodes'],
] as const) {
  test(`${text.slice(0, 60)} is refused`, () => refuses(() => post(text), message));
}

test('no query string makes anything but a request or a 400', () => {
  const words = ['', ...'count sum max a a.b at month hour x , : . ;'.split(' '), ...FIELD_TYPE_NAMES];
  const word = fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary', maxLength: 5 }));
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(''));
  const name = fc.constantFrom('select', 'group', 'tz', 'having', 'filter', 'or', 'sort', 'page', 'size', 'other');
  fc.assert(
    fc.property(fc.array(fc.tuple(name, text), { maxLength: 6 }), (pairs) => {
      const query = pairs.map(([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`).join('&');
      const request = unlessBadRequest(() => parseAggregateRequest(query));
      if (request !== undefined) assert.ok(request.select.length >= 1 && request.select.length <= 20);
    }),
    { numRuns: 2000 },
  );
});
