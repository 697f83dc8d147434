// Decimal numbers as text: parsed, written and compared exactly.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareDecimals, type Decimal, formatDecimal, parseDecimal } from '../../../src/model/decimal.ts';
import { fieldType } from '../../../src/model/field-types.ts';

const plain = (text: string): string | undefined => {
  const decimal = parseDecimal(text);
  return decimal === undefined ? undefined : formatDecimal(decimal);
};

for (const [text, written] of [
  ['-0.00', '0'],
  ['+7', '7'],
  ['.5', '0.5'],
  ['5.', '5'],
  ['1E+3', '1000'],
  ['0e999999', '0'],
] as const) {
  test(`${text} is ${written}`, () => assert.equal(plain(text), written));
}

for (const text of [
  ...['', '.', '+', '-', 'e5', '1e', '1e+', '1.2.3', '1,5', ' 1', '1 ', '--1', '0x1', 'NaN', 'Infinity', '١'],
  ...['1_000', '1n'],
]) {
  test(`"${text}" is no number`, () => assert.equal(plain(text), undefined));
}

test('a number of more than 1,000 digits on a side is refused, and none makes a string of a million zeros', () => {
  for (const [digits, ok] of [
    [1000, true],
    [1001, false],
  ] as const) {
    assert.equal(plain('9'.repeat(digits)) !== undefined, ok);
    assert.equal(plain(`0.${'9'.repeat(digits)}`) !== undefined, ok);
    assert.equal(plain(`1e${digits - 1}`) !== undefined, ok);
    assert.equal(plain(`1e-${digits}`) !== undefined, ok);
  }
  for (const text of ['1e1000', '1e999999', '1e-999999', '1e99999999', '9'.repeat(100_000)]) {
    assert.equal(plain(text), undefined);
  }
});

/** digits * 10^exponent, written in one of the ways a number can be. */
const number = fc
  .record({
    negative: fc.boolean(),
    digits: fc.bigInt({ min: 0n, max: 10n ** 30n }),
    exponent: fc.integer({ min: -40, max: 40 }),
    point: fc.nat({ max: 31 }),
    zeros: fc.nat({ max: 3 }),
  })
  .map(({ negative, digits, exponent, point, zeros }) => {
    const text = '0'.repeat(zeros) + digits;
    const at = Math.min(point, text.length);
    const whole = text.slice(0, text.length - at);
    const fraction = text.slice(text.length - at);
    const written = `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}e${exponent}`;
    return { text: written, digits: negative ? -digits : digits, exponent: exponent - at };
  });

/** The value in units of 10^-80, which every number above is a multiple of. */
const units = ({ digits, exponent }: { digits: bigint; exponent: number }): bigint =>
  digits * 10n ** BigInt(exponent + 80);

function unitsOf(decimal: Decimal): bigint {
  const value = BigInt(decimal.integer + decimal.fraction.padEnd(80, '0'));
  return decimal.negative ? -value : value;
}

test('parsing agrees with BigInt arithmetic', () => {
  fc.assert(
    fc.property(number, (one) => {
      const decimal = parseDecimal(one.text) as Decimal;
      assert.equal(unitsOf(decimal), units(one));
      assert.match(decimal.integer, /^(0|[1-9]\d*)$/);
      assert.match(decimal.fraction, /^(\d*[1-9])?$/);
    }),
  );
});

test('what is written is parsed to the same', () => {
  fc.assert(
    fc.property(number, ({ text }) => {
      const decimal = parseDecimal(text) as Decimal;
      assert.deepEqual(parseDecimal(formatDecimal(decimal)), decimal);
    }),
  );
});

test('comparing agrees with BigInt arithmetic', () => {
  fc.assert(
    fc.property(number, number, (a, b) => {
      const [left, right] = [units(a), units(b)];
      const sign = Math.sign(compareDecimals(parseDecimal(a.text) as Decimal, parseDecimal(b.text) as Decimal));
      assert.equal(sign, left < right ? -1 : left > right ? 1 : 0);
    }),
  );
});

test('a text without end that is no number is refused in no time worth counting', () => {
  // 64,000 zeros took 4 s when each of them could begin the part after the point.
  for (const text of [`${'0'.repeat(200_000)}x`, `0.${'0'.repeat(200_000)}x`, `${'9'.repeat(200_000)}e`]) {
    assert.equal(parseDecimal(text), undefined);
    assert.equal(fieldType('decimal').parseText(text, {}).ok, false);
    assert.equal(fieldType('float').parseText(text, {}).ok, false);
  }
});

test('a number as it is mostly written has the parts that it has with zeros and an exponent added', () => {
  const digits = (least: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: 14 });
  const number = fc.tuple(fc.constantFrom('', '-'), digits(1), fc.option(digits(0), { nil: undefined }));
  fc.assert(
    fc.property(number, ([sign, whole, fraction]) => {
      const text = `${whole}${fraction === undefined ? '' : `.${fraction}`}`;
      assert.deepEqual(parseDecimal(`${sign}${text}`), parseDecimal(`${sign}00${text}e0`));
    }),
    { numRuns: 2000 },
  );
});
