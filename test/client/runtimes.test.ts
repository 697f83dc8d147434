// The client as it is published, in Node.js, in Deno, in Bun, and as a bundle of Vite: one program does the same in each.
// Deno and Bun are in a folder of their own: npm ci --prefix test/tools/runtimes
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { prepare } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { useDemo } from './demo.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const TOOLS = join(ROOT, 'test/tools/runtimes/node_modules');
const DENO = join(TOOLS, '@deno/linux-x64-glibc/deno');
const BUN = join(TOOLS, '@oven/bun-linux-x64/bin/bun');

const demo = useDemo();
const folder = useFolder();

const PROGRAM = `
import { createClient, isWdaError } from 'workspace-data-client';
import { verifyWebhook } from 'workspace-data-client/webhooks';

export async function work(url, key) {
  const shop = createClient({ url, workspace: 'demo/shop', credential: () => key });
  const orders = shop.entity('orders');
  const made = await orders.create({ customerId: 1, total: '12345.10' });
  const { id } = made.data;
  const changed = await orders.modify(id, ({ total }) => ({ note: 'was ' + total }));
  const { data } = await orders.read(id, { fields: ['note'], expand: { customer: { fields: ['name'] } } });
  const seen = [];
  for await (const item of shop.entity('orderItems').all({ fields: ['id'], size: 3 })) seen.push(item.id);
  const csv = await new Response(await orders.export({ format: 'csv', filter: { id }, fields: ['note'] })).text();
  const code = await orders.update(id, { note: 'late' }, { ifMatch: made.etag }).catch((error) =>
    isWdaError(error, 'PRECONDITION_FAILED') ? error.code : String(error));
  const { inserted } = await shop.entity('tags').import(new Blob(['name\\nby ' + id + '\\n']), { format: 'csv' });
  const following = [];
  const watch = orders.watch({ after: (await orders.list({ size: 1, changes: true })).meta.changes });
  const deleting = orders.delete(id);
  for await (const { type, recordId } of watch) { following.push(type, recordId === id); break; }
  await deleting;
  const late = new AbortController();
  setTimeout(() => late.abort(new Error('enough')), 500);
  try {
    for await (const { type } of orders.watch({ signal: late.signal })) following.push(type);
  } catch (error) { following.push(error.message); }
  const { test } = await verifyWebhook('{"test": 2432232314}', {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { toleranceSeconds: Infinity });
  return { note: changed.data.note, data, seen: seen.length, csv: csv.trim().split(/\\s*\\n/), code, inserted, following, test };
}
`;
const MAIN = `
import { work } from './program.js';
const [url, key] = process.argv.slice(2);
console.log(JSON.stringify(await work(url, key)));
`;
const ANSWER = {
  note: 'was 12345.1',
  data: { note: 'was 12345.1', customer: { name: 'Ada Lovelace' } },
  seen: 8,
  csv: ['note', 'was 12345.1'],
  code: 'PRECONDITION_FAILED',
  inserted: 1,
  following: ['removed', true, 'enough'],
  test: 2432232314,
};

prepare(async () => {
  const body = { changes: 'feed' };
  assert.equal((await demo.workspace.admin('entities/orders/settings', { method: 'PUT', body })).status, 200);
  const place = join(folder, 'node_modules/workspace-data-client');
  mkdirSync(place, { recursive: true });
  copyFileSync(join(ROOT, 'client/package.json'), join(place, 'package.json'));
  const project = ['-p', join(ROOT, 'client/tsconfig.build.json'), '--outDir', join(place, 'dist')];
  await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...project]);
  const files = { 'package.json': '{"type": "module"}', 'program.js': PROGRAM, 'main.js': MAIN };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});

/** Runs a program of the folder, and holds what it prints against the answer. */
async function answers(command: string, ...args: readonly string[]): Promise<void> {
  const { stdout } = await run(command, [...args, demo.server.url, demo.workspace.key], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' },
  });
  assert.deepEqual(JSON.parse(stdout), ANSWER);
}

const skipWithout = (file: string): string | false =>
  existsSync(file) ? false : 'needs npm ci --prefix test/tools/runtimes, on Linux';

test('Node.js', () => answers(process.execPath, 'main.js'));

test('Deno', { skip: skipWithout(DENO) }, () =>
  answers(DENO, 'run', '--no-remote', '--node-modules-dir=manual', '--allow-net=127.0.0.1', 'main.js'),
);

test('Bun', { skip: skipWithout(BUN) }, () => answers(BUN, 'run', '--no-install', 'main.js'));

test('a bundle of Vite, of which nothing is missing', async () => {
  // The console is built with it.
  const { build } = await import(createRequire(join(ROOT, 'console/package.json')).resolve('vite'));
  const lib = { entry: join(folder, 'program.js'), formats: ['es'], fileName: 'program' };
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: { lib, outDir: 'bundle', target: 'es2022' },
  });
  const alone = join(folder, 'bundle', 'alone');
  mkdirSync(alone);
  copyFileSync(join(folder, 'bundle', 'program.js'), join(alone, 'program.js'));
  writeFileSync(join(alone, 'main.js'), MAIN);
  rmSync(join(folder, 'node_modules'), { recursive: true });
  await answers(process.execPath, join(alone, 'main.js'));
});
