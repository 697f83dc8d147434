// The pages for a start: their commands run one after the other as they stand there, and requests are answered as they say.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { ROOT, readCommands, runCommands } from '../support/page-commands.ts';
import { parseExamples, requestExamples } from '../support/page-examples.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';

const folder = useFolder();
const server = useServer();
const demo = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await demo.create(entity, records);
});

/** Runs all commands of a page, and returns what each block prints. */
async function runPage(page: string): Promise<readonly string[]> {
  const printed: string[] = [];
  let key = '';
  let variables = '';
  for (const block of readCommands(`docs/start/${page}.md`)) {
    const commands = block
      .replace('wda_admin_…', ADMIN_KEY)
      .replace('wda_…', key)
      .replaceAll('http://localhost:3000/', `${server.url}/`)
      .replaceAll(/^curl /gm, 'curl -sS --fail-with-body ');
    const { stdout } = await runCommands(variables + commands, { WDA_URL: server.url, WDA_KEY: ADMIN_KEY }, folder);
    key = /^Key +(wda_\S+)$/m.exec(stdout)?.[1] ?? key;
    variables += (commands.match(/^[A-Z]+=\S+$/gm) ?? []).map((line) => `${line}\n`).join('');
    printed.push(stdout);
  }
  return printed;
}

test('a backend has records, users and types', { timeout: 300_000 }, async () => {
  const printed = await runPage('backend');
  assert.match(printed[2] ?? '', /"event":\{"id":1,"title":"Chess".*"member":\{"id":1,"name":"Ada"\}/);
  assert.match(readFileSync(join(folder, 'club.ts'), 'utf8'), /bookings/);
});

test('customers have workspaces of one schema, which is rolled out', { timeout: 300_000 }, async () => {
  await runPage('customers');
  const { json } = await server.call('/api/admin/v1/organizations/hosting/workspaces/globex/schema', {
    credential: ADMIN_KEY,
  });
  assert.deepEqual(Object.keys(json.data.entities.contacts.fields), ['name', 'email', 'company']);
});

test('a live table is planned, corrected and changed', { timeout: 300_000 }, async () => {
  const printed = await runPage('live-table');
  assert.match(printed[2] ?? '', /1 record/);
  const { json } = await server.call('/api/v1/depot/orders/orders?sort=id', { credential: ADMIN_KEY });
  assert.deepEqual(json.data, [
    { id: 1, customer: 'Ada', total: 10, status: 'open' },
    { id: 2, customer: 'Grace', total: 30, status: 'paid' },
  ]);
});

test('a client reads, is refused and writes as the page shows', { timeout: 300_000 }, async () => {
  const examples = parseExamples(readFileSync(join(ROOT, 'docs/start/agents-and-clients.md'), 'utf8'));
  assert.equal(examples.length, 5);
  await requestExamples(examples, demo, (value) => value);
  await runPage('agents-and-clients');
});
