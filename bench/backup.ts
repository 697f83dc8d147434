// A backup of a million records and its restore, against `pg_dump | pg_restore` of the same tables: node bench/backup.ts
// postgres://user@host:port/database. The user must be able to make databases, and pg_dump be no older than the server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { call, makeScratch, makeWorkspace, SHOP, schemaOfWorkspace, startOurs, withClient } from './setup.ts';

const RECORDS = Number(process.argv[3] ?? 1_000_000);
const ROUNDS = Number(process.argv[4] ?? 3);
const KEY = 'bench-operator-key-0123456789abcdef';
const MAIN = join(import.meta.dirname, '../src/main.ts');
const NAMES = ['wda_bench_backup', 'wda_bench_restored'] as const;

const SCHEMA = {
  entities: {
    customers: { fields: { name: { type: 'string', required: true }, email: { type: 'string', unique: true } } },
    orders: {
      fields: {
        status: { type: 'enum', values: ['open', 'paid', 'shipped'], index: true },
        total: { type: 'decimal', precision: 12, scale: 2, min: 0 },
        placedAt: { type: 'datetime', index: true },
        note: { type: 'text' },
        details: { type: 'json' },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers', required: true } },
      timestamps: true,
    },
  },
};

const maintenance = process.argv[2];
if (maintenance === undefined) throw new Error('a connection string is needed: postgres://user@host:port/database');
const urlOf = (name: string): string => Object.assign(new URL(maintenance), { pathname: `/${name}` }).href;

async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args[0]}: exit code ${code}`);
  return (performance.now() - startedAt) / 1000;
}

const remake = (name: string): Promise<void> =>
  withClient(maintenance, async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name} template template0 encoding 'UTF8'`);
  });

const folder = makeScratch();
await remake(NAMES[0]);
const server = await startOurs(urlOf(NAMES[0]), KEY);
const client = { WDA_URL: `http://127.0.0.1:${server.port}`, WDA_KEY: KEY };
const wda = (...args: string[]): Promise<number> => run(process.execPath, [MAIN, ...args], client);
try {
  await makeWorkspace(server, KEY, ['bench', 'shop'], SCHEMA);
  const schema = await withClient(urlOf(NAMES[0]), async (db) => {
    const name = await schemaOfWorkspace(db, 'shop');
    await db.query(`insert into ${name}.customers (name, email)
select 'Customer ' || g, 'c' || g || '@example.com' from generate_series(1, 10000) g`);
    await db.query(`insert into ${name}.orders (status, total, "placedAt", note, details, "customerId")
select (array['open', 'paid', 'shipped'])[1 + g % 3], (g % 100000) / 100.0, '2026-01-01Z'::timestamptz + g * interval '31 s',
  'Note of order ' || md5(g::text), jsonb_build_object('n', g, 'tags', array['a', 'b']), 1 + g % 10000
from generate_series(1, ${RECORDS}) g`);
    await db.query(`vacuum analyze ${name}.orders`);
    return name;
  });
  const file = join(folder, 'shop.wda');
  const dump = join(folder, 'shop.dump');
  const rows: Record<string, number>[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    await remake(NAMES[1]);
    await withClient(urlOf(NAMES[1]), (db) => db.query('create schema wda'));
    const pgDump = await run('pg_dump', ['-Fc', '-n', schema, '-f', dump, urlOf(NAMES[0])]);
    const pgRestore = await run('pg_restore', ['--no-owner', '-d', urlOf(NAMES[1]), dump]).catch(() => Number.NaN);
    const pipe = await piped(schema);
    const backup = await wda('backup', file, '-w', 'bench/shop');
    const restore = await wda('restore', file, '--as', `bench/shop-${round}`);
    await call(server, KEY, 'DELETE', `${SHOP}-${round}?confirm=shop-${round}`);
    const row = { pgDump, pgRestore, pipe, backup, restore, ratio: (backup + restore) / pipe };
    rows.push(row);
    console.log(JSON.stringify(row));
  }
  console.table(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value.toFixed(2))]))),
  );
  const sizes = await Promise.all([file, dump].map(async (path) => ((await stat(path)).size / 1e6).toFixed(1)));
  console.log(`${RECORDS} records: ${sizes[0]} MB as a backup, ${sizes[1]} MB as a dump`);
} finally {
  await server.stop();
  for (const name of NAMES)
    await withClient(maintenance, (db) => db.query(`drop database if exists ${name} with (force)`));
}

/** Without a file between them. */
async function piped(schema: string): Promise<number> {
  await remake(NAMES[1]);
  await withClient(urlOf(NAMES[1]), (db) => db.query('create schema wda'));
  return run('bash', [
    '-c',
    `set -o pipefail; pg_dump -Fc -n '${schema}' '${urlOf(NAMES[0])}' | pg_restore --no-owner -d '${urlOf(NAMES[1])}'`,
  ]);
}
