// `wda backup` and `wda restore`: the commands of the page run as they stand there, and files that are none are named.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Outcome, wda } from './wda.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations/backup.md'), 'utf8');

const server = useServer({ WDA_DEMO: 'on' });
const empty = useServer({ WDA_DEMO: 'on' });
const folder = useFolder();

const run = (args: readonly string[], url = server.url, env = {}): Promise<Outcome> =>
  wda(args, { cwd: folder, env: { WDA_URL: url, WDA_KEY: ADMIN_KEY, ...env } });

/** The commands of the page for a client, in their order, and what it says that they print. */
const COMMANDS = [...PAGE.matchAll(/^```sh\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```)?/gm)].flatMap(
  ([, commands = '', printed]) =>
    commands
      .trim()
      .split('\n')
      .filter((line) => /^wda (backup|restore|workspace copy) [^-]\S*/.test(line))
      .map((line) => ({ args: line.replace(/#.*/, '').trim().split(/\s+/).slice(1), printed })),
);

const withoutDates = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\d/g, 'DATE');

test('the commands of the page work, one after the other', async () => {
  assert.ok(COMMANDS.length >= 6);
  for (const { args, printed } of COMMANDS) {
    const isWhole = args[0] === 'restore' && !args.includes('--as');
    const { code, stdout, stderr } = await run(args, isWhole ? empty.url : server.url);
    // The second of the whole restores meets what the first has made.
    if (isWhole && stderr.includes('restored into an empty one')) continue;
    assert.equal(code, 0, stderr);
    if (printed !== undefined) assert.ok(withoutDates(stdout).startsWith(withoutDates(printed)), stdout);
  }
  const restored = await empty.call('/api/v1/demo/shop/customers?size=1', { credential: ADMIN_KEY });
  assert.equal(restored.json.meta.totalElements, 5);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => !name.endsWith('.wda')),
    [],
  );
});

test('the environment does not narrow a backup, and stdout takes one', async () => {
  const { code, stdout } = await run(['backup', 'all.wda', '--json'], server.url, { WDA_WORKSPACE: 'demo/shop' });
  assert.equal(code, 0);
  const told = JSON.parse(stdout);
  assert.deepEqual([told.file, told.scope], ['all.wda', 'instance']);
  const piped = await run(['backup', '-', '-w', 'demo/shop']);
  assert.equal(piped.code, 0);
  assert.match(piped.stdout, /^\{"product":"workspace-data-api","format":1,"scope":"workspace",/);
});

test('a file that is cut off, of something else or of a newer version is named, and not sent', async () => {
  assert.equal((await run(['backup', 'shop.wda', '-w', 'demo/shop'])).code, 0);
  const bytes = readFileSync(join(folder, 'shop.wda'));
  const refused = async (content: Buffer | string, words: RegExp) => {
    writeFileSync(join(folder, 'other.wda'), content);
    // Where nothing listens: it is found out before anything is sent.
    const { code, stderr } = await run(['restore', 'other.wda'], 'http://127.0.0.1:9');
    assert.equal(code, 1, stderr);
    assert.match(stderr, words);
  };
  await refused(
    bytes.subarray(0, -1),
    /other\.wda: The backup is damaged: it is cut off after \d+ bytes\. Nothing was changed/,
  );
  await refused('PGDMP', /other\.wda: This is no backup/);
  await refused(bytes.toString('latin1').replace('"format":1', '"format":7'), /written by a newer version/);
  const missing = await run(['restore', 'nothing.wda']);
  assert.match(missing.stderr, /Cannot read nothing\.wda/);
  const taken = await run(['restore', 'shop.wda']);
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /Workspace demo\/shop exists already/);
});

test('what was there under the name stays when a backup fails', async () => {
  writeFileSync(join(folder, 'kept.wda'), 'before');
  const { code } = await run(['backup', 'kept.wda', '-w', 'demo/nothing']);
  assert.equal(code, 1);
  assert.equal(readFileSync(join(folder, 'kept.wda'), 'utf8'), 'before');
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.part')),
    [],
  );
});
