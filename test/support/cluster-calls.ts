// Requests of every kind for records of a shop whose customers, orders and orderTags have row rules: what its statements are
// on a cluster is heard, and what becomes of them there when nodes are away.
import type { Call } from './server.ts';
import { SHOP_SCHEMA } from './shop.ts';
import { CSV, NDJSON } from './transfer.ts';

const { customers, orders, orderTags } = SHOP_SCHEMA.entities;

/** The shop, of which users see what their claims `email`, `customer` and `tag` say. */
export const RULED_SHOP = {
  entities: {
    ...SHOP_SCHEMA.entities,
    customers: { ...customers, rowRules: [{ column: 'email', claim: 'email' }] },
    orders: { ...orders, rowRules: [{ column: 'customerId', claim: 'customer' }] },
    orderTags: { ...orderTags, rowRules: [{ column: 'tagId', claim: 'tag' }] },
  },
};

/** Of somebody who sees one customer with its orders. */
export const ADA = { customer: 1, email: 'ada@example.com', tag: 1 };

const post = (body: unknown, key?: string): Call => ({
  method: 'POST',
  body,
  headers: key === undefined ? {} : { 'idempotency-key': key },
});
const put = (body: unknown, ifMatch?: string): Call => ({
  method: 'PUT',
  body,
  headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
});
const file = (type: string, lines: readonly string[]): Call => ({
  method: 'POST',
  body: lines.join('\n'),
  headers: { 'content-type': type },
});

/** In this order, on a shop that fillShop() has filled. */
export const CALLS: readonly (readonly [path: string, call: Call])[] = [
  ['orders?expand=customer,items.product,tags&sort=customer.name&filter=items.product.sku,eq,x', {}],
  ['orders?size=2&count=estimated', {}],
  ['orders/1?expand=tags', {}],
  ['orders/_aggregate?select=count,sum:total&group=customer.name', {}],
  ['orders/_export?format=csv', {}],
  ['tags', post({ name: 'one' })],
  ['tags', post({ name: 'two' }, 'key-1')],
  ['orders', post({ customerId: 1 })],
  ['orderTags', post({ orderId: 1, tagId: 1 })],
  ['orderTags', post({ orderId: 2, tagId: 1 }, 'key-2')],
  ['customers?onConflict=email', post({ name: 'Ada', email: 'ada@example.com' })],
  ['customers?onConflict=email&onConflictDo=skip', post({ name: 'Ada', email: 'ada@example.com' })],
  ['orders/1', put({ status: 'open', customerId: 1 })],
  ['orders/1', put({ note: 'x' }, '"1-x.y"')],
  ['orders/1', put({})],
  ['orders/_bulk', post({ data: [{ customerId: 1 }, { customerId: 1, note: 'x' }] })],
  ['orders/_bulk', post({ data: [{ customerId: 1 }] }, 'key-3')],
  [
    'orders/_bulk',
    put({
      data: [
        { id: 1, note: 'a' },
        { id: 2, status: 'open' },
      ],
    }),
  ],
  ['orders/_bulk?ids=7', { method: 'DELETE' }],
  ['customers/_bulk?onConflict=email', post({ data: [{ name: 'Ada', email: 'ada@example.com' }] })],
  ['orderTags/_bulk', post({ data: [{ orderId: 1, tagId: 2 }] })],
  [
    'products/_bulk?return=minimal',
    post({
      data: [
        { sku: 'A', title: 'a' },
        { sku: 'B', title: 'b', price: 1 },
      ],
    }),
  ],
  [
    'products/_bulk?onConflict=sku',
    post({
      data: [
        { sku: 'A', title: 'c' },
        { sku: 'C', title: 'c', price: 1 },
      ],
    }),
  ],
  ['products/_bulk?onConflict=sku', post({ data: [{ sku: 'A', title: 'd' }] }, 'key-4')],
  ['products/_bulk?onConflict=sku&onConflictDo=skip', post({ data: [{ sku: 'D', title: 'd' }] })],
  ['tags/_bulk?onConflict=id', post({ data: [{ id: 900, name: 'nine' }] })],
  ['tags/_bulk?dryRun=true', post({ data: [{ name: 'dry' }] })],
  ['products?onConflict=id', post({ id: 900, sku: 'N', title: 'n' })],
  ['_batch', post({ operations: [{ method: 'POST', entity: 'tags', body: { name: 'three' } }] })],
  ['_batch?dryRun=true', post({ operations: [{ method: 'DELETE', entity: 'orders', id: 1 }] })],
  ['orders/_import', file(CSV, ['customerId,note', '1,first', '1,second'])],
  ['orders/_import?onConflict=skip', file(CSV, ['id,customerId,note', '1,1,first', '900,1,second'])],
  ['orders/_import?onConflict=update', file(NDJSON, ['{"id":1,"note":"x"}', '{"id":2,"customerId":1}'])],
  ['customers/_import?onConflict=update&conflictOn=email', file(CSV, ['name,email', 'Ada,ada@example.com'])],
  ['products/_import?onConflict=skip', file(CSV, ['id,sku,title', '1,A,a', '901,E,e'])],
  ['products/_import?onConflict=update', file(NDJSON, ['{"id":901,"sku":"F"}', '{"id":902,"sku":"G","title":"g"}'])],
  ['customers/_import', file(CSV, ['id,name,referredBy', '801,a,802', '802,b,801'])],
  ['orders/2', { method: 'DELETE' }],
];
