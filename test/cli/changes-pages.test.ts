// The recipes of the feed of changes: their programs and scripts run as written, and do what the pages say.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { ROOT, readCommands, runCommands } from '../support/page-commands.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';

const server = useServer();
// Where the project's TypeScript finds the types of Node, and Node strips types.
const folder = useFolder(join(ROOT, 'test/cli'));
const workspace = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
let env: Record<string, string> = {};
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await workspace.create(entity, records);
  env = { WDA_URL: server.url, WDA_KEY: workspace.key };
});

/** Returns the blocks of a page in a language. */
const readBlocks = (page: string, language: string): readonly string[] =>
  [
    ...readFileSync(join(ROOT, page), 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
  ].map(([, block = '']) => block);

test('the search index has all products, those of before and those of later', { timeout: 300_000 }, async () => {
  const page = 'docs/recipes/search-index.md';
  const [index = '', find = ''] = readBlocks(page, 'ts');
  writeFileSync(
    join(folder, 'index.ts'),
    index
      .replace("'workspace-data-client'", "'../../../client/src/index.ts'")
      .replace("'./shop.ts'", "'../../client/shop.ts'"),
  );
  writeFileSync(join(folder, 'find.ts'), find);
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: { incremental: false },
    include: ['index.ts', 'find.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await runCommands(`node ${join(ROOT, 'node_modules/typescript/bin/tsc')} -p .`, env, folder).catch(({ stdout }) =>
    assert.fail(stdout),
  );
  const [keep = '', commands = ''] = readCommands(page);
  await runCommands(keep, env, folder);
  // Waits for what is there on a quiet machine after the seconds of the page.
  const until = (condition: string): string => `until ${condition}; do sleep 0.2; done`;
  const { stdout } = await runCommands(
    commands
      .replace('sleep 3', until('node find.ts tea 2>&1 | grep -q Green'))
      .replace('sleep 1', until('node find.ts white | grep -q White')),
    env,
    folder,
  );
  assert.match(stdout, /^2 Green tea, 100 g$/m);
  assert.match(stdout, /^5 White tea$/m);

  // Begun again, it goes on with what has happened meanwhile.
  await workspace.call('products/5', { method: 'PATCH', body: { title: 'Yellow tea' } });
  const again = [
    'node index.ts &',
    until('[ "$(node find.ts yellow)" = "5 Yellow tea" ]'),
    'node find.ts white',
    'kill %1',
  ];
  assert.equal((await runCommands(again.join('\n'), env, folder)).stdout, '');
});

test('a mail is sent for each new order, and for none twice', { timeout: 300_000 }, async () => {
  const page = 'docs/recipes/mail-at-a-new-record.md';
  const [script = ''] = readBlocks(page, 'bash');
  const [keep = ''] = readCommands(page);
  const key = /wda_[\w-]+/.exec((await runCommands(keep, env, folder)).stdout)?.[0] ?? '';
  writeFileSync(join(folder, 'order-mails.sh'), script);
  // Stands for the mail system: prints the mails.
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/sendmail'), '#!/bin/sh\ncat\necho END\n');
  chmodSync(join(folder, 'bin/sendmail'), 0o755);
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  /** Runs the script until it has printed the text; `onPlace`: when it has stored where it begins. */
  const start = async (until: RegExp, onPlace: () => Promise<unknown> = async () => {}): Promise<string> => {
    const child = spawn('bash', ['order-mails.sh'], {
      cwd: folder,
      env: { ...env, WDA_KEY: key, PATH: path },
      detached: true,
    });
    const ended = once(child, 'exit');
    let printed = '';
    const done = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          printed += chunk;
          if (until.test(printed)) resolve();
        });
    });
    while (!existsSync(join(folder, 'orders.cursor')) && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await onPlace();
    await Promise.race([done, ended]);
    assert.equal(child.exitCode, null, printed);
    // The group: the script and its curl.
    process.kill(-(child.pid ?? 0));
    await ended;
    return printed;
  };
  // Refused, it has no place to go on from.
  await assert.rejects(runCommands(script, { ...env, WDA_KEY: `${key}x` }, folder), /401/);
  assert.ok(!existsSync(join(folder, 'orders.cursor')));
  const mails = await start(/END[\s\S]*END/, async () => {
    await workspace.create('orders', [
      { customerId: 1, note: 'first' },
      { customerId: 1, note: 'second' },
    ]);
  });
  assert.match(mails, /^To: sales@example\.com\nSubject: New order 7\nMessage-ID: <e_[\w-]+@example\.com>\n\n\{/);
  assert.deepEqual(mails.match(/"note": "\w+"/g), ['"note": "first"', '"note": "second"']);
  await workspace.create('orders', [{ customerId: 1, note: 'third' }]);
  assert.match(await start(/third[\s\S]*END/), /Subject: New order 9/);
});

test('a change and a deletion are undone, and who did them is known', { timeout: 300_000 }, async () => {
  const before = (await workspace.call('orders/2')).json.data;
  const item = (await workspace.call('orderItems/1')).json.data;
  const steps = readCommands('docs/recipes/who-changed-this.md');
  assert.equal(steps.length, 6);
  const outputs: string[] = [];
  for (const step of steps) outputs.push((await runCommands(step, env, folder)).stdout);
  const [, , history = '', undone = '', restored = '', changes = ''] = outputs;
  assert.match(
    history,
    /^\S+Z {2}updated {2}status: open -> paid, total: 34\.00 -> 0\.00 {2}by key import {2}e_[\w-]+$/m,
  );
  assert.match(history, /^key import, request \S+$/m);
  assert.deepEqual(JSON.parse(undone).data, before);
  assert.match(restored, /Restored orderItems 1\n$/);
  assert.deepEqual((await workspace.call('orderItems/1')).json.data, item);
  assert.match(changes, /^\S+Z orders 2 updated\n$/);
});
