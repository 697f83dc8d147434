// Rows become the envelopes of the specification; the records' text passes through as it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Text } from '../../../src/model/long-text.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { type ListPlan, planList } from '../../../src/plan/plan.ts';
import type { PageRow } from '../../../src/plan/result.ts';
import { encodeCursor, parseCursor } from '../../../src/request/page.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { listEnvelope, recordEnvelope } from '../../../src/response/envelope.ts';
import { jsonParts, readBodyText } from '../../../src/response/reply.ts';
import { LIMITS, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();

function plan(query: string): ListPlan {
  return planList(parseListRequest(query, LIMITS), getEntity(SHOP, 'orders'), makePlanContext(SHOP));
}

/** The answer as text, which is the same whether the records are text or bytes. */
function respond(query: string, { data = '[]', ...row }: Partial<PageRow>, estimate?: number) {
  const respondWith = (records: Text): string => {
    const page = {
      data: records,
      total: null,
      last: null,
      more: null,
      isCounted: false,
      versions: null,
      cuts: null,
      moment: null,
      ...row,
    };
    return readBodyText(jsonParts(200, listEnvelope(page, plan(query), estimate)).body);
  };
  const text = respondWith(data as string);
  assert.equal(respondWith({ bytes: Buffer.from(data as string), release: () => undefined }), text);
  return { text, ...JSON.parse(text) };
}

/** What PostgreSQL's json_agg gives for these records. */
const aggregated = (...records: string[]): string => `[${records.join(', \n ')}]`;

test('a record is data, digit by digit', () => {
  assert.equal(recordEnvelope('{"id":1,"total":1.50}').join(''), '{"data":{"id":1,"total":1.50}}');
});

test('a list is data and meta', () => {
  const { text } = respond('page=1&size=2', { data: aggregated('{"id":3}', '{"id":4}'), total: '5', last: '["4"]' });
  const cursor = encodeCursor({ sort: 'id,asc', keys: ['4'] });
  assert.equal(
    text,
    `{"data":[{"id":3}, \n {"id":4}],"meta":{"page":1,"size":2,"totalElements":5,"totalPages":3,"nextCursor":"${cursor}"}}`,
  );
});

for (const [query, total, pages, hasNext] of [
  ['size=2', '0', 0, false],
  ['size=2', '1', 1, false],
  ['size=2', '2', 1, false],
  ['size=2', '3', 2, true],
  ['size=2&page=1', '3', 2, false],
  ['size=2&page=1', '4', 2, false],
  ['size=2&page=1', '5', 3, true],
  ['size=2&page=9', '5', 3, false],
] as const) {
  test(`?${query} of ${total} records has ${pages} pages and ${hasNext ? 'a next one' : 'no next one'}`, () => {
    const isPast = query === 'size=2&page=9' || total === '0';
    const { meta } = respond(query, { total, last: isPast ? null : '["2"]' });
    assert.equal(meta.totalElements, Number(total));
    assert.equal(meta.totalPages, pages);
    assert.equal(meta.nextCursor !== null, hasNext);
  });
}

test('the cursor holds the sort and the keys of the last record', () => {
  const { meta } = respond('size=1&sort=total,desc', { data: '[{}]', total: '9', last: '[null, "4"]' });
  assert.deepEqual(parseCursor(meta.nextCursor), { sort: 'total,desc;id,desc', keys: [null, '4'] });
});

test('without a total the record more is cut off, and tells that a page follows', () => {
  const records = ['{"id":1,"status":"a, \\n b"}', '{"id":2}', '{"id":3}'];
  const { data, meta } = respond('count=none&size=2', { data: aggregated(...records), last: '["2"]', more: true });
  assert.deepEqual(data, [{ id: 1, status: 'a, \n b' }, { id: 2 }]);
  assert.deepEqual(meta, {
    page: 0,
    size: 2,
    totalElements: null,
    totalPages: null,
    nextCursor: encodeCursor({ sort: 'id,asc', keys: ['2'] }),
  });
});

test('without a total the last page is whole', () => {
  const { data, meta } = respond('count=none&size=2', {
    data: aggregated('{"id":1}', '{"id":2}'),
    last: '["2"]',
    more: false,
  });
  assert.equal(data.length, 2);
  assert.equal(meta.nextCursor, null);
});

test('a page with lists in it holds no record more', () => {
  const records = aggregated('{"id":1,"items":[{"id":1}, \n {"id":2}]}', '{"id":2,"items":[]}');
  const { data, meta } = respond('count=none&size=2&expand=items', { data: records, last: '["2"]', more: true });
  assert.equal(data.length, 2);
  assert.notEqual(meta.nextCursor, null);
});

test('after a cursor there is no page number, and the total is that of the whole list', () => {
  const query = `size=1&after=${encodeCursor({ sort: 'id,asc', keys: ['4'] })}`;
  const { data, meta } = respond(query, {
    data: aggregated('{"id":5}', '{"id":6}'),
    total: '9',
    last: '["5"]',
    more: true,
  });
  assert.deepEqual(data, [{ id: 5 }]);
  assert.equal(meta.page, null);
  assert.equal(meta.totalElements, 9);
  assert.equal(meta.totalPages, 9);
});

test('an estimate takes the place of the total, and does not say whether a page follows', () => {
  const { meta } = respond('count=estimated&size=2', { data: '[{}]', last: '["1"]', more: false }, 1000);
  assert.equal(meta.totalElements, 1000);
  assert.equal(meta.totalPages, 500);
  assert.equal(meta.nextCursor, null);
});

test('an empty list is an empty array', () => {
  assert.deepEqual(respond('', { total: '0' }).data, []);
});

test('versions and previews stand at the end of meta, each when asked for', () => {
  const cuts = '[null, [["note",30],["name",12]], null, [["note",11]]]';
  const previews = [
    { index: 1, field: 'note', length: 30 },
    { index: 1, field: 'name', length: 12 },
    { index: 3, field: 'note', length: 11 },
  ];
  const row = { data: '[]', total: '0' };
  assert.deepEqual(respond('versions=true', { ...row, versions: '["5","7"]' }).meta.versions, ['5', '7']);
  assert.deepEqual(respond('preview=10', { ...row, cuts }).meta.previews, previews);
  assert.match(
    respond('preview=10&versions=true', { ...row, cuts, versions: '[]' }).text,
    /null,"versions":\[\],"previews":\[\{/,
  );
});
