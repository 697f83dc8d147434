// The stamp of the console's sources.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { computeBuildId, isStaleBuild } from '../../../src/console-api/build-id.ts';

const CONSOLE = join(import.meta.dirname, '../../../console');

test('a build is stale when a source has changed since', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'console-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['src', 'index.html', 'package.json'])
    cpSync(join(CONSOLE, name), join(folder, name), { recursive: true });
  assert.equal(isStaleBuild(folder), false, 'without a build');
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/build-id.txt'), computeBuildId(CONSOLE));
  assert.equal(isStaleBuild(folder), false, 'the same sources elsewhere');
  writeFileSync(join(folder, 'src/console.css'), 'body {}');
  assert.equal(isStaleBuild(folder), true);
  rmSync(join(folder, 'src'), { recursive: true });
  assert.equal(isStaleBuild(folder), false, 'a package has no sources');
});
