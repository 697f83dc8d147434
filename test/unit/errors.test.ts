// The words of every refusal. That scenarios are answered with them is held by test/support/refusals.ts.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REFUSALS, saysSo } from '../support/refusals.ts';

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
