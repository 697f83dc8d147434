// Integers, words and the cursor.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseChoice, parseInteger } from '../../../src/request/forms.ts';
import { encodeCursor, MAX_PAGE, parseCursor } from '../../../src/request/page.ts';
import { refusalOf, refuses, unlessBadRequest } from '../../support/error-response.ts';

for (const [text, page] of [
  ['0', 0],
  ['7', 7],
  ['007', 7],
  ['1000000000000', 1e12],
] as const) {
  test(`page=${text} is ${page}`, () => assert.equal(parseInteger('page', text, 0, MAX_PAGE), page));
}

for (const text of [
  ...['', ' ', '-1', '-0', '+1', '1.0', '1.5', '1e3', '0x1', 'NaN', 'a', '1 ', '١', '1000000000001', '9'.repeat(30)],
]) {
  test(`page=${text} is refused`, () => {
    refuses(() => parseInteger('page', text, 0, MAX_PAGE), 'page must be an integer from 0 to 1000000000000');
  });
}

test('size is 1 to the maximum, and the refusal says what was meant', () => {
  assert.equal(parseInteger('size', '1', 1, 1000), 1);
  assert.equal(parseInteger('size', '1000', 1, 1000), 1000);
  for (const text of ['0', '1001', '-1', '', '1.5', 'all']) {
    refuses(() => parseInteger('size', text, 1, 1000), 'size must be an integer from 1 to 1000');
  }
  refuses(() => parseInteger('orders.size', '51', 1, 50), 'orders.size must be an integer from 1 to 50');
});

test('a word is one of those that are known', () => {
  const words = ['exact', 'estimated', 'none'];
  for (const word of words) assert.equal(parseChoice(words, word, 'count'), word);
  refuses(
    () => parseChoice(words, 'Exact', 'count'),
    'Unknown count Exact. Did you mean exact? Known: exact, estimated, none',
  );
  refuses(() => parseChoice(words, '', 'count'), 'Unknown count . Known: exact, estimated, none');
});

const NOT_A_CURSOR = 'after is not a cursor of this list: take meta.nextCursor of a response with the same sort';
const encode = (text: string): string => Buffer.from(text).toString('base64url');

for (const [name, text] of [
  ['nothing', ''],
  ['characters outside of the alphabet', 'a+b/c='],
  ['no JSON', encode('x')],
  ['no array', encode('{"sort":"id,asc"}')],
  ['an empty array', encode('[]')],
  ['a sort without keys', encode('["id,asc"]')],
  ['a sort that is null', encode('[null,"1"]')],
  ['a key that is a number', encode('["id,asc",1]')],
  ['a key that is an array', encode('["id,asc",["1"]]')],
  ['bytes that are not UTF-8', Buffer.from([0x5b, 0xff, 0x5d]).toString('base64url')],
] as const) {
  test(`after is refused when it holds ${name}`, () => refuses(() => parseCursor(text), NOT_A_CURSOR));
}

test('a cursor is the text of base64url alone, so that it needs no escaping', () => {
  assert.match(encodeCursor({ sort: 'name,asc;id,asc', keys: ['Zoë?>~', null, '1'] }), /^[A-Za-z0-9_-]+$/);
});

const key = fc.option(fc.string({ unit: 'binary' }), { nil: null });

test('a cursor comes back as it was encoded', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(key, { minLength: 1 }), (sort, keys) => {
      assert.deepEqual(parseCursor(encodeCursor({ sort, keys })), { sort, keys });
    }),
  );
});

test('junk in after is 400 and nothing else', () => {
  const junk = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map(encode),
    fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
  );
  fc.assert(
    fc.property(junk, (text) => {
      const cursor = unlessBadRequest(() => parseCursor(text));
      if (cursor === undefined) assert.equal(refusalOf(() => parseCursor(text)).message, NOT_A_CURSOR);
      else assert.ok(cursor.keys.length > 0);
    }),
  );
});
