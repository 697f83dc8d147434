// Directus on the tables of a schema: PORT, DATABASE_URL, DATA_SCHEMA. Its own tables are in a schema beside that.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';

const { PORT, DATABASE_URL, DATA_SCHEMA, PEER_TOKEN } = process.env;
const client = new pg.Client({ connectionString: DATABASE_URL });
await client.connect();
await client.query('drop schema if exists directus cascade; create schema directus');

Object.assign(process.env, {
  HOST: '127.0.0.1',
  PORT,
  DB_CLIENT: 'pg',
  DB_CONNECTION_STRING: DATABASE_URL,
  DB_SEARCH_PATH: `array:directus,${DATA_SCHEMA}`,
  SECRET: randomBytes(32).toString('hex'),
  ADMIN_EMAIL: 'admin@example.com',
  ADMIN_PASSWORD: randomBytes(16).toString('hex'),
  ADMIN_TOKEN: PEER_TOKEN,
  TELEMETRY: 'false',
  ACCEPT_TERMS: 'true',
  LOG_LEVEL: 'error',
  SERVE_APP: 'false',
  EXTENSIONS_PATH: join(import.meta.dirname, 'extensions'),
  STORAGE_LOCAL_ROOT: join(import.meta.dirname, 'uploads'),
  QUERY_LIMIT_MAX: '-1',
});
const cli = join(import.meta.dirname, 'node_modules/directus/cli.js');
execFileSync(process.execPath, [cli, 'bootstrap'], { stdio: 'inherit' });
// Lists of related records must have names.
for (const [many, field, one, name] of [
  ['orders', 'customerId', 'customers', 'orders'],
  ['orderItems', 'orderId', 'orders', 'items'],
  ['orderItems', 'productId', 'products', null],
]) {
  await client.query(
    'insert into directus.directus_relations (many_collection, many_field, one_collection, one_field) values ($1, $2, $3, $4)',
    [many, field, one, name],
  );
  if (name !== null)
    await client.query(`insert into directus.directus_fields (collection, field, special) values ($1, $2, 'o2m')`, [
      one,
      name,
    ]);
}
await client.end();
process.argv.push('start');
await import(cli);
