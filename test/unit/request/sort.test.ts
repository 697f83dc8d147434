// `<path>,<direction>` becomes a sort term.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSort } from '../../../src/request/sort.ts';
import { refuses } from '../../support/error-response.ts';

const GOOD: readonly (readonly [value: string, path: readonly string[], direction: 'asc' | 'desc'])[] = [
  ['name', ['name'], 'asc'],
  ['name,asc', ['name'], 'asc'],
  ['name,desc', ['name'], 'desc'],
  ['name,DESC', ['name'], 'desc'],
  ['name,Asc', ['name'], 'asc'],
  [' name , desc ', ['name'], 'desc'],
  ['customer.name,desc', ['customer', 'name'], 'desc'],
  ['customer.country.name', ['customer', 'country', 'name'], 'asc'],
];

for (const [value, path, direction] of GOOD) {
  test(`sort=${value} is ${path.join('.')} ${direction}`, () =>
    assert.deepEqual(parseSort([value]), [{ path, direction }]));
}

for (const [value, message] of [
  ['', 'sort is malformed: a name is empty'],
  ['customer.,asc', 'sort is malformed: customer. has an empty name'],
  ['name,', 'Unknown sort direction  in sort=name,. Known: asc, desc'],
  ['name,down', 'Unknown sort direction down in sort=name,down. Known: asc, desc'],
  ['name,asc,total,desc', /repeat the parameter for several keys$/],
  ['-price', 'sort -price is malformed: the direction follows the field. Did you mean price,desc?'],
  ['-author.name', /Did you mean author\.name,desc\?$/],
  ['price:desc', /Did you mean price,desc\?$/],
  ['price DESC', /Did you mean price,desc\?$/],
  ['price:asc', /Did you mean price,asc\?$/],
  ['name,asc,', /^sort name,asc, is malformed/],
] as const) {
  test(`sort=${value} is refused`, () => refuses(() => parseSort([value]), message));
}

test('repeated parameters are keys in their order, ten at most', () => {
  const values = Array.from({ length: 10 }, (_, index) => `f${index},desc`);
  assert.deepEqual(
    parseSort(values).map((term) => term.path[0]),
    values.map((value) => value.slice(0, 2)),
  );
  refuses(() => parseSort([...values, 'more']), 'sort has more than 10 keys');
});
