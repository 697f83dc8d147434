// Scripts of the console that a browser loads, in bytes of gzip: those of the page before its first screen, and with those of
// each screen. The diagram and the editor of the schema are loaded when they are shown.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';

const DIST = join(import.meta.dirname, '../../console/dist');
const ASSETS = join(DIST, 'assets');
const skip = existsSync(join(DIST, 'index.html')) ? false : 'needs the console: node console/build.mjs';

const MAX_FIRST = 110_000;
const MAX_SCREEN = 225_000;
const MAX_MEDIAN = 160_000;

const readScript = (name: string): string => readFileSync(join(ASSETS, name), 'utf8');

/** Adds the script and all that it imports at once. */
function addClosure(name: string, names: Set<string>): Set<string> {
  if (names.has(name)) return names;
  names.add(name);
  for (const [, imported = ''] of readScript(name).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
    addClosure(imported, names);
  return names;
}

const measure = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + gzipSync(readScript(name)).length, 0);

test('the first load has at most 110 kB of scripts, and no screen needs more than its limit', { skip }, () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  const entry = /<script type="module"[^>]* src="[^"]*\/(index-[\w-]+\.js)"/.exec(page)?.[1];
  assert.ok(entry !== undefined, page);
  const first = addClosure(entry, new Set());
  assert.ok(measure(first) <= MAX_FIRST, `${measure(first)} bytes: ${[...first].join(', ')}`);
  const screens = readdirSync(ASSETS)
    .filter((name) => /^(?:\w+-)?screen-[\w-]+\.js$/.test(name))
    .map((name) => ({ name, bytes: measure(addClosure(name, new Set(first))) }))
    .sort((one, other) => one.bytes - other.bytes);
  assert.ok(screens.length > 20, String(screens.length));
  for (const { name, bytes } of screens) assert.ok(bytes <= MAX_SCREEN, `${name}: ${bytes} bytes`);
  const median = screens[screens.length >> 1]?.bytes ?? 0;
  assert.ok(median <= MAX_MEDIAN, `half of the screens need ${median} bytes and more`);
});
