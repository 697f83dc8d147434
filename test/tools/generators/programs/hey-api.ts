import { client } from './hey-api/client.gen.js';
import { ordersCreate, ordersDelete, ordersList, ordersPatch, ordersRead } from './hey-api/sdk.gen.js';

const [baseUrl = '', key = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, auth: key });

const made = await ordersCreate({ body: { customerId: 1 } });
if (made.data === undefined) throw new Error(JSON.stringify(made.error));
const path = { id: made.data.data.id };
const changed = await ordersPatch({ path, body: { status: 'paid' } });
const listed = await ordersList({
  query: { filter: ['status,eq,paid'], sort: ['id,desc'], expand: ['customer', 'items'], size: 1 },
});
if (listed.data === undefined) throw new Error(JSON.stringify(listed.error));
const [first] = listed.data.data;
const status: 'open' | 'paid' | 'shipped' | null | undefined = first?.status;
const read = await ordersRead({ path });
const gone = await ordersDelete({ path });
const refused = await ordersRead({ path });
console.log(
  JSON.stringify({
    status,
    changed: changed.data?.data.status,
    customer: first?.customer?.name,
    read: read.data?.data.id === path.id,
    gone: gone.response?.status,
    refused: refused.error?.error.code,
  }),
);
