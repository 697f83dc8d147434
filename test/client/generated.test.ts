// The generated files of client and console are those that the server's tables give.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../support/request-tables.ts';

for (const [path, text] of Object.entries(generatedFiles())) {
  test(`${path} is as npm run generate writes it`, () => {
    assert.equal(readFileSync(join(import.meta.dirname, '../..', path), 'utf8'), text);
  });
}
