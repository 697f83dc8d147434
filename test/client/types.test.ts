// The types of the client: its samples compile, wrong uses do not, and large schemas cost the compiler little. So it is in the
// project's TypeScript, and in those before it, which are in a folder of their own: npm ci --prefix test/tools/runtimes
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { useFolder } from '../support/temporary-folder.ts';
import { largeTypes } from './large-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const folder = useFolder();

const OWN = join(ROOT, 'node_modules/typescript');
/** Folders of compilers by their versions. */
const COMPILERS: Readonly<Record<string, string>> = {
  '7': OWN,
  '6': join(ROOT, 'test/tools/runtimes/node_modules/typescript-6'),
  '5.9': join(ROOT, 'test/tools/runtimes/node_modules/typescript-5'),
};

/** Runs a compiler and gives what it prints. */
const compile = (compiler: string, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(compiler, 'bin/tsc'), ...args], (_, stdout, stderr) => resolve(stdout + stderr));
  });

/** A program that uses the package as it is published; gives what the compiler says of it. */
async function compileProgram(compiler: string, files: Readonly<Record<string, string>>): Promise<string> {
  const place = mkdtempSync(join(folder, 'program-'));
  mkdirSync(join(place, 'node_modules'));
  symlinkSync(join(folder, 'package'), join(place, 'node_modules', 'workspace-data-client'));
  const compilerOptions = { ...options, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true };
  const all = { ...files, 'package.json': '{"type": "module"}', 'tsconfig.json': JSON.stringify({ compilerOptions }) };
  for (const [path, text] of Object.entries(all)) writeFileSync(join(place, path), text);
  return compile(compiler, '-p', place, '--extendedDiagnostics');
}
const options = {
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'nodenext',
  strict: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  isolatedModules: true,
  verbatimModuleSyntax: true,
};

/** A file of this folder, as a program that uses the published package. */
const asProgram = (file: string): string =>
  readFileSync(join(import.meta.dirname, file), 'utf8')
    .replaceAll('../../client/src/index.ts', 'workspace-data-client')
    .replaceAll('../../client/src/query.ts', 'workspace-data-client/query')
    .replaceAll('../../client/src/webhooks.ts', 'workspace-data-client/webhooks')
    .replaceAll(/'(\.\/[\w-]+)\.ts'/g, "'$1.js'");

const instantiations = (said: string): number => Number(/^Instantiations:\s+(\d+)/m.exec(said)?.[1]);

before(async () => {
  mkdirSync(join(folder, 'package'));
  const manifest = readFileSync(join(ROOT, 'client/package.json'));
  writeFileSync(join(folder, 'package', 'package.json'), manifest);
  const said = await compile(
    OWN,
    '-p',
    join(ROOT, 'client/tsconfig.build.json'),
    '--outDir',
    join(folder, 'package', 'dist'),
  );
  assert.equal(said, '');
});

// What the samples need of the tests.
const DEMO = `
import type { Client, ClientOptions } from 'workspace-data-client';
import type { Shop } from './shop.js';
export declare function useDemo(): { client(options?: Partial<ClientOptions>): Client<Shop> };
`;

for (const [version, compiler] of Object.entries(COMPILERS)) {
  const options = { skip: existsSync(compiler) ? false : 'needs npm ci --prefix test/tools/runtimes' };

  test(`TypeScript ${version}: the samples compile`, options, async () => {
    const files = { 'shop.ts': asProgram('shop.ts'), 'demo.ts': DEMO, 'samples.ts': asProgram('samples.test.ts') };
    assert.doesNotMatch(await compileProgram(compiler, files), /error TS/);
  });

  test(`TypeScript ${version}: each wrong use is an error`, options, async () => {
    const text = asProgram('wrong-uses.ts');
    const expected = text.match(/@ts-expect-error/g)?.length ?? 0;
    assert.ok(expected >= 20);
    const lines = text.split('\n');
    // Each stands below the words that say what is wrong.
    const told = lines
      .map((line, index) => (line.includes('@ts-expect-error') ? index + 2 : 0))
      .filter((line) => line > 0);
    const said = await compileProgram(compiler, {
      'shop.ts': asProgram('shop.ts'),
      'desk-customer.ts': asProgram('desk-customer.ts'),
      'desk-robot.ts': asProgram('desk-robot.ts'),
      'wrong-uses.ts': text.replaceAll('@ts-expect-error', 'wrong'),
    });
    const found = [...said.matchAll(/wrong-uses\.ts\((\d+),/g)].map(([, line]) => Number(line));
    assert.deepEqual([...new Set(found)], told, said);
  });

  test(`TypeScript ${version}: 100 calls on 200 entities cost at most 150,000 instantiations`, options, async () => {
    const { schema, calls } = largeTypes({ entities: 200, relations: 6, calls: 100, isDeep: false });
    const said = await compileProgram(compiler, { 'large.ts': schema, 'calls.ts': calls });
    assert.doesNotMatch(said, /error TS/);
    assert.ok(instantiations(said) <= 150_000, said);
  });

  test(`TypeScript ${version}: a call of three levels beside 45 relations costs at most 10,000`, options, async () => {
    const { schema, calls } = largeTypes({ entities: 200, relations: 45, calls: 1, isDeep: true });
    const said = await compileProgram(compiler, { 'large.ts': schema, 'calls.ts': calls });
    assert.doesNotMatch(said, /error TS/);
    assert.ok(instantiations(said) <= 10_000, said);
  });
}
