// `wda config` with one schema for several workspaces, one of which cannot take it: it is named with its records, and the
// others go on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Outcome, wda } from './wda.ts';

const server = useServer();
const folder = useFolder();

const run = (...words: readonly string[]): Promise<Outcome> =>
  wda(['config', ...words], { cwd: folder, env: { WDA_URL: server.url, WDA_KEY: ADMIN_KEY } });

function writeFiles(schema: string, ...workspaces: readonly string[]): void {
  writeFileSync(join(folder, 'schema.yaml'), schema);
  const entries = workspaces.map((slug) => `      ${slug}: { schema: { $file: schema.yaml } }\n`).join('');
  writeFileSync(join(folder, 'fleet.yaml'), `organizations:\n  fleet:\n    workspaces:\n${entries}`);
}

const schema = (fields: string): string => `entities:\n  customers:\n    fields:\n      ${fields}\n`;
const ADMIN = '/api/admin/v1/organizations/fleet/workspaces';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared as they come.
async function call(method: string, path: string, body?: unknown): Promise<any> {
  const { status, json } = await server.call(path, { method, credential: ADMIN_KEY, body });
  assert.ok(status < 300, JSON.stringify(json));
  return json.data;
}

const fieldsOf = async (slug: string): Promise<string[]> =>
  Object.keys((await call('GET', `${ADMIN}/${slug}/schema`)).entities.customers.fields);

const FIRST = schema('email: { type: string }');
const SECOND = schema('mail: { type: string, required: true, renamedFrom: email }');

test('records in the way of one workspace are told by plan, and apply changes the others', async () => {
  writeFiles(FIRST, 'a', 'b', 'c');
  assert.equal((await run('apply', 'fleet.yaml')).code, 0);
  for (const email of [null, 'x', null]) await call('POST', '/api/v1/fleet/b/customers', { email });

  writeFiles(SECOND, 'a', 'b', 'c', 'd');
  const planned = await run('plan', 'fleet.yaml');
  assert.equal(planned.code, 1);
  assert.match(planned.stdout, /~ fleet\/b: schema\n(?: {4}.*\n)* {4}.*\(records in the way: 2, such as id 1, 3\)\n/);
  assert.match(planned.stdout, /\nfleet\/b +1 +0 +- +2 +2 records in the way\n/);
  assert.match(planned.stdout, /\n4 changes to do; 1 workspace would fail\n$/);
  assert.equal(
    planned.stderr,
    `Error: 1 of 4 workspaces cannot become what the file says: fleet/b
The others are not concerned: apply changes them.
Nothing has been changed.
Change or delete the records in the way, then plan the file again.
`,
  );
  assert.deepEqual(await fieldsOf('a'), ['email']);

  const applied = await run('apply', 'fleet.yaml');
  assert.equal(applied.code, 1);
  assert.match(applied.stdout, /\n! fleet\/b: schema\nMigration +\d+\nState +failed\n/);
  assert.match(applied.stdout, /DATA_CONFLICT: .*\n {2}2 records of customers\.mail, such as id 1, 3\n/);
  assert.match(
    applied.stdout,
    /\nfleet\/a +1 +0 +0\b.*\nfleet\/b +0 +0 +1 +Migration \d+ has failed: customers\.mail: .*\n/,
  );
  assert.match(applied.stdout, /\n3 changes done, 1 not done; 1 workspace failed\n$/);
  assert.equal(
    applied.stderr,
    `Error: 1 of 4 workspaces failed: fleet/b
The others are not concerned.
Change or delete the records in the way, then apply the file again.
`,
  );
  const fields = await Promise.all(['a', 'b', 'c', 'd'].map(fieldsOf));
  assert.deepEqual(fields, [['mail'], ['email'], ['mail'], ['mail']]);

  const scripted = await run('apply', 'fleet.yaml', '--json');
  const { applied: done, failed } = JSON.parse(scripted.stdout);
  assert.deepEqual([scripted.code, done], [1, []]);
  assert.deepEqual([failed[0].place, failed[0].error.reason.sampleIds], ['fleet/b', [1, 3]]);

  for (const id of [1, 3]) await call('PATCH', `/api/v1/fleet/b/customers/${id}`, { email: 'y' });
  const mended = await run('apply', 'fleet.yaml');
  assert.deepEqual([mended.code, mended.stderr], [0, '']);
  assert.equal((await run('check', 'fleet.yaml')).code, 0);
});

test('with --stop the first failure ends it', async () => {
  writeFiles(FIRST, 'p', 'q', 'r');
  assert.equal((await run('apply', 'fleet.yaml')).code, 0);
  await call('POST', '/api/v1/fleet/p/customers', { email: null });
  writeFiles(SECOND, 'p', 'q', 'r');
  const stopped = await run('apply', 'fleet.yaml', '--stop');
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /^Error: Migration \d+ has failed: customers\.mail: .*, such as id 1\n/);
  assert.deepEqual(await fieldsOf('q'), ['email']);
  assert.equal((await run('apply', 'fleet.yaml')).code, 1);
  assert.deepEqual(await fieldsOf('q'), ['mail']);
});

test('a schema that a workspace, new or not, cannot have is refused by plan with its lines', async () => {
  writeFiles(schema('email: { type: money }'), 'q', 'new');
  writeFileSync(join(folder, 'good.yaml'), SECOND);
  const file = join(folder, 'fleet.yaml');
  writeFileSync(
    file,
    'organizations: { fleet: { workspaces: { q: { schema: { $file: schema.yaml } }, fresh: { schema: { $file: schema.yaml } }, good: { schema: { $file: good.yaml } } } } }',
  );
  for (const words of ['plan', 'apply', 'check']) {
    const { code, stdout, stderr } = await run(words, 'fleet.yaml');
    assert.equal(code, 1, words);
    for (const slug of ['q', 'fresh']) {
      const part = stdout.slice(stdout.indexOf(`! fleet/${slug}\n`));
      assert.match(
        part,
        /^! .*\n {4}Error: Validation failed.*\(400 VALIDATION_FAILED\)\n {6}line 4, entities\.customers\.fields\.email\.type: /,
      );
    }
    assert.match(stderr, /^Error: 2 of 3 workspaces .*: fleet\/q, fleet\/fresh\n/);
    assert.match(stderr, new RegExp(`\nCorrect what is named above, then ${words} the file again\\.\n$`));
  }
  const list = await call('GET', ADMIN);
  assert.deepEqual(
    list.map(({ slug }: { slug: string }) => slug).filter((slug: string) => ['good', 'fresh'].includes(slug)),
    ['good'],
  );
});

test('a schema that no workspace can have leaves no others', async () => {
  writeFiles(schema('email: { type: money }'), 'one', 'two');
  const { code, stderr } = await run('plan', 'fleet.yaml');
  assert.deepEqual(
    [code, stderr],
    [
      1,
      `Error: 2 of 2 workspaces cannot become what the file says: fleet/one, fleet/two
Nothing has been changed.
Correct what is named above, then plan the file again.
`,
    ],
  );
});

test('the table counts as the total does, and says which option a step lacks', async () => {
  writeFiles(SECOND, 's', 't');
  assert.equal((await run('apply', 'fleet.yaml')).code, 0);
  await call('POST', `${ADMIN}/s/api-keys`, { name: 'by-hand', permissions: 'READ_ONLY' });
  const write = (name: string, entities: string): void =>
    writeFileSync(
      join(folder, name),
      `organizations: { fleet: { workspaces: { s: { apiKeys: {} }, t: { schema: { entities: ${entities} } }, u: {} } } }`,
    );
  write('pruned.yaml', '{ customers: { fields: { mail: { type: string, required: true } } } }');
  const pruned = await run('plan', 'pruned.yaml');
  assert.match(pruned.stdout, /\nfleet\/u +1 +0 +- +0 +-\nfleet\/s +0 +1 +- +0 +needs --prune\n/);
  assert.match(pruned.stdout, /\n1 change to do, 1 left as it is\n$/);
  write('destructive.yaml', '{}');
  const destructive = await run('plan', 'destructive.yaml');
  assert.equal(destructive.code, 1);
  assert.match(destructive.stdout, /\nfleet\/t +0 +1 +yes +0 +needs --allow-destructive\n/);
  assert.match(destructive.stdout, /\nfleet\/u +0 +1 +- +0 +nothing is done without --allow-destructive\n/);
  assert.match(destructive.stdout, /\n0 changes to do, 3 left as they are\n$/);
  const applied = await run('apply', 'pruned.yaml');
  assert.match(applied.stdout, /\nfleet\/u +1 +0 +0 +-\nfleet\/s +0 +1 +0 +needs --prune\n/);
  assert.match(applied.stdout, /\n1 change done, 1 left as it is\n$/);
});
