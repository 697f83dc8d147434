import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { checkJson, MAX_EXPANDED_BYTES } from '../../../src/model/json-digits.ts';

const check = (json: string) => {
  const result = checkJson(parseExact(json));
  return result.ok ? result.expandedBytes : result.mistake;
};

const ZEROS = '0'.repeat(999);
const VERDICTS: readonly (readonly [json: string, verdict: number | string])[] = [
  ['null', 0],
  ['0', 0],
  ['-12.50', 0],
  ['"1e9999"', 0],
  ['[true,{"a":1.5}]', 0],
  ['1e5', 3],
  ['-1.5E+3', 0],
  ['1e-3', 1],
  ['1e21', 18],
  ['1e-7', 5],
  ['5e-324', 320],
  ['1.7976931348623157e308', 287],
  [`1${ZEROS}`, 0],
  [`1${ZEROS}0`, 'digits'],
  [`0.${ZEROS}1`, 0],
  [`0.${ZEROS}10`, 'digits'],
  ['1e999', 995],
  ['1e1000', 'digits'],
  ['1e-1000', 995],
  ['1e-1001', 'digits'],
  ['0e-16000', 'digits'],
  ['[[{"a":[1e131000]}]]', 'digits'],
  ['1e99999999999999999999', 'digits'],
  ['"\\u0000"', 'text'],
  ['{"\\ud800":1}', 'text'],
];
for (const [json, verdict] of VERDICTS) {
  test(`${json.length > 40 ? `${json.slice(0, 10)}… of ${json.length} characters` : json} -> ${verdict}`, () => {
    assert.equal(check(json), verdict);
  });
}

test('the growth of all numbers together is bounded', () => {
  const most = Math.floor(MAX_EXPANDED_BYTES / 995);
  assert.equal(check(`[${Array(most).fill('1e999')}]`), most * 995);
  assert.equal(check(`[${Array(most + 1).fill('1e999')}]`), 'growth');
});

test('a megabyte of any doubles is taken', () => {
  assert.equal(typeof check(`[${Array(100_000).fill('6.02e-9')}]`), 'number');
  assert.equal(typeof check(`[${Array(3000).fill('5e-324')}]`), 'number');
});
