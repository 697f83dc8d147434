// Did-you-mean: the name that was probably meant, or none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closest } from '../../../src/model/closest.ts';

const FIELDS = ['id', 'name', 'email', 'country', 'placedAt', 'createdAt'];

for (const [name, known, nearest] of [
  ['nmae', FIELDS, 'name'],
  ['Name', FIELDS, 'name'],
  ['names', FIELDS, 'name'],
  ['e-mail', FIELDS, 'email'],
  ['contry', FIELDS, 'country'],
  ['placed_at', FIELDS, 'placedAt'],
  ['created_on', FIELDS, 'createdAt'],
  ['it', FIELDS, 'id'],
  ['telephone', FIELDS, null],
  ['', FIELDS, null],
  ['name', [], null],
  ['n'.repeat(81), ['n'.repeat(80)], null],
] as const) {
  test(`${name.slice(0, 20)} is near to ${nearest}`, () => assert.equal(closest(name, known), nearest));
}

test('a name that is known is the nearest to itself', () => {
  for (const name of FIELDS) assert.equal(closest(name, FIELDS), name);
});
