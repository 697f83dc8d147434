// `wda types`: printed, compared with a file, refused.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallDescription } from '../support/small-description.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { wda } from './wda.ts';

const folder = useFolder();
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const description = write('openapi.json', JSON.stringify(smallDescription()));

test('a document from a file or from stdin gives the same types', async () => {
  const { code, stdout, stderr } = await wda(['types', '--from', description]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(
    stdout,
    /^\/\/ Types of the workspace acme\/my-shop, .*\n[\s\S]*export interface MyShop \{\n[\s\S]*\n\}\n$/,
  );
  const piped = await wda(['types', '--from', '-', '--json'], { stdin: JSON.stringify(smallDescription()) });
  assert.equal(JSON.parse(piped.stdout).types, stdout);
});

test('a file that is current, and one that is not', async () => {
  const { stdout } = await wda(['types', '--from', description]);
  const file = write('shop.ts', stdout);
  const current = await wda(['types', '--from', description, '--check', file]);
  assert.deepEqual([current.code, current.stdout], [0, `${file} is current\n`]);

  const changed = smallDescription();
  Object.assign(changed.components.schemas['orders.Read'].properties, { note: { type: 'string' } });
  const other = write('changed.json', JSON.stringify(changed));
  const drift = await wda(['types', '--from', other, '--check', file]);
  assert.deepEqual([drift.code, drift.stdout], [1, '']);
  assert.match(
    drift.stderr,
    /^Error: .*shop\.ts is not what the workspace is now\nThe schema has changed, or .*\n-\/\/ [\w-]{22}\n\+\/\/ [\w-]{22}\n\+ {6}note: string;\n$/,
  );
  const json = JSON.parse((await wda(['types', '--from', other, '--check', file, '--json'])).stderr);
  assert.deepEqual(json.error.difference.length, 3);
});

test('a file of another workspace with the same schema is current, under the name of its interface', async () => {
  const document = smallDescription();
  Object.assign(document['x-wda'], { organization: 'other', workspace: 'my-shop-staging' });
  const staging = write('staging.json', JSON.stringify(document));
  const file = write('helpdesk.ts', (await wda(['types', '--from', description, '--name', 'Helpdesk'])).stdout);
  const { code, stdout, stderr } = await wda(['types', '--from', staging, '--check', file]);
  assert.deepEqual([code, stdout], [0, `${file} is current\n`], stderr);
  const { stderr: told } = await wda(['types', '--from', staging, '--check', file, '--name', 'Desk']);
  assert.match(told, /\n-export interface Helpdesk \{\n\+export interface Desk \{\n/);
});

test('a long difference is cut', async () => {
  const file = write('other.ts', Array.from({ length: 5000 }, (_, line) => `line ${line}`).join('\n'));
  const { code, stderr } = await wda(['types', '--from', description, '--check', file]);
  assert.equal(code, 1);
  assert.equal(stderr.split('\n').length, 104);
  assert.match(stderr, /\n… and 4\d\d\d more lines\n$/);
});

const REFUSED: readonly (readonly [args: readonly string[], code: number, says: RegExp])[] = [
  [['--for', 'owner'], 2, /--for takes external, not owner/],
  [['--name', 'a b'], 2, /--name takes the name of an interface, not a b/],
  [['--for', 'external', '--from', description], 2, /takes a document that a user of the identity provider was given/],
  [['--role', 'customer', '--from', description], 2, /--role goes without --from/],
  [['--from', join(folder, 'nothing.json')], 1, /Cannot read .*nothing\.json/],
  [['--from', join(import.meta.dirname, 'types.test.ts')], 1, /is not the OpenAPI document of a workspace/],
  [['--from', description, '--check', join(folder, 'nothing.ts')], 1, /Cannot read .*nothing\.ts/],
  [[], 2, /A workspace is needed/],
];

for (const [args, code, says] of REFUSED) {
  test(`wda types ${args.map((arg) => arg.split('/').at(-1)).join(' ')} is refused`, async () => {
    const found = await wda(['types', ...args], { env: { WDA_KEY: 'wda_x' } });
    assert.equal(found.code, code, found.stderr);
    assert.match(found.stderr, says);
  });
}
