// The types of the client: wrong uses do not compile, and large schemas cost the compiler little.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { largeTypes } from './large-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'wda-types-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the project's compiler and gives what it prints. */
const compile = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...args], (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });

/** A program that uses the package as it is published; gives what the compiler says of it. */
async function compileProgram(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const place = join(folder, name);
  mkdirSync(join(place, 'node_modules'), { recursive: true });
  symlinkSync(join(folder, 'package'), join(place, 'node_modules', 'workspace-data-client'));
  const compilerOptions = { ...options, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true };
  const all = { ...files, 'package.json': '{"type": "module"}', 'tsconfig.json': JSON.stringify({ compilerOptions }) };
  for (const [path, text] of Object.entries(all)) writeFileSync(join(place, path), text);
  return compile('-p', place, '--extendedDiagnostics');
}
const options = { target: 'es2022', module: 'nodenext', strict: true, types: [], verbatimModuleSyntax: true };

const instantiations = (said: string): number => Number(/^Instantiations:\s+(\d+)/m.exec(said)?.[1]);

before(async () => {
  mkdirSync(join(folder, 'package'));
  const manifest = readFileSync(join(ROOT, 'client/package.json'));
  writeFileSync(join(folder, 'package', 'package.json'), manifest);
  const said = await compile(
    '-p',
    join(ROOT, 'client/tsconfig.build.json'),
    '--outDir',
    join(folder, 'package', 'dist'),
  );
  assert.equal(said, '');
});

test('each wrong use is an error', async () => {
  const text = readFileSync(join(import.meta.dirname, 'wrong-uses.ts'), 'utf8');
  const expected = text.match(/@ts-expect-error/g)?.length ?? 0;
  assert.ok(expected >= 20);
  const lines = text.split('\n');
  // Each stands below the words that say what is wrong.
  const told = lines
    .map((line, index) => (line.includes('@ts-expect-error') ? index + 2 : 0))
    .filter((line) => line > 0);
  const said = await compileProgram('wrong', {
    'shop.ts': readFileSync(join(import.meta.dirname, 'shop.ts'), 'utf8'),
    'wrong-uses.ts': text
      .replaceAll('@ts-expect-error', 'wrong')
      .replaceAll('../../client/src/index.ts', 'workspace-data-client')
      .replaceAll('../../client/src/query.ts', 'workspace-data-client/query')
      .replaceAll("'./shop.ts'", "'./shop.js'"),
  });
  const found = [...said.matchAll(/wrong-uses\.ts\((\d+),/g)].map(([, line]) => Number(line));
  assert.deepEqual([...new Set(found)], told, said);
});

test('100 calls on 200 entities cost the compiler at most 150,000 instantiations', async () => {
  const { schema, calls } = largeTypes({ entities: 200, relations: 6, calls: 100, isDeep: false });
  const said = await compileProgram('large', { 'large.ts': schema, 'calls.ts': calls });
  assert.doesNotMatch(said, /error TS/);
  assert.ok(instantiations(said) <= 150_000, said);
});

test('a call of three levels on entities of 45 relations costs at most 10,000', async () => {
  const { schema, calls } = largeTypes({ entities: 200, relations: 45, calls: 1, isDeep: true });
  const said = await compileProgram('deep', { 'large.ts': schema, 'calls.ts': calls });
  assert.doesNotMatch(said, /error TS/);
  assert.ok(instantiations(said) <= 10_000, said);
});
