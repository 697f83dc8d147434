// Where there is no browser, tests of the console are skipped with the reason, and nothing is prepared for them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

test('a file of the console is skipped without a failure', () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const file = join(import.meta.dirname, 'records.test.ts');
  const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', file], {
    env: { ...env, WDA_TEST_CHROMIUM: join(import.meta.dirname, 'none') },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /# needs Chromium/);
  assert.match(stdout, /^ℹ pass 0\nℹ fail 0$/m);
  assert.doesNotMatch(stdout, /failing tests|TypeError/);
});
