import { HttpError, ok } from '@oazapfts/runtime';
import { defaults, ordersCreate, ordersDelete, ordersList, ordersPatch, ordersRead } from './oazapfts.js';

const [baseUrl = '', key = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;
defaults.headers = { authorization: `Bearer ${key}` };

const { data: made } = await ok(ordersCreate({ customerId: 1 }));
const { data: changed } = await ok(ordersPatch(made.id, { status: 'paid' }));
const { data: listed } = await ok(
  ordersList({ filter: ['status,eq,paid'], sort: ['id,desc'], expand: ['customer', 'items'], size: 1 }),
);
const [first] = listed;
const status: 'open' | 'paid' | 'shipped' | null | undefined = first?.status;
const read = await ok(ordersRead(made.id));
const gone = await ordersDelete(made.id);
const refused = await ok(ordersRead(made.id)).catch((error: unknown) => error);
console.log(
  JSON.stringify({
    status,
    changed: changed.status,
    customer: first?.customer?.name,
    read: read.data.id === made.id,
    gone: gone.status,
    refused: refused instanceof HttpError ? refused.data.error.code : refused,
  }),
);
