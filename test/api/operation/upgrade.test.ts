// A newer version brings the control tables and the schemas of workspaces up to its files, beside servers of this version,
// which go on and do not start again. The newer version is a copy of this one with a later file in each folder of install/.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { install } from '../../../src/database/install.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { ADMIN_KEY, clientOf, startTestServer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/wait-until.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DOCUMENT = { entities: { notes: { fields: { text: { type: 'string', maxLength: 100 } } } } };
const LATER = {
  control: 'alter table wda.organization add column later text;\n',
  data: 'alter table wda.workspace add column later text;\n\ncreate index workspace_later on wda.workspace (later);\n',
  workspace: `create function {schema}."$later"() returns text language sql immutable as $$ select 'here' $$;\n`,
};

let folder: string;
let database: TestDatabase;
let server: TestServer;
let shop: TestWorkspace;
let newer: ServerProcess;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wda-newer-'));
  for (const part of ['src', 'install', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  for (const part of ['node_modules', 'console', 'docs']) symlinkSync(join(ROOT, part), join(folder, part));
  for (const [name, text] of Object.entries(LATER)) {
    mkdirSync(join(folder, 'install', name), { recursive: true });
    writeFileSync(join(folder, 'install', name, '000002-later.sql'), text);
  }
  database = await createTestDatabase();
  server = await startTestServer({}, database);
  shop = await server.workspace('acme/shop', DOCUMENT);
});
after(async () => {
  await newer?.stop();
  await server?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true });
});

/** The names of the files of install/workspace that have run in the schema of a workspace, by the record and by what is there. */
async function filesOf(slug: string): Promise<{ readonly names: string[]; readonly hasLater: boolean }> {
  const [row] = await database.query(
    `select array(select name from wda.installed i where i.schema = w.database_schema order by name) as names,
       to_regproc(format('%I."$later_%s"', w.database_schema, split_part(w.database_schema, '_', 1))) is not null as "hasLater"
     from wda.workspace w where slug = $1`,
    [slug],
  );
  return row as never;
}
const BASE = { names: ['000001-base'], hasLater: false };
const ALL = { names: ['000001-base', '000002-later'], hasLater: true };

test('the first process of a newer version runs the later files of the control tables, and those of workspaces soon after', async () => {
  assert.deepEqual(await filesOf('shop'), BASE);
  newer = await startServerProcess({ DATABASE_URL: database.url }, 'ready', join(folder, 'src/main.ts'));
  for (const name of ['control', 'data'])
    assert.ok(
      newer.lines.some((line) => line.includes(`ran install/${name}/000002-later.sql`)),
      newer.lines.join('\n'),
    );
  await database.query('select o.later, w.later from wda.organization o, wda.workspace w');
  await until('the workspace has run the later file', async () => (await filesOf('shop')).hasLater);
  assert.deepEqual(await filesOf('shop'), ALL);
});

test('a workspace that this version creates afterwards gets the later file with its first request to the newer one', async () => {
  const late = await server.workspace('acme/late', DOCUMENT);
  assert.deepEqual(await filesOf('late'), BASE);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => clientOf(newer.url).call('/api/v1/acme/late/notes', { credential: late.key })),
  );
  for (const { status, text } of answers) assert.equal(status, 200, text);
  assert.deepEqual(await filesOf('late'), ALL);
});

test('one whose schema document the newer version plans or changes first gets it then', async () => {
  for (const [slug, path, method] of [
    ['planned', 'schema/plan', 'POST'],
    ['changed', 'schema', 'PUT'],
  ] as const) {
    await server.workspace(`acme/${slug}`, DOCUMENT);
    const url = `/api/admin/v1/organizations/acme/workspaces/${slug}/${path}`;
    const { status, text } = await clientOf(newer.url).call(url, { method, credential: ADMIN_KEY, body: DOCUMENT });
    assert.ok(status < 300, text);
    assert.deepEqual(await filesOf(slug), ALL);
  }
});

test('no two workspaces have a function of one name, among which PostgreSQL would have to look', async () => {
  const shared = await database.query(`select proname from pg_proc
    where pronamespace in (select database_schema::regnamespace from wda.workspace) group by proname having count(*) > 1`);
  assert.deepEqual(shared, []);
});

test('a server of this version goes on beside the newer one', async () => {
  const headers = { 'idempotency-key': 'once' };
  const create = () => shop.call('notes', { method: 'POST', headers, body: { text: 'beside' } });
  const first = await create();
  assert.equal(first.status, 201, first.text);
  const again = await clientOf(newer.url).call(`/api/v1/${shop.path}/notes`, {
    method: 'POST',
    credential: shop.key,
    headers,
    body: { text: 'beside' },
  });
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, 'true'], again.text);
  assert.equal((await shop.call('notes')).json.data.length, 1);
  await server.workspace('acme/gone', DOCUMENT);
  const deleted = await server.call('/api/admin/v1/organizations/acme/workspaces/gone?confirm=gone', {
    method: 'DELETE',
    credential: ADMIN_KEY,
  });
  assert.equal(deleted.status, 204, deleted.text);
  assert.deepEqual(await database.query("select from wda.installed where schema like '%gone'"), []);
});

test('a server of this version does not start on the newer installation, and names the files that it lacks', async () => {
  await assert.rejects(
    install({ connectionString: database.url }, () => undefined),
    /^InstallError: This database was installed by a newer version \(control\/000002-later, data\/000002-later, workspace\/000002-later\): start that version, or restore/,
  );
});
