// Query strings are split and decoded strictly.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodePart, parseParameters, parseQueryString, toCacheKey } from '../../../src/request/query-string.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';

const GOOD: readonly (readonly [query: string, parameters: readonly (readonly [string, string])[]])[] = [
  ['', []],
  ['&', []],
  ['page=1&', [['page', '1']]],
  ['&&page=1&&size=2&&', [['page', '1'], ['size', '2']]], // biome-ignore format: one row a line
  ['expand', [['expand', '']]],
  ['=1', [['', '1']]],
  ['filter=a,eq,x=y=z', [['filter', 'a,eq,x=y=z']]],
  ['sort=a&sort=b', [['sort', 'a'], ['sort', 'b']]], // biome-ignore format: one row a line
  ['a+b=c+d', [['a b', 'c d']]],
  ['a=%2B', [['a', '+']]],
  ['a%3Db=%26', [['a=b', '&']]],
  ['a=%C3%A4%F0%9F%98%80', [['a', 'ä😀']]],
  ['a=b?c', [['a', 'b?c']]],
  ['__proto__=1', [['__proto__', '1']]],
];

for (const [query, parameters] of GOOD) {
  test(`?${query} is ${JSON.stringify(parameters)}`, () => {
    const expected = parameters.map(([name, value]) => ({ name, value }));
    assert.deepEqual(parseQueryString(query), expected);
  });
}

for (const query of ['a=%', 'a=%2', 'a=%zz', 'a=%FF', 'a=%C0%AF', 'a=%ED%A0%80', 'a=%00', '%00=a', 'a=x%00y']) {
  test(`?${query} is refused`, () => {
    refuses(() => parseQueryString(query), /^The query string is malformed/);
  });
}

test('a query string of more than 200 parameters is refused', () => {
  assert.equal(parseQueryString('a=1&'.repeat(200)).length, 200);
  refuses(() => parseQueryString('a=1&'.repeat(201)), 'More than 200 query parameters');
});

test('a part that does not decode is undefined', () => {
  assert.equal(decodePart('a%20b'), 'a b');
  assert.equal(decodePart('a+b'), 'a+b');
  assert.equal(decodePart('%E4'), undefined);
});

test('what a client encodes is what is parsed', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\u0000'));
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
      const query = new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString();
      assert.deepEqual(
        parseQueryString(query),
        pairs.map(([name, value]) => ({ name, value })),
      );
    }),
  );
});

test('no text makes anything but parameters or a 400', () => {
  const junk = fc.string({ unit: fc.constantFrom('%', '0', 'f', 'F', '&', '=', '+', 'ä', '\u0000', '\ud800') });
  fc.assert(fc.property(junk, (query) => void unlessBadRequest(() => parseQueryString(query))));
});

test('parameters that start with _ are no words of a request', () => {
  for (const query of ['', 'a=1&b=2', 'fields=_x', 'a_=1', 'a=&_', 'a=1&_=2', '_=1&a=1', 'a=1&%5F=2&b=3&_c']) {
    const words = parseQueryString(toCacheKey(query));
    assert.deepEqual(
      words,
      parseQueryString(query).filter(({ name }) => !name.startsWith('_')),
      query,
    );
  }
  assert.equal(toCacheKey('a=1&_=2&b=3'), 'a=1&b=3');
});

test('operations without parameters take none, but for cache busters', () => {
  assert.equal(parseParameters('_=1', []).size, 0);
  refuses(() => parseParameters('expand=a', []), 'Unknown query parameter expand. Known: none');
  assert.deepEqual([...parseParameters('confirm=shop', ['confirm'])], [['confirm', 'shop']]);
  refuses(() => parseParameters('confirm=a&confirm=b', ['confirm']), 'Query parameter confirm may be given only once');
});
