// The client in the frameworks that it has adapters for: each as it is published, in a page, with a server that has the
// demo workspace. The frameworks are in a folder of their own: npm ci --prefix test/tools/frontends
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useDemo } from './demo.ts';

const FOLDER = join(import.meta.dirname, '../tools/frontends');
const isInstalled = existsSync(join(FOLDER, 'node_modules'));
const skip = isInstalled ? false : 'needs npm ci --prefix test/tools/frontends';
const PAGES = ['react-admin', 'refine', 'tanstack-query'];
const demo = useDemo();

/** What the compiler says of a folder with a tsconfig.json. */
const compile = (folder: string): Promise<string> =>
  new Promise((resolve) => {
    const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
    execFile(process.execPath, [compiler, '-p', folder], (_, stdout, stderr) => resolve(stdout + stderr));
  });

test('the adapters are what the types of the frameworks ask for', { skip }, async () => {
  assert.equal(await compile(FOLDER), '');
});

test('the programs of the pages compile', { skip }, async (t) => {
  const folder = join(FOLDER, 'dist');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tsconfig.json'), '{ "extends": "../tsconfig.json", "include": ["*"] }');
  copyFileSync(join(import.meta.dirname, 'shop.ts'), join(folder, 'shop.ts'));
  let programs = 0;
  for (const page of PAGES) {
    const text = readFileSync(join(import.meta.dirname, `../../docs/clients/${page}.md`), 'utf8');
    for (const [, program = ''] of text.matchAll(/^```tsx\n(.*?)^```/gms))
      writeFileSync(join(folder, `${page}-${++programs}.tsx`), program);
  }
  assert.ok(programs >= 5);
  assert.equal(await compile(folder), '');
});

for (const framework of PAGES) {
  test(framework, { skip }, async (t) => {
    // react-admin logs every refusal.
    t.mock.method(console, 'error', () => undefined);
    const { scenarios } = await import(join(FOLDER, `${framework}.ts`));
    for (const [title, run] of Object.entries<(client: typeof demo.client) => Promise<void>>(scenarios))
      await t.test(title, () => run(demo.client));
  });
}
