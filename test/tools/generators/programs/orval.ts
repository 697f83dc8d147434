import { ordersCreate, ordersDelete, ordersList, ordersPatch, ordersRead } from './orval.js';

const [, key = ''] = process.argv.slice(2);
const as: RequestInit = { headers: { authorization: `Bearer ${key}` } };

const made = await ordersCreate({ customerId: 1 }, as);
if (made.status !== 201) throw new Error(JSON.stringify(made.data));
const { id } = made.data.data;
const changed = await ordersPatch(id, { status: 'paid' }, as);
const listed = await ordersList(
  { filter: ['status,eq,paid'], sort: ['id,desc'], expand: ['customer', 'items'], size: 1 },
  as,
);
if (listed.status !== 200) throw new Error(JSON.stringify(listed.data));
const [first] = listed.data.data;
const status: 'open' | 'paid' | 'shipped' | null | undefined = first?.status;
const read = await ordersRead(id, undefined, as);
const gone = await ordersDelete(id, as);
const refused = await ordersRead(id, undefined, as);
console.log(
  JSON.stringify({
    status,
    changed: changed.status === 200 ? changed.data.data.status : changed.status,
    customer: first?.customer?.name,
    read: read.status === 200 && read.data.data.id === id,
    gone: gone.status,
    refused: refused.status === 404 ? refused.data.error.code : refused.status,
  }),
);
