// Numbers of answers keep their digits, whatever the runtime can do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../client/src/json.ts';

const NUMBERS: readonly (readonly [token: string, value: number | string])[] = [
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['9007199254740994', 9007199254740994],
  ['12345678901234567890.10', '12345678901234567890.10'],
  ['1.10', 1.1],
  ['1.1000000000000000000000', 1.1],
  ['0.1', 0.1],
  ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
  ['1e-7', 1e-7],
  ['0.00000000000000000001', 1e-20],
  ['100000000000000000000000', 1e23],
  ['1.7976931348623157e+308', Number.MAX_VALUE],
  ['0.0000000000000000000000', 0],
  [`1${'0'.repeat(400)}`, `1${'0'.repeat(400)}`],
];

for (const [token, value] of NUMBERS) {
  test(`${token.slice(0, 40)} is ${typeof value === 'number' ? 'a number' : 'its text'}`, () => {
    assert.deepEqual(parseJson(`{"a":[${token}],"b":${token}}`), { a: [value], b: value });
  });
}

test('digits in texts stay texts', () => {
  const texts = [
    '9007199254740993',
    '"9007199254740993',
    '\\',
    '\\"',
    'a\\": 12345678901234567890',
    '12345678901234567890\\',
  ];
  assert.deepEqual(parseJson(JSON.stringify({ texts, '12345678901234567890': 1 })), {
    texts,
    '12345678901234567890': 1,
  });
});

test('a text of millions of escapes is read', () => {
  const text = '\n'.repeat(5_000_000);
  assert.deepEqual(parseJson(`{"text":${JSON.stringify(text)},"n":9007199254740993}`), { text, n: '9007199254740993' });
});

test('everything else is as JSON.parse has it', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(parseJson(`[9007199254740993,${text}]`), ['9007199254740993', JSON.parse(text)]);
    }),
  );
});

test('a number that was kept as text has the digits of its token', () => {
  const token = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.nat(30)).map(([digits, scale]) => {
    const text = String(digits).padStart(scale + 1, '0');
    return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
  });
  fc.assert(
    fc.property(token, (text) => {
      const value = parseJson(`[${text}]`) as (number | string)[];
      if (typeof value[0] === 'string') assert.equal(value[0], text);
      // BigInt arithmetic: both scaled to 60 digits behind the point.
      else assert.equal(scaled(text), scaled(value[0] as number));
    }),
  );
});

function scaled(value: string | number): bigint {
  const [, whole = '', part = '', power = '0'] = /^(\d+)\.?(\d*)(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  return BigInt(whole + part) * 10n ** BigInt(60 - part.length + Number(power));
}

test('a bigint is sent with all of its digits', () => {
  const sent = stringifyJson({ small: 5n, large: 9007199254740993n, list: [1n], text: '1', left: undefined });
  assert.equal(sent, '{"small":5,"large":"9007199254740993","list":[1],"text":"1"}');
});

test('what JSON has no number for is refused, not made null', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => stringifyJson({ data: [{ total: value }] }), {
      name: 'TypeError',
      message: `total is ${value}`,
    });
  }
});
