import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSearch, stringifySearch } from '../../../../console/src/address.ts';
import { nextSort, parseListQuery, printWindowSearch, toSearch } from '../../../../console/src/records/list-query.ts';

test('an address is a query, and a query is an address', () => {
  const address = '?filter=a,eq,1&filter=b,isNull&or=a,eq,1%3Bb,eq,2&search=tea&sort=a&sort=b,desc&expand=customer';
  const query = parseListQuery(parseSearch(address));
  assert.deepEqual(
    query.chips.map(({ kind }) => kind),
    ['filter', 'filter', 'or'],
  );
  assert.equal(stringifySearch(toSearch(query)), address);
  assert.equal(stringifySearch(toSearch(parseListQuery({}))), '');
});

test('a window is asked for by its number, or by the cursor of the one before', () => {
  const query = parseListQuery(parseSearch('?filter=a,eq,1'));
  const wanted = { window: 3, after: undefined, fields: ['id', 'a'], count: 'none' as const };
  assert.equal(
    printWindowSearch(query, wanted),
    '?filter=a,eq,1&size=100&page=3&expand=&fields=id,a&count=none&versions=true&preview=200',
  );
  assert.match(printWindowSearch(query, { ...wanted, after: 'abc' }), /&size=100&after=abc&/);
});

test('a click on a head sorts up, then down, then not; added to others with Shift', () => {
  assert.deepEqual(nextSort([], 'a', false), ['a']);
  assert.deepEqual(nextSort(['a'], 'a', false), ['a,desc']);
  assert.deepEqual(nextSort(['a,desc'], 'a', false), []);
  assert.deepEqual(nextSort(['b'], 'a', false), ['a']);
  assert.deepEqual(nextSort(['b'], 'a', true), ['b', 'a']);
  assert.deepEqual(nextSort(['b', 'a'], 'a', true), ['b', 'a,desc']);
  assert.deepEqual(nextSort(['b', 'a,desc'], 'a', true), ['b']);
});
