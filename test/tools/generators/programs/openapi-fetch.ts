import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript.js';

const [baseUrl = '', key = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

// Of a create only what the schema requires is required.
const draft: components['schemas']['orders.Create'] = { customerId: 1 };
const made = await client.POST('/orders', { body: draft });
if (made.data === undefined) throw new Error(JSON.stringify(made.error));
const path = { id: made.data.data.id };
const changed = await client.PATCH('/orders/{id}', { params: { path }, body: { status: 'paid' } });
const listed = await client.GET('/orders', {
  params: { query: { filter: ['status,eq,paid'], sort: ['id,desc'], expand: ['customer', 'items'], size: 1 } },
});
if (listed.data === undefined) throw new Error(JSON.stringify(listed.error));
const [first] = listed.data.data;
// Columns are never undefined in the document for generators; a type error here is a failure of the test.
const status: 'open' | 'paid' | 'shipped' | null | undefined = first?.status;
const read = await client.GET('/orders/{id}', { params: { path } });
const gone = await client.DELETE('/orders/{id}', { params: { path } });
const refused = await client.GET('/orders/{id}', { params: { path } });
console.log(
  JSON.stringify({
    status,
    changed: changed.data?.data.status,
    customer: first?.customer?.name,
    read: read.data?.data.id === path.id,
    gone: gone.response.status,
    refused: refused.error?.error.code,
  }),
);
