// `wda config` with shared schemas: published from the file, followed by workspaces of the file, exported again.
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

function write(schema: string, ...workspaces: readonly string[]): void {
  writeFileSync(join(folder, 'helpdesk.yaml'), `entities: { tickets: { fields: { ${schema} } } }\n`);
  writeFileSync(
    join(folder, 'fleet.yaml'),
    `organizations:\n  acme:\n    schemas:\n      helpdesk: { $file: helpdesk.yaml }\n    workspaces:\n      ${workspaces.join('\n      ')}\n`,
  );
}

async function apply(): Promise<string> {
  const { code, stdout, stderr } = await run('apply', 'fleet.yaml');
  assert.equal(code, 0, stderr);
  return stdout;
}

test('a file publishes a shared schema, and its workspaces follow it', async () => {
  write('subject: { type: string }', 'a: { follows: helpdesk }', 'b: { schema: { entities: { notes: {} } } }');
  assert.equal(
    await apply(),
    `+ acme: organization
+ acme: version 1 of shared schema helpdesk
+ acme/a: workspace
    follows: {"schema":"helpdesk"}
+ acme/b: workspace

WORKSPACE  DONE  LEFT  NOT DONE  WHY NOT
acme          2     0         0  -
acme/a        1     0         0  -
acme/b        1     0         0  -

4 changes done
`,
  );
  assert.equal((await run('check', 'fleet.yaml')).code, 0);
  const exported = await run('export', '-w', 'acme/a');
  assert.match(exported.stdout, /^ {6}a:\n {8}name: a\n(?: {8}.*\n)* {8}follows: helpdesk\n/m);
  assert.doesNotMatch(exported.stdout, / schema:/);
  assert.match((await run('export')).stdout, /schemas:\n {6}helpdesk:\n {8}entities:\n {10}tickets:/);

  write('title: { type: string, renamedFrom: subject }', 'a: { follows: helpdesk }', 'b: { follows: helpdesk }');
  const planned = await run('plan', 'fleet.yaml');
  assert.equal(planned.code, 1);
  assert.match(
    planned.stdout,
    /\+ acme: version 2 of shared schema helpdesk\n {4}rename field subject of tickets to title\n/,
  );
  assert.match(
    planned.stdout,
    /~ acme\/b: shared schema\n {4}follows: \{"schema":"helpdesk"\}\n {4}create entity tickets\n {4}drop entity notes.* \(destroys data\)\n {4}needs --allow-destructive\n/,
  );
  assert.match(planned.stdout, /~ acme: version 2 of shared schema helpdesk for 1 workspace\n/);
  assert.equal((await run('apply', 'fleet.yaml', '--allow-destructive')).code, 0);
  const followed = async (slug: string) =>
    (await server.call(`/api/admin/v1/organizations/acme/workspaces/${slug}`, { credential: ADMIN_KEY })).json.data
      .follows?.version;
  assert.deepEqual([await followed('a'), await followed('b')], [2, 2]);

  write('title: { type: string }', 'a: { follows: { schema: helpdesk, version: 2 } }', 'b: { follows: null }');
  await apply();
  assert.deepEqual([await followed('a'), await followed('b')], [2, undefined]);
});

test('a file that says two things is refused, and one that says another than the server', async () => {
  write('title: { type: string }', 'a: { follows: helpdesk, schema: { entities: {} } }');
  assert.match(
    (await run('plan', 'fleet.yaml')).stderr,
    /schema is that of the shared schema that the workspace follows/,
  );
  write('title: { type: string }', 'a: { follows: { schema: helpdesk, version: x } }');
  assert.match((await run('plan', 'fleet.yaml')).stderr, /version must be a number/);
  write('title: { type: strin }', 'a: { follows: helpdesk }');
  assert.match(
    (await run('plan', 'fleet.yaml')).stdout,
    /acme\n(?: {4}.*\n)*.*helpdesk\.yaml|entities\.tickets\.fields\.title\.type/,
  );
  write('title: { type: string }', 'a: { schema: { entities: { other: {} } } }');
  const planned = await run('plan', 'fleet.yaml');
  assert.equal(planned.code, 1);
  assert.match(planned.stdout, /follows shared schema helpdesk, and the file has another schema/);
});

test('a version in the file is planned: what it drops needs its option, and an older one is refused', async () => {
  const publish = (fields: object) =>
    server.call('/api/admin/v1/organizations/acme/schemas/desk/versions', {
      method: 'POST',
      credential: ADMIN_KEY,
      body: { entities: { tickets: { fields } } },
    });
  await server.call('/api/admin/v1/organizations/acme/schemas', {
    method: 'POST',
    credential: ADMIN_KEY,
    body: { name: 'desk' },
  });
  const text = { type: 'string' };
  for (const fields of [{ code: text, note: text }, { code: text }, { code: { type: 'integer' } }])
    assert.equal((await publish(fields)).status, 201);
  const pin = (version: number) =>
    writeFileSync(
      join(folder, 'pin.yaml'),
      `organizations: { acme: { workspaces: { pinned: { follows: { schema: desk, version: ${version} } } } } }\n`,
    );
  pin(1);
  assert.equal((await run('apply', 'pin.yaml')).code, 0);

  pin(2);
  assert.match(
    (await run('plan', 'pin.yaml')).stdout,
    /version":1\} → .*version":2\}\n {4}destroys data\n {4}needs --allow-destructive\n/,
  );
  const refused = await run('apply', 'pin.yaml');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /nothing has been changed/);
  assert.equal((await run('apply', 'pin.yaml', '--allow-destructive')).code, 0);

  pin(1);
  const lower = await run('plan', 'pin.yaml');
  assert.equal(lower.code, 1);
  assert.match(lower.stdout, /The workspace has version 2 of shared schema desk, and goes forward only/);

  await server.call('/api/v1/acme/pinned/tickets', { method: 'POST', credential: ADMIN_KEY, body: { code: 'x' } });
  pin(3);
  const inTheWay = await run('plan', 'pin.yaml');
  assert.equal(inTheWay.code, 1);
  assert.match(inTheWay.stdout, /records in the way of tickets\.code: 1, such as id 1/);
  pin(9);
  assert.match((await run('plan', 'pin.yaml')).stdout, /is no version of desk: its versions are 1 to 3/);
});
