// Requests of every kind for records of a shop whose customers, orders and orderTags have row rules, and memos grants: what its
// statements are on a cluster is heard, and what becomes of them there when nodes are away.
import type { Call } from './server.ts';
import { SHOP_SCHEMA } from './shop.ts';
import { CSV, NDJSON } from './transfer.ts';

const { customers, orders, orderTags } = SHOP_SCHEMA.entities;

const MEMOS = {
  fields: {
    text: { type: 'string', required: true },
    author: { type: 'string' },
    code: { type: 'string', unique: true },
    secret: { type: 'string' },
    at: { type: 'datetime', default: 'now' },
  },
  relations: { tag: { kind: 'belongsTo', entity: 'tags' }, parent: { kind: 'belongsTo', entity: 'memos' } },
  grants: [
    {
      role: 'clerk',
      can: ['read', 'create', 'update', 'delete'],
      where: { field: 'author', op: 'eq', value: { claim: 'email' } },
      fields: ['text', 'code', 'author', 'tagId', 'parentId'],
    },
    {
      role: 'clerk',
      can: ['read', 'create', 'update'],
      where: {
        or: [
          { field: 'tag.name', op: 'eq', value: { claim: 'email' } },
          { field: 'parent.author', op: 'ne', value: { claim: 'email' } },
        ],
      },
      fields: ['text', 'secret'],
    },
    { role: 'clerk', can: ['read'], where: { field: 'tagId', op: 'in', value: { claim: 'tags' } }, fields: ['at'] },
  ],
};

/** The shop, of which users see what their claims `email`, `customer` and `tag` say. */
export const RULED_SHOP = {
  roles: ['clerk'],
  entities: {
    memos: MEMOS,
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

const GRANTED_CALLS: readonly (readonly [path: string, call: Call])[] = [
  ['memos', post({ text: 'one', code: 'a' })],
  ['memos', post({ text: 'two', code: 'b', parentId: 1 }, 'granted-1')],
  ['memos/_bulk', post({ data: [{ text: 'three' }, { text: 'four', code: 'd', tagId: 1 }] })],
  ['memos?onConflict=code', post({ text: 'five', code: 'a' })],
  ['memos/_bulk?onConflict=code', post({ data: [{ text: 'six', code: 'b' }] })],
  ['memos?expand=tag,parent&sort=text&filter=parent.text,eq,one', {}],
  ['memos?size=2&filter=secret,isNull&sort=at', {}],
  ['memos/1?expand=parent', {}],
  ['memos/99', {}],
  ['memos/_aggregate?select=count,max:text&group=tag.name', {}],
  ['memos/_export?format=csv', {}],
  ['memos/1', put({ text: 'seven', tagId: 1 })],
  ['memos/1', put({ text: 'x' }, '"1-x.y"')],
  ['memos/1', put({})],
  [
    'memos/_bulk',
    put({
      data: [
        { id: 1, text: 'a' },
        { id: 2, code: 'e' },
      ],
    }),
  ],
  ['_batch', post({ operations: [{ method: 'POST', entity: 'memos', body: { text: 'batch' } }] })],
  ['memos/_import', file(CSV, ['text,tagId', 'first,1', 'second,'])],
  ['memos/_import?onConflict=update', file(NDJSON, ['{"id":1,"text":"x"}', '{"text":"new"}'])],
  ['memos/_import?onConflict=update&conflictOn=code', file(CSV, ['text,code', 'key,d', 'key,g'])],
  ['memos/_import?rejects=true', file(CSV, ['text,code', 'key,d', 'key,h', ',i'])],
  ['memos/_import?map=up:parent.code', file(CSV, ['text,up', 'seek,d'])],
  ['memos/2', { method: 'DELETE' }],
  ['memos/_bulk?ids=3', { method: 'DELETE' }],
];

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

/** Who sends which requests; without claims the owner. Grants of clerks need `email` and `tags`. */
export const SENDERS: readonly (readonly [who: string, claims: object | undefined, calls: typeof CALLS])[] = [
  ['an owner', undefined, CALLS],
  ['a user with row rules', ADA, CALLS],
  ['a user with grants', { ...ADA, roles: 'clerk', tags: [1] }, GRANTED_CALLS],
  ['a user without the claims of its grants', { roles: 'clerk' }, GRANTED_CALLS],
];
