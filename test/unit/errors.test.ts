// The words of every refusal. That scenarios are answered with them is held by test/support/error-catalog.ts.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CODE_BY_REASON, REASONS } from '../../src/error-codes.ts';
import { REFUSALS, saysSo } from '../support/error-catalog.ts';
import { ERRORS_PAGE, withReasons } from '../support/error-reasons.ts';

for (const [name, refusal] of Object.entries(REFUSALS)) {
  test(`${name} has its words, and a file whose scenarios are answered with them`, () => {
    const { message } = refusal.made();
    assert.ok(saysSo(message, refusal), message);
    assert.ok(existsSync(join(import.meta.dirname, '..', refusal.file)), refusal.file);
  });
}

test('no two refusals have the same words', () => {
  const all = Object.values(REFUSALS);
  for (const one of all) {
    const alike = all.filter((other) => saysSo(one.made().message, other));
    assert.deepEqual(alike, [one]);
  }
});

test('the page of errors has every reason: `npm run generate` writes it', () => {
  const page = readFileSync(ERRORS_PAGE, 'utf8');
  assert.equal(page, withReasons(page));
});

test('every reason belongs to one code', () => {
  const all = Object.values(REASONS).flatMap((reasons) => Object.keys(reasons));
  assert.equal(all.length, Object.keys(CODE_BY_REASON).length);
});
