// The limit: the least that a Node.js server can do for the workloads. node:http and pg with pipelining over 8
// connections, one prepared statement per question, PostgreSQL builds the JSON text and Node passes it on. No
// authentication, no checks, no generality. Settings by environment: PORT, DATABASE_URL, DATA_SCHEMA.
// Pages have their size and offset in the text: with bound ones PostgreSQL supposes a tenth of the table, finds every
// general plan too dear and plans the statement anew each time (20 of a million orders: 0.17 instead of 0.11 ms).

import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { aggregateStatements } from './workloads.ts';

const CONNECTIONS = 8;

const schema = `"${(process.env.DATA_SCHEMA ?? 'public').replaceAll('"', '""')}"`;
const clients = await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL, pipeline: true });
    await client.connect();
    return { client, pending: 0 };
  }),
);

const orderColumns = 'o.id, o."customerId", o.status, o.total, o."createdAt", o.note';
const customerColumns = 'c.id, c.name, c.email, c.country, c."createdAt"';
const orders = `${schema}.orders`;
const customers = `${schema}.customers`;

const orderById = `select ${orderColumns} from ${orders} o where o.id = $1`;
const orderPage = `select ${orderColumns} from ${orders} o order by o.id desc {bounds}`;
const customerPage = `select ${customerColumns} from ${customers} c order by c.id {bounds}`;

const statements = {
  order: asObject(orderById),
  orderWithItems: asObject(`
    select ${orderColumns}, items.items
    from ${orders} o
    cross join lateral (
      select coalesce(json_agg(item), '[]') as items
      from (
        select i.id, i."orderId", i."productId", i.quantity, i.price, row_to_json(product) as product
        from ${schema}."orderItems" i
        left join lateral (
          select p.id, p.sku, p.title, p.price from ${schema}.products p where p.id = i."productId"
        ) product on true
        where i."orderId" = o.id order by i.id
      ) item
    ) items
    where o.id = $1`),
  orders: `select ${asArray(orderPage)} as json`,
  ordersAndTotal: `select ${asArray(orderPage)} as json, (select count(*) from ${orders})::int as total`,
  ordersWithCustomer: `select ${asArray(`
    select ${orderColumns}, row_to_json(customer) as customer
    from (select * from ${orders} order by id desc {bounds}) o
    left join lateral (select ${customerColumns} from ${customers} c where c.id = o."customerId") customer on true
    order by o.id desc`)} as json`,
  customers: `select ${asArray(customerPage)} as json`,
  customersAndTotal: `select ${asArray(customerPage)} as json, (select count(*) from ${customers})::int as total`,
  customersWithOrders: `select ${asArray(`
    select ${customerColumns}, children.orders
    from (select * from ${customers} order by id {bounds}) c
    cross join lateral (
      select coalesce(json_agg(child), '[]') as orders
      from (select ${orderColumns} from ${orders} o where o."customerId" = c.id order by o.id) child
    ) children
    order by c.id`)} as json`,
  create: `with o as (
    insert into ${orders} as o ("customerId", status, total, "createdAt", note) values ($1, $2, $3, now(), $4)
    returning ${orderColumns}
  ) select row_to_json(o)::text as json from o`,
  createItem: `with i as (
    insert into ${schema}."orderItems" as i ("orderId", "productId", quantity, price)
    values (currval(pg_get_serial_sequence('${orders.replaceAll("'", "''")}', 'id')), $1, $2, $3)
    returning i.id, i."orderId", i."productId", i.quantity, i.price
  ) select row_to_json(i)::text as json from i`,
  update: `with o as (
    update ${orders} o set status = $2 where o.id = $1 returning ${orderColumns}
  ) select row_to_json(o)::text as json from o`,
  createMany: `with o as (
    insert into ${orders} as o ("customerId", status, total, "createdAt", note)
    select c, s, t, now(), n from unnest($1::int8[], $2::text[], $3::numeric[], $4::text[]) as u (c, s, t, n)
    returning ${orderColumns}
  ) select json_agg(o)::text as json from o`,
  updateMany: `with o as (
    update ${orders} o set status = u.s, total = u.t
    from unnest($1::int8[], $2::text[], $3::numeric[]) as u (i, s, t) where o.id = u.i returning ${orderColumns}
  ) select json_agg(o)::text as json from o`,
};

function asObject(select: string): string {
  return `select row_to_json(record)::text as json from (${select}) record`;
}

function asArray(select: string): string {
  return `(select coalesce(json_agg(record), '[]')::text from (${select}) record)`;
}

/** By the query string without its filter. */
const aggregates = new Map(
  [...aggregateStatements(schema)].map(([query, select]) => [query, `select ${asArray(select)} as json`]),
);

type Row = { readonly json: string; readonly total?: number };

/** Runs a prepared statement on the connection with the fewest unanswered ones. */
async function run(name: string, text: string, values: unknown[]): Promise<Row | undefined> {
  const lane = freestLane();
  lane.pending++;
  try {
    return (await lane.client.query<Row>({ name, text, values })).rows[0];
  } finally {
    lane.pending--;
  }
}

function freestLane() {
  let lane = clients[0]!;
  for (const other of clients) if (other.pending < lane.pending) lane = other;
  return lane;
}

type StatementName = keyof typeof statements;

function runConstant(name: StatementName, values: unknown[]): Promise<Row | undefined> {
  return run(name, statements[name], values);
}

const pages = new Map<string, string>();

function runPage(name: StatementName, size: number, offset: number): Promise<Row | undefined> {
  const key = `${name} ${size} ${offset}`;
  let text = pages.get(key);
  if (text === undefined) {
    text = statements[name].replace('{bounds}', `limit ${size} offset ${offset}`);
    pages.set(key, text);
  }
  return run(key, text, []);
}

async function readOne(id: string, query: URLSearchParams): Promise<string | undefined> {
  const row = await runConstant(query.has('expand') ? 'orderWithItems' : 'order', [id]);
  return row && `{"data":${row.json}}`;
}

async function readList(entity: string, query: URLSearchParams): Promise<string> {
  const page = Number(query.get('page') ?? 0);
  const size = Number(query.get('size') ?? 20);
  const ofOrders = entity === 'orders';
  const offset = page * size;
  if (query.has('expand')) {
    const row = await runPage(ofOrders ? 'ordersWithCustomer' : 'customersWithOrders', size, offset);
    return `{"data":${row?.json}}`;
  }
  if (query.get('count') === 'none') {
    const row = await runPage(ofOrders ? 'orders' : 'customers', size, offset);
    return `{"data":${row?.json}}`;
  }
  const row = await runPage(ofOrders ? 'ordersAndTotal' : 'customersAndTotal', size, offset);
  const total = row?.total ?? 0;
  const meta = `"meta":{"page":${page},"size":${size},"totalElements":${total},"totalPages":${Math.ceil(total / size)}}`;
  return `{"data":${row?.json},${meta}}`;
}

/** A question of `_aggregate`: its filter, if there is one, is the last parameter and names one number. */
async function readAggregate(query: string): Promise<string | undefined> {
  const [constant = '', filter] = query.split('&filter=');
  const text = aggregates.get(constant);
  const row = text && (await run(constant, text, filter === undefined ? [] : [filter.split(',')[2]]));
  return row ? `{"data":${row.json}}` : undefined;
}

async function writeMany(method: string, body: string): Promise<string> {
  const records: Readonly<Record<string, unknown>>[] = JSON.parse(body).data;
  const column = (name: string) => records.map((record) => record[name] ?? null);
  const row =
    method === 'POST'
      ? await runConstant('createMany', ['customerId', 'status', 'total', 'note'].map(column))
      : await runConstant('updateMany', ['id', 'status', 'total'].map(column));
  return `{"data":${row?.json}}`;
}

/** An order and its items: one transaction, all of it sent at once. */
async function writeBatch(body: string): Promise<string> {
  const { client } = freestLane();
  const operations: { readonly entity: string; readonly body: Readonly<Record<string, unknown>> }[] =
    JSON.parse(body).operations;
  const sent = operations.map(({ entity, body: record }) => {
    const [name, columns] =
      entity === 'orders'
        ? (['create', ['customerId', 'status', 'total', 'note']] as const)
        : (['createItem', ['productId', 'quantity', 'price']] as const);
    return { name, text: statements[name], values: columns.map((column) => record[column] ?? null) };
  });
  const [, ...results] = await Promise.all([
    client.query('begin'),
    ...sent.map((query) => client.query<Row>(query)),
    client.query('commit'),
  ]);
  const created = results.slice(0, -1).map(({ rows }) => `{"status":201,"data":${rows[0].json}}`);
  return `{"data":[${created.join()}]}`;
}

async function writeOne(id: string | undefined, body: string): Promise<string | undefined> {
  const order = JSON.parse(body);
  const row =
    id === undefined
      ? await runConstant('create', [order.customerId, order.status, order.total, order.note ?? null])
      : await runConstant('update', [id, order.status]);
  return row && `{"data":${row.json}}`;
}

async function answer(method: string, url: string, body: string, response: ServerResponse): Promise<void> {
  try {
    const mark = url.indexOf('?');
    const [, entity, id] = (mark < 0 ? url : url.slice(0, mark)).split('/');
    const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
    const text = await (id === '_bulk'
      ? writeMany(method, body)
      : entity === '_batch'
        ? writeBatch(body)
        : method !== 'GET'
          ? writeOne(id, body)
          : id === undefined
            ? readList(entity ?? '', query)
            : id === '_aggregate'
              ? readAggregate(url.slice(mark + 1))
              : readOne(id, query));
    if (text === undefined) send(response, 404, '{"error":{"code":"NOT_FOUND","message":"No such record"}}');
    else send(response, method === 'POST' ? 201 : 200, text);
  } catch (error) {
    send(response, 500, JSON.stringify({ error: { code: 'INTERNAL_ERROR', message: String(error) } }));
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

const server = createServer((request, response) => {
  const { method = 'GET', url = '/' } = request;
  if (method === 'GET') return void answer(method, url, '', response);
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => void answer(method, url, body, response));
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
