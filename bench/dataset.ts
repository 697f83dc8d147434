// The data set: its sizes, the schema document that makes its tables through the admin API, and the statements that fill
// them. All values come from arithmetic on the row number, so every machine measures the same rows.

import { createHash } from 'node:crypto';
import type { Client } from 'pg';

export type DataSet = {
  readonly scale: number;
  readonly customers: number;
  readonly products: number;
  readonly orders: number;
  readonly orderItems: number;
};

/** The full data set has scale 1: 10,000 customers, 1,000 products, 1,000,000 orders and 2,000,000 order items. */
export function dataSetOf(scale: number): DataSet {
  const orders = Math.max(1000, Math.round(1_000_000 * scale));
  return {
    scale,
    customers: Math.max(100, Math.round(10_000 * scale)),
    products: Math.max(100, Math.round(1000 * scale)),
    orders,
    orderItems: 2 * orders,
  };
}

const money = { type: 'decimal', precision: 12, scale: 2, required: true };

export const schemaDocument = {
  entities: {
    customers: {
      fields: {
        name: { type: 'string', required: true },
        email: { type: 'string', required: true },
        country: { type: 'string' },
        createdAt: { type: 'datetime', required: true, default: 'now' },
      },
      relations: { orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' } },
    },
    products: {
      fields: { sku: { type: 'string', required: true }, title: { type: 'string', required: true }, price: money },
    },
    orders: {
      fields: {
        status: { type: 'string', required: true },
        total: money,
        createdAt: { type: 'datetime', required: true, default: 'now' },
        note: { type: 'text' },
      },
      relations: {
        customer: { kind: 'belongsTo', entity: 'customers', required: true },
        items: { kind: 'hasMany', entity: 'orderItems', inverse: 'order' },
      },
    },
    orderItems: {
      fields: { quantity: { type: 'integer', required: true }, price: money },
      relations: {
        order: { kind: 'belongsTo', entity: 'orders', required: true },
        product: { kind: 'belongsTo', entity: 'products', required: true },
      },
    },
  },
} as const;

type Filling = { readonly table: string; readonly columns: string; readonly values: string; readonly rows: number };

// `i` is the row number. The multipliers are primes that do not divide the row counts, so that neighbours by id are
// strangers by foreign key, as they are in a shop.
function fillings(data: DataSet): readonly Filling[] {
  return [
    {
      table: 'customers',
      columns: 'id, name, email, country, "createdAt"',
      values: `i, 'Customer ' || i, 'c' || i || '@example.com', (array['DE', 'FR', 'US', 'GB', 'PL'])[i % 5 + 1],
        '2024-01-01 00:00:00+00'::timestamptz + make_interval(mins => 7 * i)`,
      rows: data.customers,
    },
    {
      table: 'products',
      columns: 'id, sku, title, price',
      values: `i, 'SKU-' || to_char(i, 'FM000000'), 'Product ' || i, i * 37 % 500 + 1.99`,
      rows: data.products,
    },
    {
      table: 'orders',
      columns: 'id, "customerId", status, total, "createdAt", note',
      values: `i, i::bigint * 7919 % ${data.customers} + 1, ${statusOf('i')}, i::bigint * 7907 % 100000 * 0.01,
        '2024-01-01 00:00:00+00'::timestamptz + make_interval(secs => 30.0 * i),
        case when i % 3 <> 0 then 'note for order ' || i end`,
      rows: data.orders,
    },
    {
      table: 'orderItems',
      columns: 'id, "orderId", "productId", quantity, price',
      values: `i, (i + 1) / 2, i::bigint * 6661 % ${data.products} + 1, i % 9 + 1, i::bigint * 7717 % 50000 * 0.01`,
      rows: data.orderItems,
    },
  ];
}

function statusOf(id: string): string {
  return `(array['new', 'paid', 'shipped', 'closed'])[${id} % 4 + 1]`;
}

/** Changes when the rows or the document change: part of the name of the loaded database. */
export function dataSetVersion(): string {
  const text = JSON.stringify([schemaDocument, fillings(dataSetOf(1))]);
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** The PostgreSQL schema of the workspace, recognised by its orders table. Undefined before the workspace is there. */
export async function findSchema(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ table_schema: string }>(
    `select table_schema from information_schema.columns where table_name = 'orders' and column_name = 'customerId'`,
  );
  if (rows.length > 1)
    throw new Error(`orders tables in several schemas: ${rows.map((r) => r.table_schema).join(', ')}`);
  return rows[0]?.table_schema;
}

/** Fills the empty tables of a schema, moves the identity sequences on and gathers statistics. */
export async function loadDataSet(
  client: Client,
  schema: string,
  data: DataSet,
  log: (line: string) => void,
): Promise<void> {
  for (const { table, columns, values, rows } of fillings(data)) {
    const name = tableName(schema, table);
    const started = performance.now();
    await client.query(
      `insert into ${name} (${columns}) overriding system value select ${values} from generate_series(1, ${rows}) i`,
    );
    await client.query(`select setval(pg_get_serial_sequence($1, 'id'), $2)`, [name, rows]);
    log(`${rows.toLocaleString('en')} ${table} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  for (const { table } of fillings(data)) await client.query(`vacuum (analyze) ${tableName(schema, table)}`);
}

/** Puts the orders table back as it was loaded after a workload that writes, so that the next round meets equal tables. */
export async function restoreOrders(client: Client, schema: string, data: DataSet, workload: string): Promise<void> {
  const orders = tableName(schema, 'orders');
  if (workload === 'W7') await client.query(`delete from ${orders} where id > $1`, [data.orders]);
  await client.query(`vacuum ${orders}`);
}

/** Keeps the database from vacuuming in the middle of a round; the rounds that write vacuum by themselves. */
export async function stopAutovacuum(client: Client, schema: string): Promise<void> {
  await client.query(`alter table ${tableName(schema, 'orders')} set (autovacuum_enabled = false)`);
}

function tableName(schema: string, table: string): string {
  return `"${schema.replaceAll('"', '""')}"."${table}"`;
}
