import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getAll, parseSearch, stringifySearch } from '../../../console/src/address.ts';

test('parameters are those of the API, in their order', () => {
  assert.deepEqual(parseSearch('?filter=status,eq,open&filter=total,gte,10&sort=-id'), {
    filter: ['status,eq,open', 'total,gte,10'],
    sort: '-id',
  });
  assert.equal(
    stringifySearch({ filter: ['status,eq,open', 'a,eq,&'], sort: undefined }),
    '?filter=status,eq,open&filter=a,eq,%26',
  );
  assert.deepEqual(getAll({ filter: 'a' }, 'filter'), ['a']);
  assert.deepEqual(getAll({}, 'toString'), []);
});

test('any values come back', () => {
  const search = fc.dictionary(
    fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.array(fc.string({ unit: 'grapheme' }), { minLength: 2 })),
    { noNullPrototype: true },
  );
  fc.assert(fc.property(search, (given) => assert.deepEqual(parseSearch(stringifySearch(given)), given)));
});
