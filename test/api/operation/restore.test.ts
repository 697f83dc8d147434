// A database that goes back in time under a running server, as after a failover to a replica that lagged or a restore:
// nothing of what was compiled and remembered for the lost time may be used for what comes after it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeNothing } from '../../support/openapi-conformance.ts';
import { useIssuer, useServer } from '../../support/resources.ts';
import type { TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const schemaWith = (...fields: string[]) => ({
  entities: {
    notes: {
      fields: Object.fromEntries(['text', 'owner', ...fields].map((name) => [name, { type: 'string' }])),
    },
  },
});

// The schema changes between an answer and the document that is fetched for it.
judgeNothing();

let workspace: TestWorkspace;
let tokenOf: TokenOf;
let count = 0;
const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

async function makeWorkspace(): Promise<string> {
  const slug = `back${++count}`;
  workspace = await server.workspace(`acme/${slug}`, schemaWith());
  tokenOf = await makeUsers(workspace, issuer);
  await workspace.create('notes', [
    { text: 'hers', owner: 'ann' },
    { text: 'his', owner: 'bob' },
  ]);
  return slug;
}

/** Remembers the row of the workspace; what it gives puts it back, and no trigger sees it. */
async function backUp(slug: string): Promise<(more?: string) => Promise<void>> {
  const { query } = server.database;
  const [row] = await query('select document::text, names, version from wda.workspace where slug = $1', [slug]);
  return async (more = '') => {
    await query(`set session_replication_role = replica; ${more}`);
    await query('update wda.workspace set document = $2, names = $3, version = $4 where slug = $1', [
      slug,
      row?.document,
      row?.names,
      row?.version,
    ]);
    await query('set session_replication_role = origin');
    await until(
      'the document of before is in force',
      async () => (await workspace.call('notes?fields=lost&size=7')).status === 400,
    );
  };
}

const put = async (schema: unknown): Promise<void> => {
  const { status, text } = await workspace.admin('schema', { method: 'PUT', body: schema });
  assert.equal(status, 200, text);
};

test('a list that was asked for in the lost time reads what is there now', async () => {
  const slug = await makeWorkspace();
  const goBack = await backUp(slug);
  await put(schemaWith('lost'));
  assert.equal((await workspace.call('notes?size=5')).json.data[0].lost, null);
  await goBack();
  await server.database.query(`alter table ws${count}_${slug}.notes drop column lost`);
  await put(schemaWith('found'));
  await until('the new document is in force', async () => (await workspace.call('notes?fields=found')).status === 200);
  const { status, json } = await workspace.call('notes?size=5');
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json.data[0]), ['id', 'text', 'owner', 'found']);
});

test('a row rule that is made after it holds for lists of the lost time, too', async () => {
  const slug = await makeWorkspace();
  const ann = { credential: tokenOf({ sub: 'ann' }) };
  const goBack = await backUp(slug);
  await put(schemaWith('lost'));
  assert.equal((await workspace.call('notes?fields=text', ann)).json.data.length, 2);
  await goBack();
  const rules = [{ column: 'owner', claim: 'sub', enabled: true }];
  assert.equal((await workspace.admin('entities/notes/row-rules', { method: 'PUT', body: rules })).status, 200);
  await until('the rule is in force', async () => (await workspace.call('notes?size=9', ann)).json.data.length === 1);
  assert.deepEqual((await workspace.call('notes?fields=text', ann)).json.data, [{ text: 'hers' }]);
});

test('a key of the lost time is refused within a second', async () => {
  const slug = await makeWorkspace();
  const goBack = await backUp(slug);
  await put(schemaWith('lost'));
  const made = await workspace.admin('api-keys', { method: 'POST', body: { name: 'lost' } });
  const { id, key } = made.json.data;
  assert.equal((await workspace.call('notes', { credential: key })).status, 200);
  await goBack(`delete from wda.api_key where id = ${Number(id)}`);
  await until('the key is refused', async () => (await workspace.call('notes', { credential: key })).status === 401);
});

test('a version is given once, whatever the clock and whoever writes it', async () => {
  await makeWorkspace();
  const { query } = server.database;
  const version = async (): Promise<number> =>
    Number((await query('select max(version) as version from wda.workspace'))[0]?.version);
  const seen = new Set<number>();
  for (let index = 0; index < 50; index++) {
    await query('update wda.workspace set version = version + 1');
    seen.add(await version());
  }
  assert.equal(seen.size, 50);
  assert.deepEqual(
    [...seen],
    [...seen].sort((a, b) => a - b),
  );
  for (const each of seen) assert.ok(Number.isSafeInteger(each));
  // A statement that knows a number of its own does not get it.
  await query('update wda.workspace set version = 1');
  assert.ok((await version()) > Math.max(...seen));
  // From one and the same state two servers go to different versions.
  const outcomes = new Set<number>();
  for (let index = 0; index < 20; index++) {
    await query('begin; set local session_replication_role = replica');
    await query('update wda.workspace set version = 4600000000000000');
    await query('set local session_replication_role = origin');
    await query('update wda.workspace set version = version + 1');
    outcomes.add(await version());
    await query('rollback');
  }
  assert.ok(outcomes.size > 15, [...outcomes].join());
});
