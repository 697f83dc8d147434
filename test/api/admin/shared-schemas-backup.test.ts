// Shared schemas in backups: those of an instance come back with their versions, and a workspace follows what it followed
// where that is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type TestServer } from '../../support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents are JSON
type Json = any;

const server = useServer();
const other = useServer();

async function admin(of: TestServer, method: string, path: string, body?: Json, type?: string): Promise<Json> {
  const answer = await of.call(`/api/admin/v1${path}`, {
    credential: ADMIN_KEY,
    method,
    ...(body === undefined ? {} : { body }),
    ...(type === undefined ? {} : { headers: { 'content-type': type } }),
  });
  assert.ok(answer.status < 300, answer.text);
  return answer.json?.data;
}

async function download(path: string): Promise<Uint8Array> {
  const response = await fetch(`${server.url}/api/admin/v1${path}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  assert.equal(response.status, 200);
  return new Uint8Array(await response.arrayBuffer());
}
const restore = (to: TestServer, file: Uint8Array, query = ''): Promise<Json> =>
  admin(to, 'POST', `/restore${query}`, file, 'application/octet-stream');

const text = { type: 'string' };
const SCHEMA = '/organizations/acme/schemas/helpdesk';
const WORKSPACES = '/organizations/acme/workspaces';
const tickets = (fields: Json): Json => ({ entities: { tickets: { fields } } });

test('shared schemas and followers survive a backup of the instance, and go on from there', async () => {
  await admin(server, 'POST', '/organizations', { slug: 'acme' });
  await admin(server, 'POST', '/organizations/acme/schemas', { name: 'helpdesk', description: 'For all' });
  await admin(
    server,
    'POST',
    `${SCHEMA}/versions`,
    tickets({ subject: text, price: { type: 'decimal', default: 0.5 } }),
  );
  await admin(server, 'POST', WORKSPACES, { slug: 'shop', follows: { schema: 'helpdesk' } });
  await server.call('/api/v1/acme/shop/tickets', {
    credential: ADMIN_KEY,
    method: 'POST',
    body: { subject: 'It rains' },
  });
  await admin(server, 'POST', `${SCHEMA}/versions`, tickets({ title: { ...text, renamedFrom: 'subject' } }));

  const workspace = await download(`${WORKSPACES}/shop/backup`);
  await restore(other, await download('/backup'));
  for (const path of [
    SCHEMA,
    `${SCHEMA}/versions`,
    `${SCHEMA}/versions/1`,
    `${SCHEMA}/versions/2`,
    `${WORKSPACES}/shop`,
  ]) {
    const [before, after] = [await admin(server, 'GET', path), await admin(other, 'GET', path)];
    if (path.endsWith('/shop')) assert.deepEqual(after.follows, before.follows);
    else assert.deepEqual(after, before);
  }
  // What it knows of names came with it.
  await admin(other, 'PUT', `${WORKSPACES}/shop?allowDestructive=true`, {
    follows: { schema: 'helpdesk', version: 2 },
  });
  const record = await other.call('/api/v1/acme/shop/tickets/1', { credential: ADMIN_KEY });
  assert.deepEqual(record.json.data, { id: 1, title: 'It rains' });

  // A workspace by itself follows where its organization has the version, and nowhere else; a copy never does.
  const followed = async (path: string): Promise<Json> => (await admin(server, 'GET', path)).follows;
  await restore(server, workspace, '?as=acme/again');
  assert.deepEqual(await followed(`${WORKSPACES}/again`), { schema: 'helpdesk', version: 1 });
  const { replaced } = await restore(server, workspace, '?replace=acme/again');
  assert.deepEqual(await followed(`${WORKSPACES}/again`), { schema: 'helpdesk', version: 1 });
  assert.equal(await followed(`${WORKSPACES}/${replaced.slug}`), undefined);
  await restore(server, workspace, '?as=elsewhere/again');
  assert.equal(await followed('/organizations/elsewhere/workspaces/again'), undefined);
  await admin(server, 'POST', `${WORKSPACES}/shop/copy`, { slug: 'staging' });
  assert.equal(await followed(`${WORKSPACES}/staging`), undefined);
});
