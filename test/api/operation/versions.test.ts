// The database raises the version of a workspace itself: no statement, of the server or by hand, can forget it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, useServer } from '../../support/resources.ts';

let id: unknown;
const server = useServer();
prepare(async () => {
  await server.workspace('acme/shop', { entities: {} });
  await server.workspace('acme/other', { entities: {} });
  [{ id }] = (await server.database.query("select id from wda.workspace where slug = 'shop'")) as [{ id: unknown }];
});

async function version(slug: string): Promise<bigint> {
  const [row] = await server.database.query('select version from wda.workspace where slug = $1', [slug]);
  return BigInt(String(row?.version));
}

const PROVIDER = '(workspace_id, issuer_url, default_permissions, enabled)';

/** In this order: what one makes the next ones change. */
const STATEMENTS: readonly (readonly [statement: string, raises: boolean])[] = [
  [
    "insert into wda.api_key (workspace_id, name, prefix, hash, permissions) values ($1, 'a', 'wda_a', '\\x0a', 'OWNER')",
    true,
  ],
  ["update wda.api_key set last_used_at = now() where workspace_id = $1 and prefix = 'wda_a'", false],
  ["update wda.api_key set expires_at = now() where workspace_id = $1 and prefix = 'wda_a'", true],
  ["update wda.api_key set permissions = 'READ_ONLY' where workspace_id = $1 and prefix = 'wda_a'", true],
  ["delete from wda.api_key where workspace_id = $1 and prefix = 'wda_a'", true],
  [`insert into wda.identity_provider ${PROVIDER} values ($1, 'https://id.example', 'READ_ONLY', true)`, true],
  ['update wda.identity_provider set enabled = false where workspace_id = $1', true],
  ['delete from wda.identity_provider where workspace_id = $1', true],
  [
    "insert into wda.oauth_client (workspace_id, client_id, name, secret_hash, permissions) values ($1, 'c', 'c', '\\x0c', 'READ_WRITE')",
    true,
  ],
  ["update wda.oauth_client set permissions = 'READ_ONLY' where workspace_id = $1", true],
  ['delete from wda.oauth_client where workspace_id = $1', true],
  // Row rules and settings stand in the document.
  [`update wda.workspace set document = '{"entities":{}}' where id = $1`, true],
  [`update wda.workspace set gates = '{}' where id = $1`, true],
  [`update wda.workspace set names = '{"tables": {}, "columns": {}}' where id = $1`, true],
  ["update wda.workspace set slug = 'shop' where id = $1", true],
  ['update wda.workspace set version = version + 1 where id = $1', true],
];

for (const [statement, raises] of STATEMENTS) {
  test(`${raises ? 'raises' : 'keeps'} the version: ${statement}`, async () => {
    const before = { shop: await version('shop'), other: await version('other') };
    await server.database.query(statement, [id]);
    assert.equal((await version('shop')) > before.shop, raises);
    assert.equal(await version('other'), before.other, 'that of another workspace stays');
  });
}

test('what goes from one workspace to another raises both versions', async () => {
  const before = { shop: await version('shop'), other: await version('other') };
  await server.database.query(
    `update wda.api_key set workspace_id = (select id from wda.workspace where slug = 'other')
where id = (select min(id) from wda.api_key where workspace_id = $1)`,
    [id],
  );
  assert.ok((await version('shop')) > before.shop);
  assert.ok((await version('other')) > before.other);
});

test('a renamed organization raises the versions of its workspaces', async () => {
  const before = { shop: await version('shop'), other: await version('other') };
  await server.database.query("update wda.organization set slug = 'acme2' where slug = 'acme'");
  assert.ok((await version('shop')) > before.shop);
  assert.ok((await version('other')) > before.other);
});

test('a workspace is deleted with all that belongs to it', async () => {
  await server.database.query('delete from wda.workspace where id = $1', [id]);
  const [row] = await server.database.query('select count(*)::int as n from wda.api_key where workspace_id = $1', [id]);
  assert.equal(row?.n, 0);
});
