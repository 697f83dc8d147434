// Commands of the pages: entities that they name are there, and none fetches a package that nobody has published.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { DEMO_SCHEMA } from '../../../src/bootstrap/demo.ts';
import { processIo } from '../../../src/cli/io.ts';
import { makeProgram } from '../../../src/cli/program.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const pages = globSync(['*.md', 'client/*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT }).map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}));

test('commands for the demo workspace name its entities', () => {
  const named = pages.flatMap(({ text }) =>
    [...text.matchAll(/^ *wda .* -w demo\/shop .*--entities (\S+)/gm)].flatMap(([, names = '']) => names.split(',')),
  );
  assert.ok(named.length > 0);
  assert.deepEqual(
    named.filter((name) => !(name in DEMO_SCHEMA.entities)),
    [],
  );
});

test('no page lets npm fetch the server by its name', () => {
  const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const fetches = new RegExp(`(npx|npm (i|install|exec)|--package)\\b[^\\n/]*["' ]${name}(?![-\\w])`);
  assert.match(`npx -y --package ${name} wda`, fetches);
  assert.deepEqual(
    pages.filter(({ text }) => fetches.test(text)).map(({ path }) => path),
    [],
  );
});

/** Groups of commands that are commands themselves. */
const RUNNING_GROUPS = new Set(['changes']);

test('the page of the command line says what each command prints with --json', async () => {
  const listCommands = ({ commands }: Command, path: readonly string[] = []): string[] => [
    ...(commands.length === 0 || RUNNING_GROUPS.has(path.join(' ')) ? [path.join(' ')] : []),
    ...commands.flatMap((command) => listCommands(command, [...path, command.name()])),
  ];
  const page = readFileSync(join(ROOT, 'docs', 'reference', 'cli.md'), 'utf8');
  const rows =
    page
      .split('\n## Output for scripts\n')[1]
      ?.split('\n## ')[0]
      ?.match(/^\| `.* \|/gm) ?? [];
  const named = rows.flatMap((row) => row.split(' | ')[0]?.match(/(?<=`)[a-z][a-z -]*(?=`)/g) ?? []);
  assert.deepEqual(named.toSorted(), listCommands(await makeProgram(processIo())).toSorted());
});
