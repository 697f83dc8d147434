// The README: its commands run one after the other as they stand there, over a server with the demo, and answer as it says.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { ROOT, readCommands, runCommands } from '../support/page-commands.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const folder = useFolder();
const server = useServer();
const demo = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await demo.create(entity, records);
});

const commands = readCommands('README.md');

/** Runs the only block of commands that has the text. Returns what it prints on stdout. */
async function run(text: string, key = ''): Promise<string> {
  const blocks = commands.filter((block) => block.includes(text));
  assert.equal(blocks.length, 1, text);
  const command = (blocks[0] as string)
    .replace('wda_admin_…', ADMIN_KEY)
    .replace('wda_…', key)
    .replaceAll('http://localhost:3000/', `${server.url}/`);
  const variables = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY, KEY: key, API: `${server.url}/api/v1/acme/shop` };
  return (await runCommands(command, variables, folder)).stdout;
}

test('the first request is answered as the README says', async () => {
  const answer = JSON.parse((await run('/demo/shop/orders?', demo.key)).trim());
  const [, shown = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
  assert.ok(answer.meta.nextCursor.startsWith(JSON.parse(shown).meta.nextCursor.slice(0, -1)));
  answer.meta.nextCursor = JSON.parse(shown).meta.nextCursor;
  assert.deepEqual(answer, JSON.parse(shown));
});

test('a workspace is made of a schema and files, changed, and limited for its users', async () => {
  await run('cat > shop.yaml');
  const made = await run('wda workspace create acme/shop');
  assert.match(made, /^orders: 2 inserted/m);
  const key = /^Key +(wda_\S+)$/m.exec(made)?.[1] ?? '';
  const answers = (await run('customers?expand=orders', key)).replaceAll('}{', '}\n{').trim().split('\n');
  const [customers, order, paid] = answers.map((answer) => JSON.parse(answer).data);
  assert.deepEqual([customers.map(({ id }: { id: number }) => id), order.id, paid.status], [[2], 3, 'paid']);

  // The two lines of the README in place of those of the fields that they replace.
  const [, edit = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  const [mail = '', total = ''] = edit.split('\n').map((line) => line.replace(/ +#.*/, ''));
  const path = join(folder, 'shop.yaml');
  const before = readFileSync(path, 'utf8');
  const after = before.replace(/^ +email: .*$/m, mail).replace(/^ +total: .*$/m, total);
  assert.notEqual(after, before);
  writeFileSync(path, after);
  const variables = { WDA_URL: server.url, WDA_KEY: ADMIN_KEY };
  const plan = await runCommands('wda schema plan shop.yaml -w acme/shop || true', variables, folder);
  const [, shown = ''] = /\n\n((?: {4}(?:#|\d) .*\n)+)/.exec(readme.slice(readme.indexOf('wda schema plan'))) ?? [];
  const steps = shown.match(/(?<=^ {4}\d {2}).*?(?= {2})/gm) ?? [];
  assert.equal(steps.length, 2);
  for (const step of steps) assert.ok(plan.stdout.includes(step), plan.stdout);
  await run('wda schema apply shop.yaml', key);

  assert.match(await run('wda idp set'), /^3 cases, \d+ requests: no leak, and nothing missing$/m);
});
