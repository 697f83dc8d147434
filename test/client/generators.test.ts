// Clients that other people's generators make of the document of the demo workspace: they compile, and a program that uses
// them creates, changes, lists, reads, deletes, and is told why not. Of the documents of users with roles they compile.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { generateDocument } from '../../src/openapi/document.ts';
import { deskFor } from '../support/desk-document.ts';
import { prepare } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { useDemo } from './demo.ts';

const run = promisify(execFile);
const TOOLS = join(import.meta.dirname, '../tools/generators');
const isInstalled = existsSync(join(TOOLS, 'node_modules'));
const skip = isInstalled ? false : 'the generators are not installed: npm ci --prefix test/tools/generators';

/** By the name of the program that uses it: the generator and what it is told. */
const GENERATORS: Readonly<Record<string, readonly [program: string, ...told: string[]]>> = {
  'openapi-fetch': ['openapi-typescript', 'document.json', '-o', 'openapi-typescript.ts'],
  'hey-api': ['openapi-ts', '-i', 'document.json', '-o', 'hey-api', '-c', '@hey-api/client-fetch'],
  orval: ['orval', '--config', 'orval.config.mjs'],
  oazapfts: ['oazapfts', 'document.json', 'oazapfts.ts'],
};
const ADMIN_COMMAND = ['openapi-typescript', 'admin.json', '-o', 'openapi-typescript-admin.ts'] as const;
const ORVAL = {
  workspace: {
    input: './document.json',
    output: { target: './orval.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } },
  },
};
/** A role that reads and creates, and one that only creates some records. */
const ROLES = ['customer', 'robot'] as const;
const FACTS = {
  publicUrl: 'https://api.acme.org',
  tokenUrl: 'https://api.acme.org/oauth/token',
  maxPageSize: 1000,
  maxBulk: 1000,
  maxBatch: 100,
};
const USERS = { kind: 'external', mayWrite: true } as const;

/** Text of the document of users with the role. */
const documentFor = (role: string): string =>
  [...generateDocument(deskFor(role), USERS, { selection: 'fixed', entities: undefined }, FACTS)].join('');

const COMPILER = {
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'nodenext',
  moduleResolution: 'nodenext',
  strict: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(import.meta.dirname, '../../node_modules/@types')],
  outDir: 'out',
};

if (isInstalled) {
  const demo = useDemo();
  const folder = useFolder();
  const inFolder = (script: string, ...args: readonly string[]) =>
    run(process.execPath, [script, ...args], { cwd: folder, env: { ...process.env, NO_COLOR: '1' } });

  prepare(async () => {
    const { json } = await demo.workspace.call('_openapi.json?selection=fixed');
    const document = { ...json, servers: [{ url: `${demo.server.url}/api/v1/demo/shop` }] };
    symlinkSync(join(TOOLS, 'node_modules'), join(folder, 'node_modules'));
    const files = {
      'document.json': document,
      'admin.json': (await demo.server.call('/api/admin/v1/openapi.json')).json,
      'package.json': { type: 'module' },
      'tsconfig.json': { compilerOptions: COMPILER, include: ['*.ts', 'hey-api/**/*.ts'] },
    };
    for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(value));
    writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(ORVAL)};`);
    for (const [name, [generator, ...told]] of Object.entries({ ...GENERATORS, admin: ADMIN_COMMAND })) {
      await inFolder(join('node_modules/.bin', generator), ...told);
      copyFileSync(join(TOOLS, 'programs', `${name}.ts`), join(folder, `program-${name}.ts`));
    }
  });

  for (const role of ROLES) {
    test(`what the generators make of the document of a role compiles: ${role}`, async () => {
      const place = join(folder, role);
      mkdirSync(place);
      symlinkSync(join(TOOLS, 'node_modules'), join(place, 'node_modules'));
      writeFileSync(join(place, 'document.json'), documentFor(role));
      writeFileSync(join(place, 'package.json'), '{"type": "module"}');
      const tsconfig = { compilerOptions: { ...COMPILER, noEmit: true }, include: ['*.ts', 'hey-api/**/*.ts'] };
      writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(tsconfig));
      writeFileSync(join(place, 'orval.config.mjs'), `export default ${JSON.stringify(ORVAL)};`);
      const inPlace = (script: string, ...args: readonly string[]) =>
        run(process.execPath, [script, ...args], { cwd: place, env: { ...process.env, NO_COLOR: '1' } });
      for (const [generator, ...options] of Object.values(GENERATORS))
        await inPlace(join('node_modules/.bin', generator), ...options);
      const mistakes = await inPlace('node_modules/typescript/bin/tsc', '-p', '.').then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      );
      assert.equal(mistakes, '');
      // Fields that the role may not read or write are nowhere.
      assert.equal(/\brate\b/.exec(readFileSync(join(place, 'oazapfts.ts'), 'utf8'))?.[0], undefined);
    });
  }

  test('the page of generators has the commands', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/clients/generators.md'), 'utf8');
    const missing = [...Object.values(GENERATORS), ADMIN_COMMAND].filter(
      (command) => !page.includes(`\`${command.join(' ')}\``),
    );
    assert.deepEqual(missing, []);
  });

  test('what the generators make, and the programs that use it, compile', async () => {
    const said = await inFolder('node_modules/typescript/bin/tsc', '-p', '.').then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    assert.equal(said, '');
  });

  for (const name of Object.keys(GENERATORS)) {
    test(`a program works with the client that is made for it: ${name}`, async () => {
      const { url } = demo.server;
      const { stdout } = await inFolder(`out/program-${name}.js`, `${url}/api/v1/demo/shop`, demo.workspace.key);
      assert.deepEqual(JSON.parse(stdout), {
        status: 'paid',
        changed: 'paid',
        customer: 'Ada Lovelace',
        read: true,
        gone: 204,
        refused: 'NOT_FOUND',
      });
    });
  }

  test('a program administers a server with the client that is made for it', async () => {
    const { stdout } = await inFolder('out/program-admin.js', demo.server.url, ADMIN_KEY);
    assert.deepEqual(JSON.parse(stdout), {
      organization: 'globex',
      workspace: 'trial',
      permissions: 'READ_ONLY',
      hasKey: true,
      migration: 'succeeded',
      refused: 'NOT_FOUND',
    });
  });
} else {
  test('clients of other generators', { skip }, () => undefined);
}
