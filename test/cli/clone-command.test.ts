// The command of a clone: from any folder, by a link, and in scripts of npm, with an older Node.js on the PATH.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { useFolder } from '../support/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const skip = process.platform === 'win32' ? 'is a script of the shell' : false;
const folder = useFolder();

/** A folder whose `node` fails, as one that is too old would. */
function makeOldNode(): string {
  const place = join(folder, 'old');
  mkdirSync(place);
  writeFileSync(join(place, 'node'), '#!/bin/sh\nexit 1\n');
  chmodSync(join(place, 'node'), 0o755);
  return place;
}

test('wda of a clone runs in any folder, also by a link, whatever Node.js is on the PATH', { skip }, () => {
  const link = join(folder, 'wda');
  symlinkSync(join(ROOT, 'bin/wda'), link);
  const env = { ...process.env, PATH: `${makeOldNode()}:${process.env.PATH}` };
  for (const command of [join(ROOT, 'bin/wda'), link]) {
    assert.equal(execFileSync(command, ['--version'], { cwd: folder, env, encoding: 'utf8' }), `${manifest.version}\n`);
  }
});

test('npm ci links it for scripts, again and again', { skip }, () => {
  const clone = join(folder, 'clone');
  cpSync(join(ROOT, 'bin'), join(clone, 'bin'), { recursive: true });
  mkdirSync(join(clone, 'node_modules/.bin'), { recursive: true });
  symlinkSync(process.execPath, join(clone, 'node_modules/.bin/node'));
  mkdirSync(join(clone, 'src'));
  writeFileSync(join(clone, 'src/main.ts'), 'console.log(process.argv.slice(2).join())');
  const scripts = { wda: 'wda a "b c"' };
  writeFileSync(join(clone, 'package.json'), JSON.stringify({ type: 'module', scripts }));
  assert.match(manifest.scripts.prepare, / && node bin\/link\.mjs$/);
  for (let round = 0; round < 2; round++) execFileSync(process.execPath, ['bin/link.mjs'], { cwd: clone });
  const printed = execFileSync('npm', ['run', '-s', 'wda'], { cwd: clone, encoding: 'utf8' });
  assert.equal(printed, 'a,b c\n');
  assert.equal(execFileSync('npx', ['--no-install', 'wda', 'd'], { cwd: clone, encoding: 'utf8' }), 'd\n');
});
