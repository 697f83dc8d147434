// The command line under a Node.js that is too old for it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

test('an older Node.js is told which one is needed: that of package.json', () => {
  const [, needed] = /^>=(\d+)$/.exec(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node) ?? [];
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(old)}`, join(ROOT, 'src/main.ts'), '--help'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.deepEqual([status, stdout, stderr], [1, '', `wda needs Node.js ${needed} or newer, and this is 20.19.0.\n`]);
});
