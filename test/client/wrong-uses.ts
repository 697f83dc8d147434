// What must not compile. The compiler checks each line: an error that is expected and does not come is an error.
// types.test.ts takes the expectations away and counts the errors.
import type { Client, Entity } from '../../client/src/index.ts';
import { listOptions } from '../../client/src/query.ts';
import type { Customer } from './desk-customer.ts';
import type { Robot } from './desk-robot.ts';
import type { Shop } from './shop.ts';

declare const shop: Client<Shop>;
declare const orders: Entity<Shop, 'orders'>;
/** Entities that lead to each other by relations that may be null. */
interface Desk {
  users: {
    row: { id: number; name: string };
    create: { name: string };
    update: { name?: string };
    relations: { lead: 'users' | null; tickets: 'tickets'[] };
  };
  tickets: {
    row: { id: number; title: string };
    create: { title: string };
    update: { title?: string };
    relations: { assignee: 'users' | null };
  };
}
declare const tickets: Entity<Desk, 'tickets'>;
declare const customer: Client<Customer>;
declare const robot: Client<Robot>;
declare const items: Entity<Shop, 'orderItems'>;

export const WRONG = async (): Promise<unknown[]> => [
  // @ts-expect-error: an unknown entity
  shop.entity('order'),
  // @ts-expect-error: an unknown column among the fields
  await orders.list({ fields: ['id', 'totl'] }),
  // @ts-expect-error: an unknown relation beside a known one
  await orders.list({ expand: { customer: true, custmer: true } }),
  // @ts-expect-error: an unknown relation on the second level
  await orders.list({ expand: { items: { expand: { prodct: true } } } }),
  // @ts-expect-error: an unknown relation on the third level, beside a known one
  await orders.list({ expand: { items: { expand: { product: { expand: { items: true, item: true } } } } } }),
  // @ts-expect-error: an unknown column of a related record
  await orders.list({ expand: { customer: { fields: ['nam'] } } }),
  // @ts-expect-error: an unknown column of a related record that may be missing
  await tickets.list({ expand: { assignee: { fields: ['nam'] } } }),
  // @ts-expect-error: such a column on the second level
  await tickets.read(1, { expand: { assignee: { expand: { lead: { fields: ['nam'] } } } } }),
  // @ts-expect-error: such a column below a list
  await tickets.list({ expand: { assignee: { expand: { tickets: { expand: { assignee: { fields: ['nam'] } } } } } } }),
  // @ts-expect-error: an unknown relation of a record that may be missing
  await tickets.list({ expand: { assignee: { expand: { leed: true } } } }),
  // @ts-expect-error: an option of lists for a single record that may be missing
  await tickets.list({ expand: { assignee: { size: 5 } } }),
  // @ts-expect-error: a related record that may be missing
  (await tickets.read(1, { expand: { assignee: { fields: ['name'] } } })).data.assignee.name,
  // @ts-expect-error: an unknown option of a relation
  await orders.list({ expand: { items: { limit: 5 } } }),
  // @ts-expect-error: an option of lists for a single related record
  await orders.list({ expand: { customer: { size: 5 } } }),
  // @ts-expect-error: false expands nothing; leave it out
  await orders.list({ expand: { customer: false } }),
  // @ts-expect-error: an unknown column in a filter
  await orders.list({ filter: { stat: 'open' } }),
  // @ts-expect-error: not one of the values of an enum
  await orders.list({ filter: { status: 'opn' } }),
  // @ts-expect-error: an unknown operator
  await orders.list({ filter: { total: { atLeast: 20 } } }),
  // @ts-expect-error: an operator of texts on a number
  await orders.list({ filter: { total: { contains: '2' } } }),
  // @ts-expect-error: an unknown column of a related record in a filter
  await orders.list({ filter: { customer: { land: 'SE' } } }),
  // @ts-expect-error: a wrong value in the filter of an expanded list
  await orders.list({ expand: { items: { filter: { quantity: 'two' } } } }),
  // @ts-expect-error: an unknown column in a sort
  await orders.list({ sort: 'placed,desc' }),
  // @ts-expect-error: an unknown direction
  await orders.list({ sort: 'placedAt,down' }),
  // @ts-expect-error: an unknown option of a list
  await orders.list({ limit: 5 }),
  // @ts-expect-error: a required column is missing
  await orders.create({ total: 1 }),
  // @ts-expect-error: the server gives the id
  await orders.create({ id: 7, customerId: 1 }),
  // @ts-expect-error: a value of another type
  await orders.update(1, { note: 5 }),
  // @ts-expect-error: an unknown column in what modify gives back
  await orders.modify(1, (now) => ({ not: now.status })),
  // @ts-expect-error: a column that was not selected
  (await orders.list({ fields: ['id'] })).data[0]?.total,
  // @ts-expect-error: a relation that was not expanded
  (await orders.read(1)).data.customer,
  // @ts-expect-error: a column of a related record that was not selected
  (await orders.read(1, { expand: { customer: { fields: ['name'] } } })).data.customer.email,
  // @ts-expect-error: a list is no single record
  (await orders.read(1, { expand: { items: true } })).data.items.quantity,
  // @ts-expect-error: a column that may be null
  (await orders.read(1)).data.total.toFixed(2),
  // @ts-expect-error: an unknown column to find existing records by
  await shop.entity('products').upsert({ sku: 'A', title: 'A', price: 1 }, { onConflict: 'skuu' }),
  // @ts-expect-error: no id says which record is meant
  await items.updateMany([{ quantity: 2 }]),
  // @ts-expect-error: an unknown column in an aggregate
  await orders.aggregate({ select: ['sum:totl'] }),
  // @ts-expect-error: an unknown function
  await orders.aggregate({ select: ['median:total'] }),
  // @ts-expect-error: what was not selected
  (await orders.aggregate({ select: ['count'] })).data[0]?.['sum:total'],
  // @ts-expect-error: an operator of texts for a number
  await orders.update(1, { total: { $append: '1' } }),
  // @ts-expect-error: ids of related records that are texts
  await orders.update(1, { tags: { $add: ['1'] } }),
  // @ts-expect-error: events have no relations
  orders.changes({ filter: { customer: { country: 'SE' } } }),
  // @ts-expect-error: an unknown column of events
  orders.watch({ fields: ['totl'] }),
  // @ts-expect-error: an unknown entity of a feed
  shop.changes({ entities: ['order'] }),
  // @ts-expect-error: several entities have no filter in common
  shop.watch({ entities: ['orders'], filter: { status: 'open' } }),
  // @ts-expect-error: a file goes to a column that is not there
  await orders.import('', { format: 'csv', map: { Total: 'totl' } }),
  // @ts-expect-error: a column that the role may not read
  (await customer.entity('companies').list()).data[0]?.rate,
  // @ts-expect-error: a filter by such a column
  await customer.entity('tickets').list({ filter: { notes: 'x' } }),
  // @ts-expect-error: a column that the role may not write
  await customer.entity('tickets').create({ subject: 'a', priority: 1 }),
  // @ts-expect-error: a role that may not update
  await customer.entity('tickets').update(1, { subject: 'a' }),
  // @ts-expect-error: an entity that the role does not have
  robot.entity('comments'),
  // @ts-expect-error: a record that the role may not read
  (await robot.entity('tickets').create({ subject: 'a', status: 'open', companyId: 1 })).data.subject,
  // @ts-expect-error: it may have no ETag
  (await customer.entity('comments').create({ text: 'a', ticketId: 1 })).etag.length,
  // @ts-expect-error: an unknown relation in the options of a query
  listOptions(orders, { expand: { custmer: true } }),
];
