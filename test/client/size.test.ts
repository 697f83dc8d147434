// What the client costs a page that loads it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const ENTRY = join(import.meta.dirname, '../../client/src/index.ts');
const IMPORTS = /^(?:import|export)\b[^;]*? from '(.*?)';$/gm;

/** A module and what it imports, each once, as JavaScript without comments, white space, imports and exports. */
function bundle(path: string, seen: Set<string>): string {
  if (seen.has(path)) return '';
  seen.add(path);
  const code = stripTypeScriptTypes(readFileSync(path, 'utf8'));
  const needed = [...code.matchAll(IMPORTS)].map(([, target = '']) => bundle(join(dirname(path), target), seen));
  const own = code
    .replaceAll(IMPORTS, '')
    .replaceAll(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([,;{}():?=>&|+]) ?/g, '$1');
  return needed.join('') + own;
}

test('the client is less than 7 KiB, compressed', () => {
  const seen = new Set<string>();
  const code = bundle(ENTRY, seen);
  // A minifier, which also renames what is local, makes 5.6 kB of it.
  assert.ok(gzipSync(code, { level: 9 }).length < 7168, `${gzipSync(code, { level: 9 }).length} bytes`);
  assert.ok(seen.size > 5 && !code.includes('import '));
});
