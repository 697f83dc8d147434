// The admin API by openapi-fetch: an organization, a workspace, a key, and a change of the schema.
import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript-admin.js';

const [baseUrl = '', operator = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${operator}` } });
const WORKSPACE = '/api/admin/v1/organizations/{org}/workspaces/{ws}';

const fields = { text: { type: 'text' } } as const;
const path = { org: 'globex', ws: 'trial' };
const made = await client.POST('/api/admin/v1/organizations', { body: { slug: path.org, name: 'Globex' } });
const workspace = await client.POST('/api/admin/v1/organizations/{org}/workspaces', {
  params: { path: { org: path.org } },
  body: { slug: path.ws, name: 'Trial', schema: { entities: { notes: { fields } } } },
});
const key = await client.POST(`${WORKSPACE}/api-keys`, {
  params: { path },
  body: { name: 'nightly export', permissions: 'READ_ONLY' },
});
const begun = await client.PUT(`${WORKSPACE}/schema`, {
  params: { path, query: { wait: 0 } },
  body: { entities: { notes: { fields: { ...fields, title: { type: 'string' } } } } },
});
if (begun.data === undefined) throw new Error(JSON.stringify(begun.error));
let migration = begun.data.data;
while (migration.state === 'pending' || migration.state === 'running') {
  const read = await client.GET(`${WORKSPACE}/migrations/{id}`, { params: { path: { ...path, id: migration.id } } });
  if (read.data === undefined) throw new Error(JSON.stringify(read.error));
  migration = read.data.data;
}
const refused = await client.GET(WORKSPACE, { params: { path: { ...path, ws: 'none' } } });
console.log(
  JSON.stringify({
    organization: made.data?.data.slug,
    workspace: workspace.data?.data.slug,
    permissions: key.data?.data.permissions,
    hasKey: typeof key.data?.data.key === 'string',
    migration: migration.state,
    refused: refused.error?.error.code,
  }),
);
