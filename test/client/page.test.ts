// docs/clients/typescript.md: its samples are one program, which compiles, runs, and prints what the page says.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { useFolder } from '../support/temporary-folder.ts';
import { useDemo } from './demo.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const demo = useDemo();
// Where the project's TypeScript finds the types of Node, and Node strips types.
const folder = useFolder(join(ROOT, 'test/client'));

const page = readFileSync(join(ROOT, 'docs/clients/typescript.md'), 'utf8');
const samples = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, sample = '']) => sample);
const told = samples.flatMap((sample) => [...sample.matchAll(/\/\/ → (.*)$/gm)].map(([, text]) => text));

/** The query of the README, which the compiler checks here. */
const QUERY = {
  filter: { status: 'open', customer: { country: { in: ['GB', 'SE'] } } },
  fields: ['id', 'total'],
  expand: { customer: { fields: ['name'] }, items: { size: 5, sort: 'price,desc', expand: { product: true } } },
} as const;

test('the sample of the README is answered as it says', async () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const shown = /list\((\{[\s\S]*?\n\})\);/.exec(readme)?.[1] ?? '';
  assert.deepEqual(runInNewContext(`JSON.stringify(${shown})`), JSON.stringify(QUERY));
  const { data } = await demo.client().entity('orders').list(QUERY);
  assert.equal(data[0]?.customer.name, 'Ada Lovelace');
});

test('the samples of the page compile, and print what it says', async () => {
  assert.ok(samples.length >= 10 && told.length >= 10);
  // Each value is printed as JSON.
  const print =
    'const print = (...values: unknown[]): void => console.log(values.map((one) => JSON.stringify(one)).join(" "));\n';
  const program = samples
    .join('\n')
    .replaceAll('console.log(', 'print(')
    .replaceAll("'./shop.ts'", "'../shop.ts'")
    .replaceAll("'workspace-data-client'", "'../../../client/src/index.ts'")
    .replaceAll(/'workspace-data-client\/(\w+)'/g, "'../../../client/src/$1.ts'");
  const imports = program.match(/^import .*;$/gm) ?? [];
  const rest = program.replaceAll(/^import .*;$/gm, '');
  writeFileSync(join(folder, 'program.ts'), [...imports, print, rest].join('\n'));
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: { incremental: false },
    include: ['program.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const node = (...args: string[]) =>
    run(process.execPath, args, {
      env: { PATH: process.env.PATH, WDA_URL: demo.server.url, WDA_KEY: demo.workspace.key },
    });
  await node(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder).catch(({ stdout }) => assert.fail(stdout));
  const { stdout } = await node(join(folder, 'program.ts'));
  assert.deepEqual(stdout.trimEnd().split('\n'), told);
});
