// The types that the command line and the console have of the admin API are those of its OpenAPI document.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentMark, readTypes } from '../../support/admin-types.ts';

test('the types of the admin API are generated from the document as it is', () => {
  assert.ok(readTypes().includes(`\n${currentMark()}\n`), 'admin-types/ is not current: npm run generate');
});
