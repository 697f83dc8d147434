// Spare values of required fields are within the bounds of their field, wherever these are, and differ.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { makeSpareValue } from '../../../src/plan/spare-value.ts';

const BASE = { role: 'data', required: true } as unknown as Field;
const RANDOM = [0n, 1n, 999_999_999_999n, 2n ** 64n + 7n, 2n ** 128n - 1n];

for (const [type, bounds] of [
  ['integer', {}],
  ['integer', { min: '2147483647' }],
  ['integer', { max: '-2147483647' }],
  ['bigint', {}],
  ['bigint', { min: '1000000000000' }],
  ['bigint', { min: '9223372036854775807' }],
  ['bigint', { max: '-1000000000000' }],
  ['float', { min: '5e12' }],
  ['float', { max: '-5e12' }],
  ['decimal', { min: '1000000000000' }],
  ['decimal', { max: '-5000000000000' }],
  ['decimal', { precision: 8, scale: 2, min: '999999.98' }],
] as const) {
  test(`${type} ${JSON.stringify(bounds)}`, () => {
    const { min = '-9.3e18', max = '9.3e18' } = bounds as { min?: string; max?: string };
    for (const random of RANDOM) {
      const value = Number(makeSpareValue({ ...BASE, type, ...bounds } as Field, random));
      assert.ok(value >= Number(min) && value <= Number(max), `${value}`);
    }
  });
}

test('short texts use every digit', () => {
  const field = { ...BASE, type: 'string', maxLength: 2 } as Field;
  const values = Array.from({ length: 36 ** 2 }, (_, index) => makeSpareValue(field, 2n ** 127n + BigInt(index)));
  assert.equal(new Set(values).size, 36 ** 2);
  assert.ok(values.every((value) => value?.length === 2));
});
